package window

import (
	"errors"
	"fmt"
	"image"
	"reflect"
	"slices"
	"strings"
	"testing"

	"countersign/internal/fasttest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/drop"
	"countersign/ui/i18n"
	"countersign/ui/officetest"
	"countersign/ui/screentest"
	"countersign/ui/screentest/contrast"
	"countersign/ui/widgets"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/test"
)

// TestTabReachesAllThatCanBePressedAndTheFocusIsSeen goes through every screen with Tab alone. Each stop is seen: the picture
// with the focus differs from the one without. What the mouse can press is among the stops, and Shift+Tab stops
// at the same, in the opposite order, that in which they are read.
func TestTabReachesAllThatCanBePressedAndTheFocusIsSeen(t *testing.T) {
	fasttest.Slow(t)
	before := map[string]looked{"light": {}, "dark": {}}
	for name, c := range everyScene() {
		for i, scene := range c.play {
			looks := []string{"light"}
			if slices.Contains([]string{"what is wrong", "settings", "first run"}, scene.name) { // each kind of control in the dark, too
				looks = append(looks, "dark")
			}
			for _, look := range looks {
				t.Run(scene.name+", "+look, func(t *testing.T) {
					c := everyScene()[name] // in a window of its own: painting has Fyne drop what was hidden for a minute
					c.office.Kept.Theme = look
					b := newBench(t, c.office)
					for _, scene := range c.play[:i+1] {
						scene.act(b)
						b.Run() // a sign-in waits for the person
					}
					b.window.window.Resize(screentest.Small)
					b.Run()
					b.tabbed(before[look])
				})
			}
		}
	}
}

// tabbed goes through the window with Tab, and back.
func (b *bench) tabbed(before looked) {
	b.t.Helper()
	stops := b.stops(+1)
	back := b.stops(-1)
	if len(stops) < 3 || len(back) != len(stops) {
		b.t.Errorf("Tab stops %d times, Shift+Tab %d times", len(stops), len(back))
	}
	for _, stop := range stops {
		if !slices.Contains(back, stop) {
			b.t.Errorf("Shift+Tab passes over %s", called(stop))
		}
	}
	slices.Reverse(back)
	if there, back := b.outsideLists(stops), b.outsideLists(back); !slices.Equal(there, back) {
		b.t.Errorf("Tab stops at %s; Shift+Tab, read backwards, at %s", all(there), all(back))
	}
	b.reads(stops)
	b.reached(stops)
	b.seen(stops, before)
}

// scenes are the states of an office's window in which a person may find it, each reached from the one before.
type scenes struct {
	office *officetest.Office
	play   []scene
}

type scene struct {
	name string
	act  func(*bench)
}

// everyScene is every screen, with what is on it in the states that show something else.
func everyScene() map[string]scenes {
	to := func(screen int) func(*bench) { return func(b *bench) { b.window.Go(screen); b.Settle() } }
	package3 := func(b *bench) { b.window.packages.Show("p3"); b.Settle() }
	return map[string]scenes{
		"busy": {officetest.Busy(), []scene{{"packages", package3}, {"send", to(showCompose)}, {"send, filled in", fill},
			{"activity", to(showActivity)}, {"an event", events}, {"settings", to(showSettings)}, {"help", to(showAbout)}}},
		"wrong": {officetest.Wrong(), []scene{{"what is wrong", package3}, {"status", to(showStatus)}}},
		"empty": {officetest.Empty(), []scene{{"no packages", to(showPackages)}}},
		"unset": {unset(), []scene{{"first run", func(*bench) {}}, {"first run, public address", types(fyne.KeyReturn, fyne.KeyReturn)},
			{"first run, return address", types(fyne.KeyReturn)}, // no public address
			{"first run, registration", types(fyne.KeyReturn)},   // to this computer
			{"first run, folder", registers}, {"first run, sign-in", types(fyne.KeyReturn)}}},
	}
}

// inEveryScene looks at every scene, in a language and with other settings, if any.
func inEveryScene(t *testing.T, language string, set func(*office.Settings), look func(b *bench, name string)) {
	t.Helper()
	for name, c := range everyScene() {
		t.Run(language+", "+name, func(t *testing.T) {
			if set != nil {
				set(&c.office.Kept)
			}
			b := inLanguage(t, language, c.office)
			for _, scene := range c.play {
				scene.act(b)
				b.Run() // a sign-in waits for the person
				look(b, scene.name)
			}
		})
	}
}

