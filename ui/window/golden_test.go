package window

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/software"
	"fyne.io/fyne/v2/test"

	"countersign/internal/fasttest"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// TestTheWindowLooksAsItWasApproved looks at what its screens' own pictures do not show: the sidebar, what lies over the screens,
// and how they hold in German, whose words are the longest, and for people who see little.
func TestTheWindowLooksAsItWasApproved(t *testing.T) {
	fasttest.Slow(t)
	to := func(screen int) func(*bench) { return func(b *bench) { b.window.Go(screen); b.Settle() } }
	saved := func(b *bench) { b.window.packages.Show("p3"); b.Settle() }
	program := func(b *bench) { b.window.Go(showSettings); b.window.settings.get().ShowProgram(); b.Settle() }
	big, small := screentest.Big, screentest.Small
	light, dark := office.Settings{LookSettings: office.LookSettings{Language: "en",
		Theme: "light"}}, office.Settings{LookSettings: office.LookSettings{Language: "en", Theme: "dark"}}
	german, large := office.Settings{LookSettings: office.LookSettings{Language: "de",
		Theme: "light"}}, office.Settings{LookSettings: office.LookSettings{Language: "de", Theme: "light", TextSize: 200}}
	for _, c := range []struct {
		name   string
		office *officetest.Office
		act    func(*bench)
		kept   office.Settings
		size   fyne.Size
		scale  float32
	}{
		{"packages-dark", officetest.Busy(), nil, dark, big, 1},
		{"packages-empty", officetest.Empty(), nil, light, big, 1},
		{"packages-wrong", officetest.Wrong(), saved, light, big, 1},
		{"packages-world", officetest.World(), nil, light, small, 1},
		{"packages-saved", officetest.Busy(), saved, light, big, 1},
		{"packages-lost", officetest.Busy(), lost, dark, small, 2},
		{"send-filled", officetest.Busy(), fill, light, big, 1},
		{"activity-odd-dark", officetest.Busy(), func(b *bench) { events(b); b.window.activity.ChooseEvent(5) }, dark, small, 1},
		{"activity-empty-dark", officetest.Empty(), to(showActivity), dark, small, 1},
		{"status-dark", officetest.Busy(), said, dark, small, 1},
		{"send-said-200", officetest.Wrong(), func(b *bench) { pressed(b); say(b) }, light, small, 2},
		{"de-packages-wrong", officetest.Wrong(), saved, german, small, 1},
		{"de-send-filled", officetest.Busy(), fill, german, small, 1},
		{"de-activity", officetest.Busy(), to(showActivity), german, small, 1},
		{"de-events", officetest.Busy(), events, german, small, 1},
		{"de-status", officetest.Wrong(), to(showStatus), german, small, 1},
		{"eyes-packages-en-lighthigh", officetest.Wrong(), saved,
			office.Settings{LookSettings: office.LookSettings{Language: "en", Theme: "light", Contrast: "high"}}, small, 1},
		{"eyes-settings-en-darkhigh", officetest.Busy(), program,
			office.Settings{LookSettings: office.LookSettings{Language: "en", Theme: "dark", Contrast: "high"}}, small, 1},
		{"eyes-packages-de-light-200", officetest.Wrong(), saved, large, small, 1},
		{"eyes-send-de-light-200", officetest.Busy(), fill, large, small, 1},
		{"eyes-status-de-light-200", officetest.Wrong(), to(showStatus), large, small, 1},
		{"drop-packages-dark", officetest.Busy(), over(500, 300), office.Settings{LookSettings: office.LookSettings{Language: "de", Theme: "dark"}}, big,
			1},
		{"drop-send", officetest.Busy(), func(b *bench) { fill(b); over(400, 152)(b) }, light, big, 1},
		{"drop-fetching", officetest.Busy(), func(b *bench) { fill(b); b.window.fetching(true); b.noticed() }, german, big, 1},
		{"drop-refused", officetest.Busy(), func(b *bench) { to(showSettings)(b); b.window.SignOut(); b.Settle(); over(500, 300)(b) }, german, big, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			kept := &c.office.Kept
			kept.Theme, kept.Contrast, kept.TextSize = c.kept.Theme, c.kept.Contrast, c.kept.TextSize
			b := inLanguage(t, c.kept.Language, c.office)
			if c.act != nil {
				c.act(b)
			}
			screentest.Compare(t, c.name, b.Picture(b.window.window.Content(), c.size, c.scale))
		})
	}
}

