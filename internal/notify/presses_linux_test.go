package notify

import (
	"bytes"
	"log/slog"
	"runtime"
	"slices"
	"testing"

	"countersign/internal/office"
	"countersign/internal/sessionbus/bustest"

	"github.com/godbus/dbus/v5"
)

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