// types goes to the next step of the first run by keys alone: what has the cursor is chosen, and Enter goes on.
func types(keys ...fyne.KeyName) func(*bench) {
	return func(b *bench) {
		for _, k := range keys {
			if at := b.window.window.Canvas().Focused(); at != nil {
				at.TypedKey(&fyne.KeyEvent{Name: k})
			}
		}
		b.Settle()
	}
}

// registers fills in what the service gave the office, and goes on.
func registers(b *bench) {
	canvas := b.window.window.Canvas()
	test.Type(canvas.Focused(), "office")
	canvas.FocusNext()
	test.Type(canvas.Focused(), "secret")
	types(fyne.KeyReturn)(b)
}

// stops are what Tab stops at, from the first to the last; by is -1 for Shift+Tab.
func (b *bench) stops(by int) (stops []fyne.Focusable) {
	b.t.Helper()
	canvas := b.window.window.Canvas()
	canvas.Unfocus()
	for {
		if by > 0 {
			canvas.FocusNext()
		} else {
			canvas.FocusPrevious()
		}
		at := canvas.Focused()
		if at == nil || slices.Contains(stops, at) {
			canvas.Unfocus()
			return stops
		}
		stops = append(stops, at)
		if keeps, is := at.(fyne.Tabbable); is && keeps.AcceptsTab() {
			b.t.Fatalf("Tab does not leave %s", called(at))
		}
	}
}

// outsideLists are the stops but for the buttons in the rows of lists, which Fyne comes to after their list both ways.
func (b *bench) outsideLists(stops []fyne.Focusable) []fyne.Focusable {
	var lists []*widgets.List
	for _, stop := range stops {
		if list, is := stop.(*widgets.List); is {
			lists = append(lists, list)
		}
	}
	place := b.App.Driver().AbsolutePositionForObject
	return slices.DeleteFunc(slices.Clone(stops), func(stop fyne.Focusable) bool {
		_, is := stop.(*widgets.List)
		at := place(stop.(fyne.CanvasObject))
		return !is && slices.ContainsFunc(lists, func(l *widgets.List) bool {
			from := at.Subtract(place(l))
			return from.X >= 0 && from.Y >= 0 && from.X < l.Size().Width && from.Y < l.Size().Height
		})
	})
}

// reads checks that the stops follow each other as they are read: down, or up in what lies to the right, and from the page to the
// sidebar.
func (b *bench) reads(stops []fyne.Focusable) {
	b.t.Helper()
	place := b.App.Driver().AbsolutePositionForObject
	for i := range len(stops) - 1 {
		from, to := stops[i].(fyne.CanvasObject), stops[i+1].(fyne.CanvasObject)
		b.window.window.Canvas().Focus(stops[i+1]) // which scrolls to it
		above := place(to).Y+to.Size().Height <= place(from).Y
		beside := b.window.setup == nil && place(to).X < sidebarLeast && place(from).X > sidebarLeast
		if above && !beside && place(to).X < place(from).X+from.Size().Width {
			b.t.Errorf("Tab goes up from %s at %v to %s at %v", called(from), place(from), called(to), place(to))
		}
	}
}

// looked are the stops whose pictures were compared, by what they are, say and where: the sidebar is looked at once.
type looked map[string]bool

// seen compares the pictures of each stop with and without the focus.
func (b *bench) seen(stops []fyne.Focusable, before looked) {
	b.t.Helper()
	canvas, place := b.window.window.Canvas(), b.App.Driver().AbsolutePositionForObject
	var last image.Image // the picture with the focus on the stop before: without it on this one, unless something has scrolled
	for _, at := range stops {
		o := at.(fyne.CanvasObject)
		was := place(o)
		canvas.Focus(at)
		key := fmt.Sprint(called(at), place(o), o.Size())
		if before[key] {
			last = nil
			continue
		}
		before[key] = true
		seen, unseen := canvas.Capture(), last
		if unseen == nil || place(o) != was {
			at.FocusLost()
			unseen = canvas.Capture()
			at.FocusGained()
		}
		last = seen
		n, around := contrast.StandsOut(part(unseen, place(o), o.Size()), part(seen, place(o), o.Size())), int(o.Size().Width+o.Size().Height)
		if _, is := at.(*widgets.List); is { // it is on the row
			around = int(2 * (o.Size().Width - 16))
		}
		if n < around {
			b.t.Errorf("the focus on %s at %v, %v is not seen: %d pixels, want %d", called(at), place(o), o.Size(), n, around)
		}
	}
}

