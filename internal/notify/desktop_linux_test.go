package notify

import (
	"bytes"
	"context"
	"errors"
	"html"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sessionbus/bustest"

	"github.com/godbus/dbus/v5"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shown is a notification as the server received it.
type shown struct {
	App, Title, Body string
	Hints            map[string]dbus.Variant
	Sender           dbus.Sender
	Actions          []string
	ID               uint32
}

// server is a notification service on the private bus.
type server struct {
	can   []string
	shown chan shown
	hang  chan struct{} // blocks calls until closed; nil answers immediately
	conn  *dbus.Conn
	last  uint32 // number of the last notification
}

func (s *server) GetCapabilities() ([]string, *dbus.Error) { return s.can, nil }

func (s *server) Notify(sender dbus.Sender, app string, _ uint32, _, title, body string, actions []string, hints map[string]dbus.Variant, _ int32) (uint32, *dbus.Error) {
	if s.hang != nil {
		<-s.hang
	}
	s.last++
	s.shown <- shown{app, title, body, hints, sender, actions, s.last}
	return s.last, nil
}

// say sends one of the service's signals.
func (s *server) say(t *testing.T, name string, args ...any) {
	t.Helper()
	noErr(t, s.conn.Emit(object, service+"."+name, args...))
}

func startServer(t *testing.T, s *server) {
	t.Helper()
	s.shown = make(chan shown, 100)
	conn := must(dbus.ConnectSessionBus())
	s.conn = conn
	t.Cleanup(func() { conn.Close() })
	noErr(t, conn.Export(s, object, service))
	if reply, err := conn.RequestName(service, dbus.NameFlagDoNotQueue); err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		t.Fatal("own the name of the notification service: ", reply, err)
	}
}

func newNotifier(t *testing.T, o Options) *Notifier {
	t.Helper()
	n := New(o)
	t.Cleanup(func() { n.Close() })
	return n
}

func TestDesktopShowsWhatWasMeant(t *testing.T) {
	bustest.OfSession(t, nil)
	for name, can := range map[string][]string{"markup": {"body", "body-markup"}, "plain text": {"body"}} {
		t.Run(name, func(t *testing.T) {
			s := &server{can: can}
			startServer(t, s)
			n := newNotifier(t, Options{App: "Countersign"})
			texts := append(slices.Clone(nasty), struct{ name, text, want string }{
				"long", strings.Repeat("契", 10000), strings.Repeat("契", maxBody-1) + "…",
			})
			for _, tt := range texts {
				noErr(t, n.Notify(office.Notice{Title: tt.text, Body: tt.text}))
				got := <-s.shown
				// A person sees the text of a body with markup.
				body := got.Body
				if name == "markup" {
					if strings.ContainsAny(body, "<>") {
						t.Errorf("%s: markup reached the desktop: %q", tt.name, body)
					}
					body = html.UnescapeString(body)
				}
				if body != tt.want {
					t.Errorf("%s: body is %q, want %q", tt.name, body, tt.want)
				}
				if want := Sanitize(tt.text, maxTitle); got.Title != want || got.App != "Countersign" {
					t.Errorf("%s: %q shows title %q, want %q", tt.name, got.App, got.Title, want)
				}
			}
		})
	}
}

func TestIconIsSent(t *testing.T) {
	bustest.OfSession(t, nil)
	s := &server{}
	startServer(t, s)
	var icon bytes.Buffer
	noErr(t, png.Encode(&icon, image.NewNRGBA(image.Rect(0, 0, 64, 32))))
	noErr(t, newNotifier(t, Options{Icon: icon.Bytes()}).Notify(office.Notice{Title: "a", Body: "b"}))
	var got picture
	noErr(t, dbus.Store([]any{(<-s.shown).Hints["image-data"].Value()}, &got))
	if got.Width != 64 || got.Height != 32 || got.Stride != 256 || len(got.Data) != 64*32*4 || !got.Alpha {
		t.Errorf("got %d x %d, %d bytes", got.Width, got.Height, len(got.Data))
	}
}

func TestConnectionIsKeptAndOurOwn(t *testing.T) {
	bustest.OfSession(t, nil)
	s := &server{}
	startServer(t, s)
	n := newNotifier(t, Options{})
	var senders []dbus.Sender
	for range 2 {
		noErr(t, n.Notify(office.Notice{Title: "a", Body: "b"}))
		senders = append(senders, (<-s.shown).Sender)
	}
	shared := must(dbus.SessionBus())
	defer shared.Close()
	if senders[0] != senders[1] || string(senders[0]) == shared.Names()[0] {
		t.Errorf("senders are %v, the shared connection is %v", senders, shared.Names())
	}
}

func TestBusThatRestartsIsFoundAgain(t *testing.T) {
	n := newNotifier(t, Options{})
	for range 2 {
		t.Run("session", func(t *testing.T) {
			bustest.OfSession(t, nil)
			s := &server{}
			startServer(t, s)
			noErr(t, n.Notify(office.Notice{Title: "a", Body: "b"}))
			<-s.shown
		})
	}
}

func TestServiceThatHangsIsGivenUp(t *testing.T) {
	bustest.OfSession(t, nil)
	s := &server{hang: make(chan struct{})}
	startServer(t, s)
	d := newDesktop(Options{App: "Countersign"}, New(Options{}).log, nil)
	defer d.close()
	defer close(s.hang)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := d.raise(ctx, office.Notice{Title: "a", Body: "b"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestWithoutABusNothingIsStarted(t *testing.T) {
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nonexistent")
	bin := t.TempDir()
	t.Setenv("PATH", bin)
	ran := filepath.Join(t.TempDir(), "ran")
	noErr(t, os.WriteFile(filepath.Join(bin, "dbus-launch"), []byte("#!/bin/sh\ntouch '"+ran+"'\n"), 0o755))
	if err := newNotifier(t, Options{}).Notify(office.Notice{Title: "a", Body: "b"}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a command was started")
	}
}
