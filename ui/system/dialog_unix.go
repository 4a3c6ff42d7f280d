//go:build !windows && !darwin

package system

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"countersign/internal/sessionbus"

	"github.com/godbus/dbus/v5"
)

// The file chooser of the XDG desktop portal
// (https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.FileChooser.html), called through godbus directly:
// package rymdport/portal v0.4.2, which comes with Fyne, takes any signal on godbus's shared connection for the answer, waits for
// ever if the portal dies, cannot close a dialog, and turns each "+" in a name into a space.
const (
	portal        = "org.freedesktop.portal.Desktop"
	portalObject  = dbus.ObjectPath("/org/freedesktop/portal/desktop")
	portalChooser = "org.freedesktop.portal.FileChooser"
	portalRequest = "org.freedesktop.portal.Request"
)

const (
	portalStarts = 5 * time.Second // how long a portal may take to start and accept a request
	portalAtOnce = time.Second     // a dialog that ends this soon was not closed by a person
	portalCloses = time.Second     // how long closing a dialog may take
	foldersSince = 3               // the file chooser version that supports folders
)

const (
	requestDone uint32 = iota
	requestCancelled
	requestEnded // in any other way
)

func (o Opener) choose(ctx context.Context, d FileDialog) ([]string, error) {
	starting, cancel := context.WithTimeout(ctx, cmp.Or(o.Patience, portalStarts))
	defer cancel()
	conn, err := sessionbus.Open(starting)
	if err != nil {
		return nil, noDialog(ctx, err)
	}
	defer conn.Close() // also closes a dialog whose request is unknown
	now := time.Now
	if o.now != nil {
		now = o.now
	}
	r, err := ask(starting, conn, now, d)
	if err != nil {
		return nil, noDialog(ctx, err)
	}
	return r.answer(ctx)
}

// noDialog returns ErrNoDialog with the reason, or the end of ctx.
func noDialog(ctx context.Context, why error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrNoDialog, why)
}

// request is a dialog that the portal has accepted.
type request struct {
	conn    *dbus.Conn
	handle  dbus.ObjectPath // unguessable: ends with a random token
	signals chan *dbus.Signal
	now     func() time.Time
	asked   time.Time
}

// ask makes the portal show a dialog. It subscribes first, so that neither the answer nor the portal's end can be missed.
func ask(ctx context.Context, conn *dbus.Conn, now func() time.Time, d FileDialog) (*request, error) {
	r, object := &request{conn: conn, now: now, signals: make(chan *dbus.Signal, 16)}, conn.Object(portal, portalObject)
	conn.Signal(r.signals)
	for _, match := range [][]dbus.MatchOption{
		{dbus.WithMatchInterface(portalRequest), dbus.WithMatchMember("Response"), dbus.WithMatchPathNamespace(portalObject)},
		{dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, portal)},
	} {
		if err := conn.AddMatchSignalContext(ctx, match...); err != nil {
			return nil, fmt.Errorf("listen to the portal: %w", err)
		}
	}
	var version dbus.Variant // reading it starts the portal
	if err := object.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, portalChooser, "version").Store(&version); err != nil {
		return nil, fmt.Errorf("ask the portal for its file chooser: %w", err)
	}
	if n, ok := version.Value().(uint32); d.Kind == OpenFolder && (!ok || n < foldersSince) {
		return nil, fmt.Errorf("the portal's file chooser %v knows no folders", version)
	}
	r.asked = r.now()
	method, parent := portalChooser+".OpenFile", ""
	if d.Kind == SaveFile {
		method = portalChooser + ".SaveFile"
	}
	if d.Window != 0 {
		parent = fmt.Sprintf("x11:%x", d.Window)
	}
	if err := object.CallWithContext(ctx, method, 0, parent, d.Title, d.options()).Store(&r.handle); err != nil {
		return nil, fmt.Errorf("ask the portal for a dialog: %w", err)
	}
	return r, nil
}

func (d FileDialog) options() map[string]dbus.Variant {
	o := map[string]dbus.Variant{
		"handle_token": dbus.MakeVariant("countersign" + rand.Text()),
		"modal":        dbus.MakeVariant(true),
	}
	switch d.Kind {
	case OpenFiles:
		o["multiple"] = dbus.MakeVariant(true)
	case OpenFolder:
		o["directory"] = dbus.MakeVariant(true)
	case SaveFile:
		o["current_name"] = dbus.MakeVariant(d.Name)
	case OpenFile:
	}
	if d.Accept != "" {
		o["accept_label"] = dbus.MakeVariant(d.Accept)
	}
	if d.Folder != "" {
		o["current_folder"] = dbus.MakeVariant(append([]byte(d.Folder), 0))
	}
	type rule struct {
		Kind    uint32 // 0: a glob pattern
		Pattern string
	}
	type filter struct {
		Name  string
		Rules []rule
	}
	var filters []filter
	for _, kind := range d.Kinds {
		f := filter{Name: kind.Name}
		for _, pattern := range kind.patterns(eitherCase) {
			f.Rules = append(f.Rules, rule{0, pattern})
		}
		filters = append(filters, f)
	}
	if filters != nil {
		o["filters"] = dbus.MakeVariant(filters)
	}
	return o
}

func (r *request) answer(ctx context.Context) ([]string, error) {
	for {
		select {
		case <-ctx.Done():
			r.close(ctx)
			return nil, ctx.Err()
		case s, open := <-r.signals:
			switch {
			case !open:
				return nil, fmt.Errorf("%w: the session's bus is gone", ErrNoDialog)
			case s.Name == "org.freedesktop.DBus.NameOwnerChanged" && len(s.Body) == 3 && s.Body[0] == portal && s.Body[1] != "": // it had an owner: the portal has ended
				return nil, fmt.Errorf("%w: the portal ended", ErrNoDialog)
			case s.Name == portalRequest+".Response" && s.Path == r.handle:
				return r.read(s.Body)
			}
		}
	}
}

func (r *request) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), portalCloses)
	defer cancel()
	_ = r.conn.Object(portal, r.handle).CallWithContext(ctx, portalRequest+".Close", 0).Err // closing our connection closes it, too
}

// read reads an answer. If no portal backend can show a dialog, the request ends at once "in another way"; before version 1.15.2 of
// the GTK portal it also ends so, later, when the person closes the dialog by its frame or with Escape.
func (r *request) read(body []any) ([]string, error) {
	var how uint32
	var results map[string]dbus.Variant
	if err := dbus.Store(body, &how, &results); err != nil {
		return nil, fmt.Errorf("%w: read the portal's answer: %w", ErrNoDialog, err)
	}
	switch {
	case how == requestCancelled, how == requestEnded && r.now().Sub(r.asked) > portalAtOnce:
		return nil, nil
	case how != requestDone:
		return nil, fmt.Errorf("%w: the portal's request ended with %d", ErrNoDialog, how)
	}
	uris, ok := results["uris"].Value().([]string)
	if !ok {
		return nil, fmt.Errorf("%w: the portal's answer names no files", ErrNoDialog)
	}
	var paths []string
	for _, uri := range uris {
		path, err := localPath(uri)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoDialog, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// localPath returns the path of a file: URI (RFC 8089), byte for byte: a name need not be UTF-8.
func localPath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || !strings.HasPrefix(u.Path, "/") {
		return "", errors.New("the portal names what is no file of this computer")
	}
	return u.Path, nil
}