// over drags files over a place.
func over(x, y float32) func(*bench) { return func(b *bench) { b.over(x, y, true) } }

func events(b *bench) {
	b.window.Go(showActivity)
	b.window.activity.ShowEvents()
}

// lost shows a saved package one of whose files is gone.
func lost(b *bench) {
	b.System.Lost = map[string]bool{b.Office.Rows[1].Files[1].Path: true}
	b.window.ShowPackage("p3")
	b.Settle()
}

// said is the status of a day on which all is well, below passing news.
func said(b *bench) {
	b.window.Go(showStatus)
	say(b)
}

func say(b *bench) {
	b.window.env.Notice("6 events were exported.")
	b.window.env.Notice("“Mandate Keller - certificate.pdf” is no longer where it was saved (/home/office/Documents/Signed).")
}

func fill(b *bench) {
	b.window.Add([]string{b.file("Lease Sonnenweg 4.pdf", 48_211), b.file("House rules.pdf", 1_204_000)})
	b.Settle()
	b.window.compose.get().Fill(office.Form{Message: "Here is the lease as we discussed it on the phone.", Sequential: true,
		Signers: []office.Signer{{FirstName: "Jan", LastName: "Weber", Email: "jan.weber@example.com"}, {FirstName: "Ana", LastName: "Ruiz", Email: "ana.ruiz@example.com"}},
		Due:     "2026-11-30"})
}

// pressed is a package that is about to be sent, and can be taken back.
func pressed(b *bench) {
	fill(b)
	b.Office.Patient = true
	b.window.compose.get().Send()
	b.Until(func() bool {
		pages := b.find(func(o fyne.CanvasObject) bool {
			page, is := o.(*canvas.Image)
			return is && page.Image != nil && page.Resource == nil
		})
		return b.window.grace.Busy() && b.window.at == showPackages && len(pages) > 0
	})
}

func signingIn(b *bench) {
	b.window.account.signIn("")
	b.Until(func() bool { return len(b.System.SoFar()) > 0 })
}

// paste ends a sign-in as the browser does.
func (b *bench) paste() {
	if err := b.Office.Paste("https://localhost/oauth/callback?code=1"); err != nil {
		b.t.Error(err)
	}
}

// inLanguage is an office whose window speaks a language.
func inLanguage(t *testing.T, code string, o *officetest.Office) *bench {
	t.Helper()
	o.Kept.Language = code
	t.Cleanup(func() { i18n.Use("en") })
	return newBench(t, o)
}

// english are words that German texts do not have. Names of people, documents and files are made up of others.
var english = regexp.MustCompile(`(?i)(^|\PL)(the|and|is|were|not|to|of|by|with|for|from|your|you|sign|signed|signing|saved|waiting|document|documents|package|packages|people)(\PL|$)`)

// names are what the made-up office calls its documents, and the message it writes; they stay as they are.
var names = regexp.MustCompile(`Letter of ma\pL*|Signed/[^.]*\.pdf|in Signed|^Signed$|„Signed“|\{\w+\}|https://\S*|Here is the lease.*|the phone\.|/home/office/Documents/\w*|"\w+":.*`)