// part is what a picture shows at a place.
func part(p image.Image, at fyne.Position, size fyne.Size) image.Image {
	return p.(*image.NRGBA).SubImage(image.Rect(int(at.X), int(at.Y), int(at.X+size.Width)+1, int(at.Y+size.Height)+1))
}

// reached checks that all that the mouse can press is a stop, or lies within one, as the rows of a list do.
func (b *bench) reached(stops []fyne.Focusable) {
	b.t.Helper()
	var look func(o fyne.CanvasObject, within bool)
	look = func(o fyne.CanvasObject, within bool) {
		if !o.Visible() {
			return
		}
		focus, _ := o.(fyne.Focusable)
		within = within || focus != nil && slices.Contains(stops, focus)
		off, _ := o.(fyne.Disableable)
		if strings.HasSuffix(fmt.Sprintf("%T", o), ".scrollBarArea") { // what it leads to comes in sight with the focus
			return
		}
		if _, press := o.(fyne.Tappable); press && !within && (off == nil || !off.Disabled()) && o.Size().Width > 0 {
			b.t.Errorf("only the mouse reaches %s at %v", called(o), b.App.Driver().AbsolutePositionForObject(o))
		}
		switch x := o.(type) {
		case *fyne.Container:
			for _, child := range x.Objects {
				look(child, within)
			}
		case fyne.Widget:
			for _, child := range test.WidgetRenderer(x).Objects() {
				look(child, within)
			}
		}
	}
	look(b.window.window.Content(), false)
}

// all is what stops are, and what they say.
func all(stops []fyne.Focusable) (names []string) {
	for _, stop := range stops {
		names = append(names, called(stop))
	}
	return names
}

// called is what something is, and what it says.
func called(o any) string {
	text := ""
	switch x := o.(type) {
	case *widgets.Button:
		text = x.Text
	case *widgets.Entry:
		text = x.PlaceHolder
	case *widgets.Check:
		text = x.Text
	}
	return strings.TrimSpace(fmt.Sprintf("%T %s", o, text))
}

func TestTheKeysGoOnInTheListWhereAPackageIsShown(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.Settle()
	b.window.ShowCompose()
	b.window.ShowPackage("p3") // as Send does with what it has sent
	b.Settle()
	if list, is := b.window.window.Canvas().Focused().(*widgets.List); !is {
		t.Fatalf("the focus is on %T", b.window.window.Canvas().Focused())
	} else if list.At() < 0 {
		t.Error("the list has nothing chosen")
	}
	b.window.packages.Find()
	search := b.window.window.Canvas().Focused()
	b.window.ShowPackage("p2")
	b.Settle()
	if b.window.window.Canvas().Focused() != search {
		t.Error("a package that is shown takes the focus from the search")
	}
}

// over drags something over a place of the window, in Fyne's measure.
func (b *bench) over(x, y float32, files bool) (takes bool) {
	scale := b.window.window.Canvas().Scale()
	return b.window.dragOver(drop.Point{X: int(x * scale), Y: int(y * scale)}, files)
}

func TestWhatIsDraggedOverTheWindowSeesWhereItWouldLand(t *testing.T) {
	b := newBench(t, officetest.Busy())
	for _, c := range []struct {
		name  string
		at    int
		files bool
		takes bool
		says  string
	}{
		{"packages", showPackages, true, true, "Drop to send for signature"},
		{"activity", showActivity, true, true, "Drop to send for signature"},
		{"send", showCompose, true, true, "Drop to add to this package"},
		{"help", showAbout, true, true, "Drop to verify"},
		{"settings", showSettings, true, true, "Drop to send for signature"},
		{"a link", showPackages, false, false, "Only files can be dropped here."},
		{"a link on send", showCompose, false, false, "Only files can be dropped here."},
	} {
		b.window.Go(c.at)
		if takes := b.over(500, 300, c.files); takes != c.takes || b.window.dropHint.Takes() != c.takes || !strings.HasPrefix(b.window.dropHint.Text(), c.says) {
			t.Errorf("%s: %v, %q", c.name, takes, b.window.dropHint.Text())
		}
		b.window.clearLanding()
		if b.window.dropHint.Text() != "" {
			t.Errorf("%s: the sign stays", c.name)
		}
	}
	b.over(500, 300, true)
	b.window.vanish()
	screentest.Equal(t, "the sign stays while the window is closed", b.window.dropHint.Text(), "")
}

