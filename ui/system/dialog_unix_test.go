//go:build !windows && !darwin

package system

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"

	"countersign/internal/e2e/portaltest"
	"countersign/internal/sessionbus/bustest"
)

// onBus connects to a bus of the test's own, until stop is called.
func onBus(t *testing.T) (conn *dbus.Conn, stop func()) {
	t.Helper()
	stop = bustest.OfSession(t, nil)
	conn, err := dbus.ConnectSessionBus()
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn, stop
}

// startPortal runs a portal on such a bus.
func startPortal(t *testing.T, version uint32) (p *portaltest.Portal, conn *dbus.Conn, stop func()) {
	t.Helper()
	conn, stop = onBus(t)
	p, err := portaltest.Serve(conn, version)
	must(t, err)
	return p, conn, stop
}

// claimed is a connection with the portal's name that answers nothing of a portal.
func claimed(t *testing.T) *dbus.Conn {
	t.Helper()
	conn, _ := onBus(t)
	_, err := conn.RequestName(portal, dbus.NameFlagDoNotQueue)
	must(t, err)
	return conn
}

// chosen is what Choose returned.
type chosen struct {
	paths []string
	err   error
}

// choosing runs Choose beside the test.
func choosing(ctx context.Context, d FileDialog) <-chan chosen {
	done := make(chan chosen, 1)
	go func() {
		paths, err := Opener{Patience: time.Minute}.Choose(ctx, d)
		done <- chosen{paths, err}
	}()
	return done
}

func TestChosenFilesArriveExactlyAsTheyAreCalled(t *testing.T) {
	p, _, _ := startPortal(t, 4)
	want := []string{"/home/ö/Vertrag Nr. 4+5 (100%).pdf", "/home/%41/#1?.pdf", "/home/latin1/\xe9t\xe9.pdf", "/run/user/1000/doc/99bfa7fa/Lease.pdf", "/a;b&c=d 'x' \"y\"\n.pdf"}
	done := choosing(t.Context(), FileDialog{Kind: OpenFiles})
	must(t, (<-p.Dialogs).Choose(want...))
	if got := <-done; got.err != nil || !slices.Equal(got.paths, want) {
		t.Errorf("got %q, %v", got.paths, got.err)
	}
}

func TestTheDesktopIsAskedForWhatIsMeant(t *testing.T) {
	p, _, _ := startPortal(t, 4)
	dir := t.TempDir()
	begins := fmt.Sprint("ay ", append([]byte(dir), 0))
	for name, c := range map[string]struct {
		d       FileDialog
		method  string
		options map[string]string // each with its type before it
	}{
		"files": {FileDialog{Kind: OpenFiles, Accept: "Add", Folder: dir, Kinds: []FileKind{{"Documents", []string{".pdf", ".t1"}}, {"All files", nil}}}, "OpenFile",
			map[string]string{"modal": "b true", "multiple": "b true", "accept_label": "s Add", "current_folder": begins,
				"filters": "aav [[Documents [[0 *.[pP][dD][fF]] [0 *.[tT]1]]] [All files [[0 *]]]]"}},
		"a file": {FileDialog{Kind: OpenFile}, "OpenFile", map[string]string{"modal": "b true"}},
		"a folder that is not there yet": {FileDialog{Kind: OpenFolder, Folder: filepath.Join(dir, "new", "Signed")}, "OpenFile",
			map[string]string{"modal": "b true", "directory": "b true", "current_folder": begins}},
		"a name": {FileDialog{Kind: SaveFile, Name: "ö.csv"}, "SaveFile", map[string]string{"modal": "b true", "current_name": "s ö.csv"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.d.Title, c.d.Window = "Title", 0x1e00007
			done := choosing(t.Context(), c.d)
			d := <-p.Dialogs
			if d.Method != c.method || d.Title != "Title" || d.Parent != "x11:1e00007" {
				t.Errorf("%s %q over %q", d.Method, d.Title, d.Parent)
			}
			if f, asked := c.d.options()["filters"]; asked && f.Signature().String() != "a(sa(us))" { // godbus reads structs as lists
				t.Errorf("the filters are %s", f.Signature())
			}
			delete(d.Options, "handle_token")
			got := map[string]string{}
			for key, value := range d.Options {
				got[key] = fmt.Sprintf("%s %v", value.Signature(), value.Value())
			}
			for key := range got {
				if got[key] != c.options[key] {
					t.Errorf("%s is %s, want %s", key, got[key], c.options[key])
				}
			}
			if len(got) != len(c.options) {
				t.Errorf("asks with %v", got)
			}
			must(t, d.Cancel())
			if a := <-done; a.err != nil || a.paths != nil {
				t.Errorf("after Cancel: %q, %v", a.paths, a.err)
			}
		})
	}
}

