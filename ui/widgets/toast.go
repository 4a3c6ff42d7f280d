package widgets

import (
	"slices"
	"time"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// maxToasts is how many are shown at once; the oldest goes first.
const maxToasts = 3

// Toasts are short sentences that go away by themselves and never take the focus. They fill a room of their own from
// below; of those that do not fit into it the oldest are not shown. The least room is that of the newest.
type Toasts struct {
	widget.BaseWidget
	Changed func() // called when one came or went, for whoever lays them out; may be nil
	later   func(d time.Duration, over func())
	box     *fyne.Container
	shown   []*toast // oldest first
}

type toast struct {
	text   string
	object fyne.CanvasObject
}

// NewToasts returns no toasts yet. later calls over on the window's goroutine when d has passed.
func NewToasts(later func(d time.Duration, over func())) *Toasts {
	t := &Toasts{later: later, box: container.New(&rising{})}
	t.ExtendBaseWidget(t)
	return t
}

func (t *Toasts) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(t.box) }

// Say shows a sentence, for as long as it takes to read. One that is shown already is not shown twice.
func (t *Toasts) Say(text string) {
	t.drop(func(x *toast) bool { return x.text == text })
	line := NewProse(text)
	line.Colour = theme.Text
	x := &toast{text: text}
	cross := container.NewGridWrap(fyne.NewSquareSize(16), widget.NewIcon(fynetheme.CancelIcon()))
	end := NewTappable(Pad(2, cross), func() { t.end(x) })
	end.Says = func() string { return lang.L("Close") + ": " + text }
	back := NewBack(theme.Calm)
	back.outline = theme.Line
	x.object = container.NewStack(back, PadHV(8, 6, Across(nil, line, end)))
	t.shown = append(t.shown, x)
	if len(t.shown) > maxToasts {
		t.shown = t.shown[1:]
	}
	t.draw()
	t.later(ReadingTime(text), func() { t.end(x) })
}

// ReadingTime is four seconds to notice, and what a slow reader needs.
func ReadingTime(text string) time.Duration {
	return min(4*time.Second+time.Duration(utf8.RuneCountInString(text))*60*time.Millisecond, 14*time.Second)
}

// Text is the newest sentence that is shown, empty when there is none.
func (t *Toasts) Text() string {
	if len(t.shown) == 0 {
		return ""
	}
	return t.shown[len(t.shown)-1].text
}

func (t *Toasts) end(gone *toast) { t.drop(func(x *toast) bool { return x == gone }) }

func (t *Toasts) drop(unwanted func(*toast) bool) {
	before := len(t.shown)
	if t.shown = slices.DeleteFunc(t.shown, unwanted); len(t.shown) != before {
		t.draw()
	}
}

func (t *Toasts) draw() {
	objects := make([]fyne.CanvasObject, len(t.shown))
	for i, x := range t.shown {
		objects[i] = x.object
	}
	Remake(t.box, objects...)
	if t.Changed != nil {
		t.Changed()
	}
}

// rising puts its objects above each other, the last one lowest, as far as they fit.
type rising struct{}

func (r *rising) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	bottom := size.Height
	for i := len(objects) - 1; i >= 0; i-- {
		o := objects[i]
		o.Resize(fyne.NewSize(size.Width, o.Size().Height)) // so that text in it wraps before it is measured
		height := o.MinSize().Height
		o.Resize(fyne.NewSize(size.Width, height))
		bottom -= height
		o.Move(fyne.NewPos(0, bottom))
		if fits := bottom >= 0; fits != o.Visible() {
			Show(o, fits)
		}
		bottom -= gap
	}
}

func (r *rising) MinSize(objects []fyne.CanvasObject) fyne.Size {
	if len(objects) == 0 {
		return fyne.Size{}
	}
	return objects[len(objects)-1].MinSize()
}