func TestAWizardTakesWhatIsDropped(t *testing.T) {
	b := newBench(t, unset())
	if b.window.setup == nil {
		t.Fatal("there is no wizard")
	}
	if !b.over(500, 300, true) || !strings.HasPrefix(b.window.dropHint.Text(), "Drop a file from your administrator") {
		t.Errorf("it says %q", b.window.dropHint.Text())
	}
}

func TestFilesThatAreOnTheirWayAreShown(t *testing.T) {
	b := newBench(t, officetest.Busy())
	says := func(when, want string) {
		t.Helper()
		b.Settle()
		if got := b.window.dropHint.Text(); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", when, got)
		}
	}
	b.window.fetching(true)
	says("at once", "") // most are there by now, and nothing flashes
	b.noticed()
	says("a moment later", "Fetching the dropped files")
	b.window.fetching(true)
	b.over(500, 300, true)
	says("while something else is over the window", "Drop to send")
	b.window.clearLanding()
	says("when that has left", "Fetching")
	b.window.fetching(false)
	b.window.dropped(drop.Point{}, []string{b.file("a.pdf", 10)}, nil)
	says("when one of two is there", "Fetching")
	b.window.enter(b.window.options.Office, false)
	says("in another view", "Fetching")
	b.window.fetching(false)
	b.window.dropped(drop.Point{}, nil, []error{message.Error(message.DropSilent(), nil)})
	says("at last", "")
}

// noticed lets the moment pass after which files that are on their way are shown.
func (b *bench) noticed() {
	b.pass(noticeable)
	b.Until(func() bool { return b.window.fetchSeen })
}

func TestADropThatNothingCanComeOfIsRefusedWithASentence(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.dropped(drop.Point{}, nil, []error{message.Error(message.DropNoFile(), errors.New("a link"))})
	if !strings.Contains(b.window.notice.AccessibilityLabel(), "Only files can be dropped") {
		t.Errorf("said is %q", b.window.notice.AccessibilityLabel())
	}
}

// TestStatesAndFaultsAreSaid: what a person sees of a state, or of a fault, is part of what a screen reader says.
func TestStatesAndFaultsAreSaid(t *testing.T) {
	b := newBench(t, officetest.Busy())
	b.window.packages.Show("p3")
	b.Settle()
	b.says("Packages, selected")
	b.says("Packages, list, Mandate Keller")
	b.window.Go(showSettings)
	b.Settle()
	b.says("Documents, selected")
	b.says("Notifications")
	b.says("Folder, text field, /home/office/Documents/Signed")
	b.says("Ready-made patterns, drop-down list, All in one folder")
	b.says("Certificate of each document, not ticked")

	b = newBench(t, officetest.Busy())
	fill(b)
	b.window.compose.get().Fill(office.Form{Message: "typed", Signers: []office.Signer{{Email: "nobody"}}})
	b.window.compose.get().Send()
	b.Settle()
	b.says("E-mail, Signer 1, text field, nobody, Enter")
	b.window.env.Notice("Saved.")
	b.allNamed("what is said in passing")
}

// says checks that something in sight says what begins like this.
func (b *bench) says(begin string) {
	b.t.Helper()
	var all []string
	for _, o := range b.find(func(o fyne.CanvasObject) bool { _, is := o.(fyne.Accessible); return is }) {
		label := o.(fyne.Accessible).AccessibilityLabel()
		if strings.HasPrefix(label, begin) {
			return
		}
		all = append(all, label)
	}
	b.t.Errorf("nothing says %q; what is said:\n%s", begin, strings.Join(all, "\n"))
}