func TestTheEndOfTheProgramClosesTheDialog(t *testing.T) {
	p, _, _ := startPortal(t, 4)
	ctx, cancel := context.WithCancel(t.Context())
	done := choosing(ctx, FileDialog{})
	d := <-p.Dialogs
	cancel()
	if got := <-done; !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %q, %v", got.paths, got.err)
	}
	<-d.Closed
}

// A portal may be there and have nobody who shows a dialog, be too old, die, or never answer.
func TestWithoutADialogTheWindowIsToldSo(t *testing.T) {
	answers := func(how uint32, results map[string]dbus.Variant) func(*testing.T) {
		return func(t *testing.T) {
			p, _, _ := startPortal(t, 4)
			go func() { (<-p.Dialogs).Answer(how, results) }()
		}
	}
	for name, c := range map[string]struct {
		kind DialogKind
		play func(*testing.T)
	}{
		"no bus":                   {0, func(t *testing.T) { t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent") }},
		"no portal":                {0, func(t *testing.T) { bustest.OfSession(t, nil) }},
		"no file chooser":          {0, func(t *testing.T) { claimed(t) }},
		"knows no folders":         {OpenFolder, func(t *testing.T) { startPortal(t, 2) }},
		"nobody behind the portal": {0, answers(2, nil)},
		"an answer that is none":   {0, answers(0, nil)},
		"a file elsewhere":         {0, answers(0, map[string]dbus.Variant{"uris": dbus.MakeVariant([]string{"sftp://server/Lease.pdf"})})},
		"the portal dies": {0, func(t *testing.T) {
			p, conn, _ := startPortal(t, 4)
			go func() {
				<-p.Dialogs
				conn.Close()
			}()
		}},
		"the bus dies": {0, func(t *testing.T) {
			p, _, stop := startPortal(t, 4)
			go func() {
				<-p.Dialogs
				stop()
			}()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c.play(t)
			o := Opener{Patience: time.Minute, now: func() time.Time { return time.Time{} }} // however slow the portal is
			if paths, err := o.Choose(t.Context(), FileDialog{Kind: c.kind}); !errors.Is(err, ErrNoDialog) || paths != nil {
				t.Errorf("got %q, %v", paths, err)
			}
		})
	}
}

func TestAPortalThatHangsIsGivenUp(t *testing.T) {
	claimed(t).Eavesdrop(make(chan *dbus.Message, 100)) // takes calls and answers none
	if paths, err := (Opener{Patience: 50 * time.Millisecond}).Choose(t.Context(), FileDialog{}); !errors.Is(err, ErrNoDialog) {
		t.Errorf("got %q, %v", paths, err)
	}
}

// Older portals for GTK say so when the person presses Escape; a portal without anybody to show a dialog says so at once.
func TestADialogThatEndsLateWasClosedByThePerson(t *testing.T) {
	r := &request{asked: time.Now().Add(-2 * portalAtOnce), now: time.Now}
	if paths, err := r.read([]any{requestEnded, map[string]dbus.Variant{}}); err != nil || paths != nil {
		t.Errorf("got %q, %v", paths, err)
	}
}
