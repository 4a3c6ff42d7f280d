package window

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"

	"countersign/internal/office"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// TestTheWindowFollowsTheSystemsComfortUntilAPersonDecides sets the system, comes back to the window, then decides in Settings.
func TestTheWindowFollowsTheSystemsComfortUntilAPersonDecides(t *testing.T) {
	b := newBench(t, officetest.Busy())
	set, still := system.Accessibility{}, false
	var mute error
	asked := 0
	b.window.options.Accessibility = func(context.Context) (system.Accessibility, error) {
		asked++
		if mute != nil {
			return system.Accessibility{}, mute
		}
		return set, nil
	}
	b.window.options.ReduceMotion = func(now bool) { still = now }
	returns := func(c system.Accessibility) {
		set = c
		b.window.askComfort()
		b.Until(func() bool { return b.window.accessibility == c })
		b.Settle()
	}
	want := func(when string, contrast bool, text int, rest bool) {
		t.Helper()
		if got := b.window.painted; got.Contrast != contrast || got.Text != text || still != rest {
			t.Errorf("%s: %+v, still %v", when, got, still)
		}
		if body := b.App.Settings().Theme().Size(theme.Body); body != 14*float32(max(100, text))/100 {
			t.Errorf("%s: text is %v high", when, body)
		}
	}
	b.window.Go(showSettings)
	returns(system.Accessibility{Text: 100})
	want("a system that asks for nothing", false, 0, false)
	returns(system.Accessibility{Contrast: true, Text: 150, ReducedMotion: true})
	want("the system's", true, 150, true)
	if b.window.at != showSettings {
		t.Error("another text size led to another screen")
	}
	mute, asked = errors.New("the desktop does not answer"), 0
	b.window.askComfort()
	b.Until(func() bool { return asked > 0 })
	b.Settle()
	want("a system that does not answer now", true, 150, true)
	mute = nil
	b.Office.Kept.Contrast, b.Office.Kept.TextSize, b.Office.Kept.Motion = "normal", 125, "full"
	b.window.follows(b.Office.Kept)
	b.Settle()
	want("decided otherwise", false, 125, false)
	returns(system.Accessibility{})
	b.Office.Kept.Contrast, b.Office.Kept.TextSize, b.Office.Kept.Motion = "high", 200, "reduced"
	b.window.follows(b.Office.Kept)
	b.Settle()
	want("decided without the system", true, 200, true)
}

// TestLargeTextLosesNothing goes through every screen with text twice as large, in the smallest window: what can be pressed is
// within the window, or scrolls into it, is as large as what it shows, and lies under nothing else that can be pressed.
func TestLargeTextLosesNothing(t *testing.T) {
	for _, scene := range everyScreen() {
		t.Run(scene.name, func(t *testing.T) {
			scene.office.Kept.TextSize = 200
			b := inLanguage(t, "de", scene.office) // whose words are the longest
			scene.act(b)
			for _, size := range []fyne.Size{screentest.Small, fyne.NewSize(1591, 1036)} { // what it shows, and all that it scrolls through
				b.fill(size)
				b.losesNothing(scene.name, size)
				if scene.name == "settings" {
					for at, tab := range b.tabs() {
						tab.Tapped(nil)
						b.fill(size)
						b.losesNothing(fmt.Sprint(scene.name, ", tab ", at), size)
					}
				}
			}
		})
	}
}

// fill gives the window a size, and lets it lay out once more what has changed, as a real window does by itself.
func (b *bench) fill(size fyne.Size) {
	b.Run()
	b.window.window.Resize(size.AddWidthHeight(1, 1))
	b.window.window.Resize(size)
	b.Run()
}

func (b *bench) losesNothing(where string, room fyne.Size) {
	b.t.Helper()
	window := rectangle{to: fyne.Position{}.Add(room)}
	if size := b.window.window.Canvas().Size(); size != room {
		b.t.Errorf("%s: the window grew to %v", where, size)
	}
	type pressed struct {
		what string
		at   rectangle
	}
	var all []pressed
	b.inSight(func(o fyne.CanvasObject, seen rectangle, by *container.Scroll) {
		if !ours(o) || !pressable(o) {
			return
		}
		switch o.(type) {
		case *widgets.Button, *widgets.Check, *widgets.Select, *widgets.Entry, *widgets.Tappable:
		default:
			return
		}
		what := o.(fyne.Accessible).AccessibilityLabel()
		at := b.App.Driver().AbsolutePositionForObject(o)
		whole := rectangle{at, at.Add(o.Size())}
		if by == nil && whole.cut(window) != whole {
			b.t.Errorf("%s: %q lies at %v, beyond the window", where, what, whole)
		}
		if least := o.MinSize(); least.Width > o.Size().Width+1 || least.Height > o.Size().Height+2 { // the edge of the field that the calendar is in
			b.t.Errorf("%s: %q has %v and needs %v", where, what, o.Size(), least)
		}
		for _, other := range all {
			if both := seen.cut(other.at); both.to.X-both.from.X > 1 && both.to.Y-both.from.Y > 1 && !within(seen, other.at) {
				b.t.Errorf("%s: %q at %v lies over %q at %v", where, what, seen, other.what, other.at)
			}
		}
		all = append(all, pressed{what, seen})
	})
	if len(all) == 0 {
		b.t.Errorf("%s: nothing can be pressed", where)
	}
}

// TestAWindowSmallerThanItAsksForLosesNothing goes through every screen as a desktop shows it that tiles its windows.
func TestAWindowSmallerThanItAsksForLosesNothing(t *testing.T) {
	for _, scene := range everyScreen() {
		b := inLanguage(t, "en", scene.office)
		scene.act(b)
		tiled := fyne.NewSize(560, 420)
		b.fill(tiled)
		b.losesNothing(scene.name, tiled)
	}
}

