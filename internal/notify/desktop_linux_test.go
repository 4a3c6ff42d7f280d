package notify

import (
	"bytes"
	"context"
	"errors"
	"html"
	"image"
	"image/png"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
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

// lease is a notification with everything that can be pressed.
var lease = office.Notice{Title: "Everyone has signed", Body: "Lease", About: office.PackageSubject("p"), Buttons: []office.Button{
	{Action: office.ActionShow, Label: "Show"}, {Action: office.ActionOpen, Label: "Open $(x)"}, {Action: office.ActionFolder, Label: "Show in folder"},
}}

// pressable is a desktop that shows buttons, a notifier, and the channel of presses.
func pressable(t *testing.T) (*server, *Notifier, chan office.Click) {
	bustest.OfSession(t, nil)
	s := &server{can: []string{"body", "actions"}}
	startServer(t, s)
	n := newNotifier(t, Options{App: "Countersign"})
	pressed := make(chan office.Click, 10)
	n.OnClick(func(p office.Click) { pressed <- p })
	return s, n, pressed
}

// wantPress waits for a press. Nothing else may arrive before it: signals keep their order.
func wantPress(t *testing.T, pressed chan office.Click, want office.Click) {
	t.Helper()
	if got := <-pressed; got != want {
		t.Errorf("told of %+v, want %+v", got, want)
	}
	if len(pressed) > 0 {
		t.Errorf("told of %+v too", <-pressed)
	}
}

func TestAPressIsPassedOnWithWhatItIsAbout(t *testing.T) {
	s, n, pressed := pressable(t)
	noErr(t, n.Notify(lease))
	got := <-s.shown
	if want := []string{"default", "Show", "open", "Open ＄(x)", "folder", "Show in folder"}; !slices.Equal(got.Actions, want) {
		t.Errorf("offered %q, want %q", got.Actions, want)
	}
	if got.Hints["desktop-entry"].Value() != "ch.countersign.app" {
		t.Errorf("the desktop is not told whose it is: %v", got.Hints["desktop-entry"])
	}
	s.say(t, "ActivationToken", got.ID, "token")
	s.say(t, "ActionInvoked", got.ID, "open")
	wantPress(t, pressed, office.Click{About: "package/p", Action: office.ActionOpen, Token: "token"})
	s.say(t, "NotificationClosed", got.ID, uint32(2))
	s.say(t, "ActionInvoked", got.ID, "default") // some desktops send them in this order
	wantPress(t, pressed, office.Click{About: "package/p", Action: office.ActionShow, Token: "token"})
}

func TestADesktopWithoutButtonsIsGivenNone(t *testing.T) {
	bustest.OfSession(t, nil)
	s := &server{can: []string{"body"}}
	startServer(t, s)
	noErr(t, newNotifier(t, Options{}).Notify(lease))
	if got := <-s.shown; len(got.Actions) != 0 {
		t.Errorf("offered %q", got.Actions)
	}
}

func TestWhatIsNotOursMeansNothing(t *testing.T) {
	s, n, pressed := pressable(t)
	noErr(t, n.Notify(lease))
	ours := (<-s.shown).ID
	stranger := must(dbus.ConnectSessionBus())
	defer stranger.Close()
	noErr(t, stranger.Emit(object, pressedSignal, ours, "open")) // not from the desktop
	s.say(t, "ActionInvoked", ours+1, "open")                    // another program's notification
	s.say(t, "ActionInvoked", ours, "rm -rf /")                  // an action that was not offered
	s.say(t, "ActionInvoked", "not a number", "open")            // nonsense
	s.say(t, "ActionInvoked")                                    // less than that
	s.say(t, "ActionInvoked", ours, "folder")                    // finally a real press
	wantPress(t, pressed, office.Click{About: "package/p", Action: office.ActionFolder})
}

func TestANotificationServiceThatRestartsIsListenedTo(t *testing.T) {
	s, n, pressed := pressable(t)
	noErr(t, n.Notify(lease))
	before := (<-s.shown).ID
	noErr(t, s.conn.Close())
	again := &server{can: s.can}
	startServer(t, again)
	other := lease
	other.About = office.PackageSubject("other")
	// The new service counts from 1 again; so a press with the old notification's number belongs to another program.
	again.say(t, "ActionInvoked", before, "open")
	noErr(t, n.Notify(other))
	after := (<-again.shown).ID
	if before != after {
		t.Fatalf("the numbers are %d and %d, and the test tells nothing", before, after)
	}
	again.say(t, "ActionInvoked", after, "open")
	wantPress(t, pressed, office.Click{About: "package/other", Action: office.ActionOpen})
}

func TestANotificationServiceThatRestartsBetweenTwoCallsShowsIt(t *testing.T) {
	bustest.OfSession(t, nil)
	old, again := &server{}, &server{}
	startServer(t, old)
	d := newDesktop(Options{}, slog.New(slog.DiscardHandler), nil)
	defer d.close()
	d.presses.mu.Lock() // raise waits for it once it knows the service
	raised := make(chan error, 1)
	go func() { raised <- d.raise(t.Context(), office.Notice{Title: "Lease"}) }()
	for stacks := make([]byte, 1<<20); !bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("(*presses).show")); {
		runtime.Gosched()
	}
	noErr(t, old.conn.Close())
	startServer(t, again)
	d.presses.mu.Unlock()
	noErr(t, <-raised)
	if got := <-again.shown; got.Title != "Lease" || len(old.shown)+len(again.shown) > 0 {
		t.Errorf("the new service shows %q, and %d more are shown", got.Title, len(old.shown)+len(again.shown))
	}
}

func TestAfterCloseNobodyIsToldOfAPress(t *testing.T) {
	s, n, pressed := pressable(t)
	noErr(t, n.Notify(lease))
	id := (<-s.shown).ID
	noErr(t, n.Close())
	s.say(t, "ActionInvoked", id, "open")
	if len(pressed) > 0 {
		t.Errorf("told of %+v", <-pressed)
	}
}
