package widgets

import (
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"
	fynetheme "fyne.io/fyne/v2/theme"
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
	link := NewLink(fynetheme.FolderIcon(), longName, nil)
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