// A window manager makes no window smaller than it asks for, also where it is then larger than the screen.
func TestTheWindowAsksForNoMoreThanASmallScreenHas(t *testing.T) {
	screen := fyne.NewSize(640, 360) // 1280 x 720 at 200 %
	for _, scene := range everyScreen() {
		b := inLanguage(t, "de", scene.office)
		scene.act(b)
		b.Run()
		if least := b.window.window.Content().MinSize(); least.Width > screen.Width || least.Height > screen.Height {
			t.Errorf("%s: the window asks for %v", scene.name, least)
		}
	}
}

// TestEveryFieldHasRoomForWhatStandsInIt goes through the smallest window in every language. A field that has none shows
// a bar to scroll by, and half a word.
func TestEveryFieldHasRoomForWhatStandsInIt(t *testing.T) {
	for _, language := range []string{"en", "de", "fr", "es"} {
		b := inLanguage(t, language, officetest.Busy())
		fields := 0
		for at := range b.window.screens {
			b.window.Go(at)
			b.Settle()
			b.fill(screentest.Small)
			b.inSight(func(o fyne.CanvasObject, _ rectangle, _ *container.Scroll) {
				if entry, is := o.(*widgets.Entry); is && entry.Text == "" && entry.PlaceHolder != "" {
					fields++
					if cutsPlaceholder(entry) {
						t.Errorf("%s, screen %d: there is no room for %q", language, at, entry.PlaceHolder)
					}
				}
			})
		}
		if fields < 5 {
			t.Errorf("%s: only %d fields were looked at", language, fields)
		}
	}
}

// cutsPlaceholder says whether what stands in an empty field has to be scrolled.
func cutsPlaceholder(e *widgets.Entry) bool {
	for _, o := range test.WidgetRenderer(e).Objects() {
		if scroll, is := o.(*container.Scroll); is && scroll.Content.MinSize().Width > scroll.Size().Width {
			return true
		}
	}
	return false
}

// within says whether one lies in the other, as the calendar's button does in its field.
func within(a, b rectangle) bool { return a.cut(b) == a }

// TestTheWindowLooksAsApprovedForPeopleWhoSeeLittle shows high contrast and text twice as large.
func TestTheWindowLooksAsApprovedForPeopleWhoSeeLittle(t *testing.T) {
	to := func(screen int) func(*bench) { return func(b *bench) { b.window.Go(screen); b.Settle() } }
	program := func(b *bench) { b.window.Go(showSettings); b.window.settings.get().ShowProgram(); b.Settle() }
	for _, c := range []struct {
		name, language string
		office         *officetest.Office
		act            func(*bench)
		kept           office.Settings
	}{
		{"packages", "en", officetest.Wrong(), func(b *bench) { b.window.packages.Show("p3"); b.Settle() }, office.Settings{Theme: "light", Contrast: "high"}},
		{"packages", "en", officetest.Wrong(), func(b *bench) { b.window.packages.Show("p3"); b.Settle() }, office.Settings{Theme: "dark", Contrast: "high"}},
		{"send", "de", officetest.Busy(), fill, office.Settings{Theme: "light", Contrast: "high"}},
		{"settings", "en", officetest.Busy(), program, office.Settings{Theme: "dark", Contrast: "high"}},
		{"packages", "de", officetest.Wrong(), func(b *bench) { b.window.packages.Show("p3"); b.Settle() }, office.Settings{Theme: "light", TextSize: 200}},
		{"packages", "de", officetest.Busy(), func(*bench) {}, office.Settings{Theme: "light", TextSize: 150}},
		{"send", "de", officetest.Busy(), fill, office.Settings{Theme: "light", TextSize: 200}},
		{"activity", "de", officetest.Busy(), to(showActivity), office.Settings{Theme: "light", TextSize: 200}},
		{"status", "de", officetest.Wrong(), to(showStatus), office.Settings{Theme: "light", TextSize: 200}},
		{"settings", "de", officetest.Busy(), program, office.Settings{Theme: "light", TextSize: 200}},
		{"help", "de", officetest.Busy(), to(showAbout), office.Settings{Theme: "dark", TextSize: 200, Contrast: "high"}},
		{"first-run", "de", unset(), func(*bench) {}, office.Settings{Theme: "light", TextSize: 200}},
	} {
		name := strings.TrimSuffix(fmt.Sprintf("eyes-%s-%s-%s%s-%d", c.name, c.language, c.kept.Theme, c.kept.Contrast, c.kept.TextSize), "-0")
		t.Run(name, func(t *testing.T) {
			c.office.Kept.Theme, c.office.Kept.Contrast, c.office.Kept.TextSize = c.kept.Theme, c.kept.Contrast, c.kept.TextSize
			b := inLanguage(t, c.language, c.office)
			c.act(b)
			b.looks(name, screentest.Small, 1)
		})
	}
}

func TestWhatStandsOnTheStatusIsNamedInFullWhenTextIsLarge(t *testing.T) {
	o := officetest.Busy()
	o.Kept.TextSize = 200
	b := inLanguage(t, "de", o)
	b.window.Go(showStatus)
	b.fill(fyne.NewSize(1591, 1036))
	var shown []string
	for _, o := range test.LaidOutObjects(b.window.statusView.Content()) {
		if text, is := o.(*canvas.Text); is {
			shown = append(shown, text.Text)
		}
	}
	for _, name := range []string{"Signaturdienst", "Öffentliche Adresse", "Gespeicherte Dateien"} {
		if !slices.Contains(shown, name) {
			t.Errorf("%q is not among %q", name, shown)
		}
	}
}