func TestTheSidebarIsAsWideWhileSomebodySignsIn(t *testing.T) {
	for _, language := range i18n.Languages() {
		t.Run(language, func(t *testing.T) {
			b := inLanguage(t, language, officetest.Empty())
			left := func() float32 {
				b.fill(screentest.Big)
				return b.App.Driver().AbsolutePositionForObject(b.window.stage).X
			}
			before := left()
			signingIn(b)
			if after := left(); after != before || before == 0 {
				t.Errorf("what is beside it moved from %v to %v", before, after)
			}
			b.fill(screentest.Small)
			top := func(o fyne.CanvasObject) float32 { return b.App.Driver().AbsolutePositionForObject(o).Y }
			if last := b.window.nav[len(b.window.nav)-1]; top(last)+last.Size().Height > top(b.window.account.content) {
				t.Errorf("the entries end at %v, the sign-in begins at %v", top(last)+last.Size().Height, top(b.window.account.content))
			}
		})
	}
}

// TestWhatIsShortenedKeepsItsEnd looks at every text of every screen, in every language, with names too long for it: what
// tells them apart is at their end.
func TestWhatIsShortenedKeepsItsEnd(t *testing.T) {
	fasttest.Slow(t)
	t.Cleanup(func() { i18n.Use("") })
	for _, language := range []string{"en", "de", "fr", "es"} {
		world := officetest.World()
		world.Kept.Language = language
		world.Rows[1].Name = strings.Repeat("A letter to be signed by everybody in the house, ", 3) + "second version"
		b := newBench(t, world)
		b.window.Add([]string{b.file(strings.Repeat("The lease of the flat in Sonnenweg ", 5)+"4 b.pdf", 10)})
		b.window.compose.get().Fill(office.Form{Message: "hello", Signers: world.Rows[0].Signers})
		b.Settle()
		b.window.window.Resize(screentest.Small)
		shortened := 0
		for at := range b.window.screens {
			b.window.Go(at)
			b.Settle()
			b.inSight(func(o fyne.CanvasObject, _ rectangle, _ *container.Scroll) {
				var whole string
				switch o := o.(type) {
				case *widgets.Line:
					if whole = o.Text; o.Begins {
						return
					}
				case *widgets.Prose:
					whole = o.Text
				default:
					return
				}
				lines := test.WidgetRenderer(o.(fyne.Widget)).Objects()
				shown := lines[len(lines)-1].(*canvas.Text).Text
				if !strings.Contains(shown, "…") || strings.Contains(whole, "…") {
					return
				}
				shortened++
				if strings.HasSuffix(shown, "…") {
					t.Errorf("%s, screen %d: %q is shown as %q", language, at, whole, shown)
				}
			})
		}
		if shortened < 4 {
			t.Errorf("%s: only %d texts are shortened", language, shortened)
		}
	}
}

func TestTextsAreDrawnAnewOnAFinerScreen(t *testing.T) {
	b := newBench(t, officetest.Busy())
	redrawn := 0
	b.App.Settings().AddListener(func(fyne.Settings) { redrawn++ })
	w := b.window
	drawn := w.fineness()
	if drawn = w.sharpen(drawn); redrawn != 0 {
		t.Error("everything is drawn anew on the same screen")
	}
	w.window.Canvas().(software.WindowlessCanvas).SetScale(2)
	if drawn = w.sharpen(drawn); redrawn != 1 || drawn != 2000 {
		t.Errorf("on a screen with %d dots it was drawn anew %d times", drawn, redrawn)
	}
	if w.sharpen(drawn); redrawn != 1 {
		t.Error("it is drawn anew again and again")
	}
}

func TestAHiddenWindowLooksAtNoScreen(t *testing.T) {
	b := newBench(t, officetest.Busy())
	w := b.window
	looks := func() bool {
		return slices.ContainsFunc(b.alarms, func(a alarm) bool { return a.after == lookEvery })
	}
	w.sharpens = true
	w.lookAgain()
	b.pass(lookEvery)
	b.Until(looks)
	w.resting = true
	b.pass(lookEvery)
	b.Until(func() bool { return !w.sharpens })
	if looks() {
		t.Error("it goes on")
	}
}

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
	screentest.Equal(t, "another text size led to another screen", b.window.at, showSettings)
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
	fasttest.Slow(t)
	larger := func(s *office.Settings) { s.TextSize = 200 }
	inEveryScene(t, "de", larger, func(b *bench, name string) { // whose words are the longest
		for _, size := range []fyne.Size{screentest.Small, fyne.NewSize(1591, 1036)} { // what it shows, and all that it scrolls through
			b.fill(size)
			b.losesNothing(name, size)
			if name != "settings" {
				continue
			}
			for at, tab := range b.tabs() {
				tab.Tapped(nil)
				b.fill(size)
				b.losesNothing(fmt.Sprint(name, ", tab ", at), size)
			}
		}
	})
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
	screentest.Equal(b.t, fmt.Sprintf("%s: the window grew to", where), b.window.window.Canvas().Size(), room)
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

