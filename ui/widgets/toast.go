package widgets

import (
	"time"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// maxToasts is how many are shown at once; the oldest goes first.
const maxToasts = 3

// toastWidth is how wide a toast is.
const toastWidth = 360

// Toasts are short sentences in the lower right corner that go away by themselves. They never take the focus, and what
// is below them can be used. Lay them over the content they belong to.
type Toasts struct {
	widget.BaseWidget
	later func(d time.Duration, over func())
	box   *fyne.Container
	shown []*toast // oldest first
}

type toast struct {
	text   string
	object fyne.CanvasObject
}

// NewToasts returns no toasts yet. later calls over on the window's goroutine when d has passed.
func NewToasts(later func(d time.Duration, over func())) *Toasts {
	t := &Toasts{later: later, box: container.New(&corner{})}
	t.ExtendBaseWidget(t)
	return t
}

// CreateRenderer is Fyne's.
func (t *Toasts) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(t.box) }

// Say shows a sentence, for as long as it takes to read. One that is shown already is not shown twice.
func (t *Toasts) Say(text string) {
	t.drop(func(x *toast) bool { return x.text == text })
	label := widget.NewLabel(text)
	label.Wrapping = fyne.TextWrapWord
	x := &toast{text: text}
	end := NewButtonWithIcon("", fynetheme.CancelIcon(), func() { t.end(x) })
	end.Importance = widget.LowImportance
	back := NewBack(theme.Calm)
	back.outline = theme.Line
	x.object = container.NewStack(back, PadHV(8, 2, Across(nil, label, end)))
	t.shown = append(t.shown, x)
	if len(t.shown) > maxToasts {
		t.shown = t.shown[1:]
	}
	t.draw()
	t.later(readingTime(text), func() { t.end(x) })
}

// readingTime is four seconds to notice, and what a slow reader needs.
func readingTime(text string) time.Duration {
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
	kept := t.shown[:0:0]
	for _, x := range t.shown {
		if !unwanted(x) {
			kept = append(kept, x)
		}
	}
	if len(kept) != len(t.shown) {
		t.shown = kept
		t.draw()
	}
}

func (t *Toasts) draw() {
	objects := make([]fyne.CanvasObject, len(t.shown))
	for i, x := range t.shown {
		objects[i] = x.object
	}
	Remake(t.box, objects...)
}

// corner stacks what it holds in the lower right corner, the last one lowest.
type corner struct{}

func (*corner) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	const margin = 16
	width, bottom := min(toastWidth, size.Width-2*margin), size.Height-margin
	for i := len(objects) - 1; i >= 0; i-- {
		o := objects[i]
		o.Resize(fyne.NewSize(width, o.Size().Height)) // so that text in it wraps before it is measured
		height := o.MinSize().Height
		o.Resize(fyne.NewSize(width, height))
		bottom -= height
		o.Move(fyne.NewPos(size.Width-width-margin, bottom))
		bottom -= 8
	}
}

func (*corner) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.Size{} }
