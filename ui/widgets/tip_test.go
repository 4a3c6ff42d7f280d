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
