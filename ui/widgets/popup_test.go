package widgets

import (
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/test"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

func TestTheFocusIsNeverOutOfSightInAPopUpThatIsTooLarge(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	defer window.Close()
	behind := NewEntry("")
	window.SetContent(Roomy(AtLeast(fyne.NewSize(800, 600), behind)))
	window.Resize(fyne.NewSize(300, 200))
	rows := Stack(4)
	var fields []*Entry
	for range 20 {
		fields = append(fields, NewEntry(""))
		rows.Add(fields[len(fields)-1])
	}
	pop := Open(window.Canvas(), rows, fyne.Size{}, fields[0], nil)
	defer pop.Close()
	for _, i := range []int{19, 0, 10} {
		window.Canvas().Focus(fields[i])
		top := app.Driver().AbsolutePositionForObject(fields[i]).Y
		if bottom := top + fields[i].Size().Height; top < 0 || bottom > 200 {
			t.Errorf("field %d is between %v and %v of 200", i, top, bottom)
		}
	}
}

func TestAPopUpStandsBelowItsObjectWhereThereIsRoom(t *testing.T) {
	test.NewTempApp(t)
	for _, c := range []struct{ above, want float32 }{{300, 300 + 20}, {650, 650 - 200}} {
		at := AtLeast(fyne.NewSize(100, 20), NewEntry(""))
		w := test.NewTempWindow(t, container.NewWithoutLayout(at))
		w.SetPadded(false)
		w.Resize(fyne.NewSize(900, 700))
		at.Resize(fyne.NewSize(100, 20))
		at.Move(fyne.NewPos(100, c.above))
		p := OpenAt(w.Canvas(), AtLeast(fyne.NewSize(300, 200), NewEntry("")), at, nil, nil)
		if got := test.WidgetRenderer(p).Objects()[1].Position().Y; got < c.want-5 || got > c.want+5 {
			t.Errorf("beside what is at %v, it is at %v, want %v", c.above, got, c.want)
		}
	}
}

func TestAPopUpHasRoomForWhatIsShownInItLater(t *testing.T) {
	test.NewTempApp(t)
	w := test.NewTempWindow(t, NewEntry(""))
	w.Resize(fyne.NewSize(900, 700))
	said := NewProse(strings.Repeat("what is wrong and what to do ", 6))
	saying := Across(nil, said, nil)
	saying.Hide()
	content := Pad(20, Stack(16, NewHeading("Title"), saying, NewButton("Go on", nil)))
	p := Open(w.Canvas(), content, fyne.NewSize(300, 0), nil, nil)
	saying.Show()
	p.Refresh()
	if has, needs := content.Size().Height, content.MinSize().Height; has < needs {
		t.Errorf("it has a height of %v and needs %v", has, needs)
	}
	if panel := test.WidgetRenderer(p).Objects()[1]; panel.Size().Height < content.MinSize().Height {
		t.Errorf("the panel is %v high, its content %v", panel.Size().Height, content.MinSize().Height)
	}
}

func TestAPressInADialogOrBesideItKeepsTheFocus(t *testing.T) {
	test.NewTempApp(t)
	w := test.NewTempWindow(t, NewEntry(""))
	w.Resize(fyne.NewSize(900, 700))
	first, second, button := NewEntry(""), NewEntry(""), NewButton("Copy", func() {})
	words, fold := NewLine("Words"), NewFold("Details", false, NewLine("more"))
	p := Open(w.Canvas(), Pad(20, Stack(16, words, first, second, fold.Object, button)), fyne.NewSize(300, 0), first, nil)
	defer p.Close()
	for what, at := range map[string]fyne.CanvasObject{"the veil": p, "words": words, "a button": button, "a fold": fold.title} {
		w.Canvas().Focus(second)
		test.TapCanvas(w.Canvas(), fyne.CurrentApp().Driver().AbsolutePositionForObject(at).AddXY(4, 4))
		if w.Canvas().Focused() != second {
			t.Errorf("after a press on %s the focus is on %T", what, w.Canvas().Focused())
		}
	}
}

func TestAFoldShowsItsFirstLinesAndStaysUnderTheMouseInADialog(t *testing.T) {
	app := test.NewTempApp(t)
	place := app.Driver().AbsolutePositionForObject
	w := test.NewTempWindow(t, NewEntry(""))
	w.Resize(fyne.NewSize(900, 700))
	lines := func() fyne.CanvasObject {
		rows := Stack(4)
		for range 60 {
			rows.Add(NewSelectable("line"))
		}
		return rows
	}
	seen := func(fold *Fold, bottom float32) {
		t.Helper()
		if from := place(fold.content).Y; from < 0 || from+60 > bottom {
			t.Errorf("its first line is at %v of %v", from, bottom)
		}
	}
	page := NewFold("For administrators", false, lines())
	w.SetContent(NewVScroll(PadHV(20, 0, Stack(8, AtLeast(fyne.NewSize(100, 640), NewLine("")), page.Object))))
	page.title.Tapped(&fyne.PointEvent{})
	seen(page, 700)

	fold := NewFold("Technical details", false, lines())
	p := Open(w.Canvas(), Pad(20, Stack(16, NewHeading("Event"), fold.Object, NewButton("Close", nil))), fyne.NewSize(300, 0), nil, nil)
	defer p.Close()
	before := place(fold.title)
	fold.title.Tapped(&fyne.PointEvent{})
	if at := place(fold.title); at != before {
		t.Errorf("the title moves from %v to %v", before, at)
	}
	seen(fold, 700)
	w.Canvas().Focus(fold.title)
	test.Scroll(w.Canvas(), before.AddXY(20, 60), 0, -200)
	test.TapCanvas(w.Canvas(), fyne.NewPos(10, 10)) // the focus stays, and nothing scrolls back to it
	if at := place(fold.title); at.Y != before.Y-200 || w.Canvas().Focused() != fyne.Focusable(fold.title) {
		t.Errorf("the wheel moves it from %v to %v", before, at)
	}
	panel := test.WidgetRenderer(p).Objects()[1]
	if bottom := panel.Position().Y + panel.Size().Height; bottom > 700 {
		t.Errorf("the dialog ends at %v of 700", bottom)
	}
}

func TestWhatIsSaidWhileADialogIsOpenLiesOverItsVeil(t *testing.T) {
	test.NewTempApp(t)
	later := func(time.Duration, func()) {}
	toasts := NewToasts(later)
	w := test.NewTempWindow(t, WithTips(later, toasts))
	w.Resize(fyne.NewSize(900, 700))
	p := Open(w.Canvas(), NewLine("Question"), fyne.Size{}, nil, nil)
	defer p.Close()
	toasts.Say("Copied.")
	if len(toasts.shown) != 1 || len(p.toasts.shown) != 1 || p.toasts.Size() != toasts.Size() {
		t.Errorf("%d below and %d above, %v and %v", len(toasts.shown), len(p.toasts.shown), toasts.Size(), p.toasts.Size())
	}
}

const longName = "Lease of the flat in Sonnenweg 4, second floor on the left, with the cellar and the garden, of 12 March 2026 (signed).pdf"

// hovering is a window in which the mouse rests.
type hovering struct {
	t       *testing.T
	window  fyne.Window
	waiting []func()
}

// shows is what is shown near the mouse once it has rested on an object for a moment.
func (h *hovering) shows(o fyne.CanvasObject) string {
	h.t.Helper()
	at := fyne.CurrentApp().Driver().AbsolutePositionForObject(o).AddXY(10, o.Size().Height/2)
	test.MoveMouse(h.window.Canvas(), at)
	for _, over := range h.waiting {
		over()
	}
	h.waiting = nil
	return tipsOver(o).text
}

func newHovering(t *testing.T, app fyne.App, content fyne.CanvasObject) *hovering {
	h := &hovering{t: t, window: app.NewWindow("")}
	t.Cleanup(h.window.Close)
	h.window.SetContent(WithTips(func(_ time.Duration, over func()) { h.waiting = append(h.waiting, over) }, content))
	h.window.Resize(fyne.NewSize(300, 400))
	return h
}

type row struct {
	ListRow
	name *Line
}

func newRow(text string) *row {
	r := &row{name: NewName(text)}
	r.Lines, r.Content = []*Line{r.name}, r.name
	r.ExtendBaseWidget(r)
	return r
}

func TestWhatIsShortenedShowsWholeUnderTheMouse(t *testing.T) {
	app := test.NewTempApp(t)
	long, short := newRow(longName), newRow("Lease.pdf")
	name := NewName(longName)
	link := NewTappable(name, nil)
	link.Lines = []*Line{name}
	twice := strings.Repeat(longName+" ", 3)
	prose, full := NewFullName(twice), NewFullName("Lease.pdf")
	field, secret, empty := NewEntry(""), NewSecret(), NewEntry("")
	field.SetText(longName)
	secret.SetText(longName)
	h := newHovering(t, app, Stack(4, long, short, link, prose, full, field, secret, empty))
	for _, c := range []struct {
		what string
		on   fyne.CanvasObject
		want string
	}{
		{"a row of a list", long, longName}, {"a row that is shown whole", short, ""}, {"a link", link, longName},
		{"two lines", prose, twice}, {"a name that is shown whole", full, ""},
		{"a field", field, longName}, {"a secret", secret, ""}, {"an empty field", empty, ""},
	} {
		if got := h.shows(c.on); got != c.want {
			t.Errorf("over %s it shows %q", c.what, got)
		}
	}
	h.shows(long)
	long.name.Set("Another.pdf")
	long.Shown()
	if got := tipsOver(long).text; got != "" {
		t.Errorf("when the row shows another name it still shows %q", got)
	}
	test.MoveMouse(h.window.Canvas(), fyne.NewPos(20, 10))
	test.MoveMouse(h.window.Canvas(), fyne.NewPos(20, 399))
	for _, over := range h.waiting {
		over()
	}
	if got := tipsOver(long).text; got != "" {
		t.Errorf("the mouse only passed, and it shows %q", got)
	}
}

func TestWhatIsShortenedInAPopUpShowsWholeThere(t *testing.T) {
	h := newHovering(t, test.NewTempApp(t), NewButton("below", nil))
	long := newRow(longName)
	pop := Open(h.window.Canvas(), long, fyne.NewSize(200, 40), nil, nil)
	if got := h.shows(long); got != longName {
		t.Errorf("it shows %q", got)
	}
	tip, room := test.WidgetRenderer(pop.tips).Objects()[0], h.window.Canvas().Size()
	if at, size := tip.Position(), tip.Size(); at.X < 0 || at.Y < 0 || at.X+size.Width > room.Width || at.Y+size.Height > room.Height {
		t.Errorf("it lies at %v, %v, outside of the window", at, size)
	}
	pop.Close()
}

func TestWhatIsShownUnderTheMouseEndsWhenSomethingElseBegins(t *testing.T) {
	app := test.NewTempApp(t)
	button := NewButtonWithIcon("", fynetheme.FolderIcon(), nil)
	button.Says = func() string { return "Show in folder" }
	h := newHovering(t, app, button)
	c := h.window.Canvas()
	menu := fyne.NewMenu("", fyne.NewMenuItem("Open", nil))
	for what, begin := range map[string]func(){
		"it is pressed":  func() { test.Tap(button) },
		"a menu opens":   func() { OpenMenu(c, menu, button) },
		"one at a place": func() { OpenMenuAt(c, menu, fyne.NewPos(50, 50)) },
		"a pop-up opens": func() { Open(c, NewName("Lease"), fyne.Size{}, nil, nil) },
	} {
		over := windowTips(c)
		if got := h.shows(button); got != "Show in folder" {
			t.Fatalf("it shows %q", got)
		}
		if begin(); over.text != "" {
			t.Errorf("when %s, it still shows %q", what, over.text)
		}
		CloseAll(c)
		test.MoveMouse(c, fyne.NewPos(299, 399))
		test.MoveMouse(c, fyne.NewPos(10, 10)) // and rests there when the menu opens
		OpenMenu(c, menu, button)
		for _, later := range h.waiting {
			later()
		}
		h.waiting = nil
		if over.text != "" {
			t.Errorf("over a menu it shows %q", over.text)
		}
		CloseAll(c)
		test.MoveMouse(c, fyne.NewPos(299, 399))
	}
}

func TestAMenuOpensBelowWhereThereIsRoom(t *testing.T) {
	app := test.NewTempApp(t)
	window := app.NewWindow("")
	t.Cleanup(window.Close)
	high, middle, low := NewButton("high", nil), NewButton("middle", nil), NewButton("low", nil)
	window.SetContent(container.NewBorder(high, low, nil, nil, container.NewCenter(middle)))
	window.Resize(fyne.NewSize(300, 600))
	menu := fyne.NewMenu("", fyne.NewMenuItem("Open", nil), fyne.NewMenuItem("Print", nil))
	for at, below := range map[*Button]bool{high: true, middle: true, low: false} {
		OpenMenu(window.Canvas(), menu, at)
		of := fyne.CurrentApp().Driver().AbsolutePositionForObject
		for _, o := range test.LaidOutObjects(window.Canvas().Overlays().Top()) {
			pop, ok := o.(*widget.PopUpMenu)
			if !ok {
				continue
			}
			if from, edge := of(pop).Y, of(at).Y; below && from < edge+at.Size().Height || !below && from+pop.Size().Height > edge {
				t.Errorf("%s at %v: it lies from %v, %v high", at.Text, edge, from, pop.Size().Height)
			}
		}
		CloseAll(window.Canvas())
	}
}