// find is all of the window, or of what lies over it, that is shown.
func (b *bench) find(wanted func(fyne.CanvasObject) bool) (found []fyne.CanvasObject) {
	b.within(b.top(), nil, func(o, _ fyne.CanvasObject) {
		if wanted(o) {
			found = append(found, o)
		}
	})
	return found
}

func (b *bench) tabs() (tabs []*widgets.Tappable) {
	for _, row := range b.find(func(o fyne.CanvasObject) bool { _, is := o.(*widgets.Tabs); return is }) {
		b.within(row, nil, func(o, _ fyne.CanvasObject) {
			if tab, is := o.(*widgets.Tappable); is {
				tabs = append(tabs, tab)
			}
		})
	}
	return tabs
}

func (b *bench) top() fyne.CanvasObject {
	canvas := b.window.window.Canvas()
	if over := canvas.Overlays().Top(); over != nil {
		return over
	}
	return canvas.Content()
}

// within hands over all that is shown in an object, and within which of our own named widgets it lies, nil for none.
func (b *bench) within(o, in fyne.CanvasObject, found func(o, in fyne.CanvasObject)) {
	if o == nil || !o.Visible() {
		return
	}
	found(o, in)
	if ours(o) && pressable(o) {
		in = o
	}
	switch o := o.(type) {
	case *fyne.Container:
		for _, part := range o.Objects {
			b.within(part, in, found)
		}
	case fyne.Widget:
		for _, part := range test.WidgetRenderer(o).Objects() {
			b.within(part, in, found)
		}
	}
}

func ours(o fyne.CanvasObject) bool {
	kind := reflect.TypeOf(o).Elem()
	return strings.HasPrefix(kind.PkgPath(), "countersign/")
}

func pressable(o fyne.CanvasObject) bool {
	switch o.(type) {
	case fyne.Tappable, fyne.SecondaryTappable, fyne.DoubleTappable, fyne.Focusable:
		return true
	}
	return false
}

// allNamed counts what can be pressed, and complains of what has no name. Parts of Fyne's own widgets lie within one of ours that
// has, or show words, as the entries of a menu do.
func (b *bench) allNamed(where string) (n int) {
	b.t.Helper()
	states := []string{"", lang.L("text field"), lang.L("drop-down list"), lang.L("list"), lang.L("selected"), lang.L("marked"), lang.L("ticked"), lang.L("not ticked"), lang.L("not available"), lang.L("hidden")}
	icons := map[string]bool{}
	b.within(b.top(), nil, func(o, in fyne.CanvasObject) {
		if !pressable(o) || o.Size().Width == 0 {
			return
		}
		n++
		if !ours(o) {
			scrolls := strings.HasSuffix(fmt.Sprintf("%T", o), ".scrollBarArea")
			if in == nil && !scrolls && screentest.Text(o) == "" {
				b.t.Errorf("%s: %T is not ours and has no name", where, o)
			}
			return
		}
		said, is := o.(fyne.Accessible)
		if !is {
			b.t.Errorf("%s: %T at %v says nothing to a screen reader", where, o, b.App.Driver().AbsolutePositionForObject(o))
			return
		}
		name, _, _ := strings.Cut(said.AccessibilityLabel(), ", ")
		if slices.Contains(states, name) || said.AccessibilityRole() == "" {
			b.t.Errorf("%s: %T at %v has no name: %q, with the icon %s", where, o, b.App.Driver().AbsolutePositionForObject(o), said.AccessibilityLabel(), iconOf(o))
		}
		if i18n.Code() == "de" {
			if text := names.ReplaceAllString(strings.ReplaceAll(name, "Example Sign", ""), ""); english.MatchString(text) {
				b.t.Errorf("%s: %q is English", where, text)
			}
		}
		if icon, is := o.(*widgets.Button); is && icon.Text == "" {
			if label := icon.AccessibilityLabel(); icons[label] {
				b.t.Errorf("%s: two icons are called %q", where, label)
			}
			icons[icon.AccessibilityLabel()] = true
		}
	})
	return n
}

func iconOf(o fyne.CanvasObject) string {
	if b, is := o.(*widgets.Button); is && b.Icon != nil {
		return b.Icon.Name()
	}
	return ""
}