// TestEveryScreenFitsAndIsNamed goes through every screen in every language.
func TestEveryScreenFitsAndIsNamed(t *testing.T) {
	fasttest.Slow(t)
	screen := fyne.NewSize(640, 360) // 1280 x 720 at 200 %
	tiled := fyne.NewSize(560, 420)  // as a desktop shows it that tiles its windows
	for _, language := range []string{"en", "de", "fr", "es"} {
		fields, named := 0, 0
		inEveryScene(t, language, nil, func(b *bench, name string) {
			// A window manager makes no window smaller than it asks for, also where it is then larger than the screen.
			if least := b.window.window.Content().MinSize(); least.Width > screen.Width || least.Height > screen.Height {
				b.t.Errorf("%s: the window asks for %v", name, least)
			}
			if language == "en" {
				b.fill(tiled)
				b.losesNothing(name, tiled)
			}
			b.fill(screentest.Small)
			// A field that has no room for what stands in it shows a bar to scroll by, and half a word.
			b.inSight(func(o fyne.CanvasObject, _ rectangle, _ *container.Scroll) {
				if entry, is := o.(*widgets.Entry); is && entry.Text == "" && entry.PlaceHolder != "" {
					fields++
					if cutsPlaceholder(entry) {
						b.t.Errorf("%s: there is no room for %q", name, entry.PlaceHolder)
					}
				}
			})
			b.fill(fyne.NewSize(1591, 1036)) // so that more is in sight
			named += b.allNamed(name)
			for at, tab := range b.tabs() {
				tab.Tapped(nil)
				b.Run()
				named += b.allNamed(fmt.Sprint(name, ", tab ", at))
			}
		})
		if fields < 5 || named < 500 {
			t.Errorf("%s: only %d fields were looked at, and %d things that can be pressed", language, fields, named)
		}
	}
}

func TestASmallWindowKeepsItsSidebarAndScrollsDownwardsOnly(t *testing.T) {
	b := newBench(t, officetest.Busy())
	for _, size := range []fyne.Size{screentest.Small, smallest} {
		b.fill(size)
		for at := range b.window.nav {
			b.window.Go(at)
			b.Settle()
			b.fill(size)
			item := b.window.nav[at]
			words := item.Size().Width > 100
			if words != (size == screentest.Small) || item.AccessibilityLabel() == "" {
				t.Errorf("%v: entry %d shows its word: %v, and is called %q", size, at, words, item.AccessibilityLabel())
			}
			page := b.window.stage.Size().Width
			if room := size.Width - b.App.Driver().AbsolutePositionForObject(b.window.stage).X; page > room+1 {
				t.Errorf("%v: screen %d is %v wide and has %v", size, at, page, room)
			}
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

func TestWhatStandsOnTheStatusIsNamedInFullWhenTextIsLarge(t *testing.T) {
	o := officetest.Busy()
	o.Kept.TextSize = 200
	b := inLanguage(t, "de", o)
	b.window.Go(showStatus)
	b.fill(fyne.NewSize(1591, 1036))
	shown := screentest.Text(b.window.standing.Content())
	for _, name := range []string{"Signaturdienst", "Öffentliche Adresse", "Meldungen"} {
		if !strings.Contains(shown, name) {
			t.Errorf("%q is not in %q", name, shown)
		}
	}
}
