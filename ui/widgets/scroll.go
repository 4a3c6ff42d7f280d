package widgets

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"
)

// NewVScroll returns content that scrolls up and down, wherever the pointer is: over a field, too, which would keep the
// wheel to itself though it has nothing to scroll.
func NewVScroll(content fyne.CanvasObject) *container.Scroll {
	w := &wheel{scroll: container.NewVScroll(nil)}
	w.ExtendBaseWidget(w)
	w.scroll.Content = container.NewStack(content, w)
	return w.scroll
}

// wheel lies over the content, unseen. Fyne gives the wheel to what lies uppermost and can be scrolled; everything else
// goes through to the content, as the wheel is all it knows.
type wheel struct {
	widget.BaseWidget
	scroll *container.Scroll
}

// Scrolled is Fyne's.
func (w *wheel) Scrolled(e *fyne.ScrollEvent) { w.scroll.Scrolled(e) }

// CreateRenderer is Fyne's.
func (w *wheel) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(canvas.NewRectangle(color.Transparent))
}
