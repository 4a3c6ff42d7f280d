// Package portaltest is an XDG desktop portal with a file chooser
// (https://flatpak.github.io/xdg-desktop-portal/docs/doc-org.freedesktop.portal.FileChooser.html) for tests, which act as
// its user. It behaves as xdg-desktop-portal does: a call is answered with a request, the request's response goes only to
// the caller, and a dialog closes when the caller closes it or disconnects. It knows nothing of the program.
package portaltest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
)

const (
	name    = "org.freedesktop.portal.Desktop"
	object  = dbus.ObjectPath("/org/freedesktop/portal/desktop")
	chooser = "org.freedesktop.portal.FileChooser"
	request = "org.freedesktop.portal.Request"
)

// Portal owns the portal's name on a bus until its connection is closed, which simulates a portal's crash.
type Portal struct {
	Dialogs chan *Dialog // each opened dialog, once

	conn *dbus.Conn
	mu   sync.Mutex
	open map[dbus.ObjectPath]*Dialog
}

// Dialog is an open dialog. The test answers it once, with one of its methods.
type Dialog struct {
	Method, Parent, Title string
	Options               map[string]dbus.Variant
	Closed                chan struct{} // closed when the program closes the dialog

	portal *Portal
	handle dbus.ObjectPath
	caller string
}

// Serve starts a portal on its own connection, with a given version of the file chooser.
func Serve(conn *dbus.Conn, version uint32) (*Portal, error) {
	p := &Portal{Dialogs: make(chan *Dialog, 16), conn: conn, open: map[dbus.ObjectPath]*Dialog{}}
	changes := make(chan *dbus.Signal, 16)
	conn.Signal(changes)
	if err := conn.AddMatchSignal(dbus.WithMatchInterface("org.freedesktop.DBus"), dbus.WithMatchMember("NameOwnerChanged")); err != nil {
		return nil, fmt.Errorf("listen to the bus: %w", err)
	}
	go func() { // ends when the connection is closed
		for s := range changes {
			if s.Name == "org.freedesktop.DBus.NameOwnerChanged" && len(s.Body) == 3 && s.Body[2] == "" {
				p.gone(s.Body[0].(string))
			}
		}
	}()
	if err := conn.Export(calls{p}, object, chooser); err != nil {
		return nil, fmt.Errorf("export the file chooser: %w", err)
	}
	if err := conn.Export(properties{version}, object, "org.freedesktop.DBus.Properties"); err != nil {
		return nil, fmt.Errorf("export the file chooser's version: %w", err)
	}
	if reply, err := conn.RequestName(name, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		return nil, fmt.Errorf("own the portal's name: %v, %w", reply, err)
	}
	return p, nil
}

// properties are those of the file chooser.
type properties struct{ version uint32 }

func (p properties) Get(of, property string) (dbus.Variant, *dbus.Error) {
	if of != chooser || property != "version" {
		return dbus.Variant{}, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", nil)
	}
	return dbus.MakeVariant(p.version), nil
}

// calls are the file chooser's methods.
type calls struct{ p *Portal }

func (c calls) OpenFile(sender dbus.Sender, parent, title string, options map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	return c.p.show(&Dialog{Method: "OpenFile", Parent: parent, Title: title, Options: options, caller: string(sender)})
}

func (c calls) SaveFile(sender dbus.Sender, parent, title string, options map[string]dbus.Variant) (dbus.ObjectPath, *dbus.Error) {
	return c.p.show(&Dialog{Method: "SaveFile", Parent: parent, Title: title, Options: options, caller: string(sender)})
}

func (p *Portal) show(d *Dialog) (dbus.ObjectPath, *dbus.Error) {
	token, _ := d.Options["handle_token"].Value().(string)
	d.handle = object + dbus.ObjectPath("/request/"+strings.ReplaceAll(strings.TrimPrefix(d.caller, ":"), ".", "_")+"/"+token)
	d.portal, d.Closed = p, make(chan struct{})
	if token == "" || !d.handle.IsValid() {
		return "", dbus.MakeFailedError(fmt.Errorf("the token %q makes no path", token))
	}
	if err := p.conn.Export(closing{d}, d.handle, request); err != nil {
		return "", dbus.MakeFailedError(err)
	}
	p.mu.Lock()
	p.open[d.handle] = d
	p.mu.Unlock()
	p.Dialogs <- d
	return d.handle, nil
}

// closing is a request's only method.
type closing struct{ d *Dialog }

func (c closing) Close() *dbus.Error {
	if c.d.over() {
		close(c.d.Closed)
	}
	return nil
}

// gone closes the dialogs of a caller that has disconnected from the bus.
func (p *Portal) gone(caller string) {
	p.mu.Lock()
	var left []*Dialog
	for _, d := range p.open {
		if d.caller == caller {
			left = append(left, d)
		}
	}
	p.mu.Unlock()
	for _, d := range left {
		closing{d}.Close()
	}
}

// over ends the request and reports whether it was still open.
func (d *Dialog) over() bool {
	d.portal.mu.Lock()
	defer d.portal.mu.Unlock()
	_, open := d.portal.open[d.handle]
	delete(d.portal.open, d.handle)
	return open
}

// Choose simulates choosing files, a folder or a name, by path.
func (d *Dialog) Choose(paths ...string) error {
	uris := []string{}
	for _, path := range paths {
		uris = append(uris, URI(path))
	}
	return d.Answer(0, map[string]dbus.Variant{"uris": dbus.MakeVariant(uris)})
}

// Cancel simulates pressing Cancel.
func (d *Dialog) Cancel() error { return d.Answer(1, nil) }

// Answer ends the request with any response.
func (d *Dialog) Answer(how uint32, results map[string]dbus.Variant) error {
	if !d.over() {
		return fmt.Errorf("the dialog %q is closed", d.Title)
	}
	if results == nil {
		results = map[string]dbus.Variant{}
	}
	body := []any{how, results}
	message := &dbus.Message{Type: dbus.TypeSignal, Body: body, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldDestination: dbus.MakeVariant(d.caller),
		dbus.FieldPath:        dbus.MakeVariant(d.handle),
		dbus.FieldInterface:   dbus.MakeVariant(request),
		dbus.FieldMember:      dbus.MakeVariant("Response"),
		dbus.FieldSignature:   dbus.MakeVariant(dbus.SignatureOf(body...)),
	}}
	return d.portal.conn.Send(message, nil).Err
}

// URI encodes a path as GLib and the portal do: it escapes each byte that RFC 3986 does not allow in a path.
func URI(path string) string {
	var b strings.Builder
	b.WriteString("file://")
	for _, c := range []byte(path) {
		if c < 0x80 && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~!$&'()*+,;=:@/", c) >= 0) {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02X", c)
	}
	return b.String()
}
