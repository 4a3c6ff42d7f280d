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

// startPortal runs a portal on the test's bus.
func startPortal(t *testing.T, version uint32) (p *portaltest.Portal, conn *dbus.Conn) {
	t.Helper()
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if p, err = portaltest.Serve(conn, version); err != nil {
		t.Fatal(err)
	}
	return p, conn
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
	bustest.OfSession(t, nil)
	p, _ := startPortal(t, 4)
	want := []string{"/home/ö/Vertrag Nr. 4+5 (100%).pdf", "/home/%41/#1?.pdf", "/home/latin1/\xe9t\xe9.pdf", "/run/user/1000/doc/99bfa7fa/Lease.pdf", "/a;b&c=d 'x' \"y\"\n.pdf"}
	done := choosing(t.Context(), FileDialog{Kind: OpenFiles})
	if err := (<-p.Dialogs).Choose(want...); err != nil {
		t.Fatal(err)
	}
	if got := <-done; got.err != nil || !slices.Equal(got.paths, want) {
		t.Errorf("got %q, %v", got.paths, got.err)
	}
}

func TestTheDesktopIsAskedForWhatIsMeant(t *testing.T) {
	bustest.OfSession(t, nil)
	p, _ := startPortal(t, 4)
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
			if err := d.Cancel(); err != nil {
				t.Fatal(err)
			}
			if a := <-done; a.err != nil || a.paths != nil {
				t.Errorf("after Cancel: %q, %v", a.paths, a.err)
			}
		})
	}
}

func TestTheEndOfTheProgramClosesTheDialog(t *testing.T) {
	bustest.OfSession(t, nil)
	p, _ := startPortal(t, 4)
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
	for name, play := range map[string]func(*testing.T) (d FileDialog){
		"no bus": func(t *testing.T) FileDialog {
			t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
			return FileDialog{}
		},
		"no portal": func(t *testing.T) FileDialog {
			bustest.OfSession(t, nil)
			return FileDialog{}
		},
		"no file chooser": func(t *testing.T) FileDialog {
			bustest.OfSession(t, nil)
			conn, err := dbus.ConnectSessionBus()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			if _, err := conn.RequestName(portal, dbus.NameFlagDoNotQueue); err != nil {
				t.Fatal(err)
			}
			return FileDialog{}
		},
		"knows no folders": func(t *testing.T) FileDialog {
			bustest.OfSession(t, nil)
			startPortal(t, 2)
			return FileDialog{Kind: OpenFolder}
		},
		"nobody behind the portal": func(t *testing.T) FileDialog {
			bustest.OfSession(t, nil)
			p, _ := startPortal(t, 4)
			go func() { (<-p.Dialogs).Answer(2, nil) }()
			return FileDialog{}
		},
		"an answer that is none": func(t *testing.T) FileDialog {
			bustest.OfSession(t, nil)
			p, _ := startPortal(t, 4)
			go func() { (<-p.Dialogs).Answer(0, nil) }()
			return FileDialog{}
		},
		"a file elsewhere": func(t *testing.T) FileDialog {
			bustest.OfSession(t, nil)
			p, _ := startPortal(t, 4)
			go func() {
				(<-p.Dialogs).Answer(0, map[string]dbus.Variant{"uris": dbus.MakeVariant([]string{"sftp://server/Lease.pdf"})})
			}()
			return FileDialog{}
		},
		"the portal dies": func(t *testing.T) FileDialog {
			bustest.OfSession(t, nil)
			p, conn := startPortal(t, 4)
			go func() {
				<-p.Dialogs
				conn.Close()
			}()
			return FileDialog{}
		},
		"the bus dies": func(t *testing.T) FileDialog {
			stop := bustest.OfSession(t, nil)
			p, _ := startPortal(t, 4)
			go func() {
				<-p.Dialogs
				stop()
			}()
			return FileDialog{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := Opener{Patience: time.Minute, now: func() time.Time { return time.Time{} }} // however slow the portal is
			if paths, err := o.Choose(t.Context(), play(t)); !errors.Is(err, ErrNoDialog) || paths != nil {
				t.Errorf("got %q, %v", paths, err)
			}
		})
	}
}

func TestAPortalThatHangsIsGivenUp(t *testing.T) {
	bustest.OfSession(t, nil)
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := conn.RequestName(portal, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	conn.Eavesdrop(make(chan *dbus.Message, 100)) // takes calls and answers none
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
