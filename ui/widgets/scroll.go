package widgets

import (
	"image/color"
	"sync"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"
)

// NewVScroll returns content that scrolls up and down, wherever the mouse is. Fyne's fields keep the wheel to themselves
// even where they have nothing to scroll.
func NewVScroll(content fyne.CanvasObject) *container.Scroll {
	w := &wheel{scroll: container.NewVScroll(nil)}
	w.ExtendBaseWidget(w)
	w.scroll.Content = container.NewStack(content, w)
	return w.scroll
}

// wheel lies over the content, unseen, and takes the turns of the mouse wheel. Everything else goes through to the content.
type wheel struct {
	widget.BaseWidget
	scroll *container.Scroll
}

// Scrolled scrolls the field that the mouse is on, while there is more of its text that way, else the content.
func (w *wheel) Scrolled(e *fyne.ScrollEvent) {
	pointAway(w) // what it was about moves on
	if under != nil && under.scrolls(e.Scrolled.DY) {
		under.inner.Scrolled(e)
		return
	}
	w.scroll.Scrolled(e)
}

// under is the entry that the mouse is on; nil for none. It belongs to the window's goroutine.
var under *Entry

// scrolls tells whether the entry is shown, and there is more of its text upwards, or downwards for a negative by.
func (e *Entry) scrolls(by float32) bool {
	if e.inner == nil || fyne.CurrentApp().Driver().AbsolutePositionForObject(e.inner).IsZero() {
		return false
	}
	above := e.inner.Offset.Y
	return by > 0 && above > 0 || by < 0 && above+e.inner.Size().Height < e.inner.Content.MinSize().Height
}

// CreateRenderer is Fyne's.
func (w *wheel) CreateRenderer() fyne.WidgetRenderer {
	drawn.Store(w, true)
	return &wheelRenderer{widget.NewSimpleRenderer(canvas.NewRectangle(color.Transparent)), w}
}

type wheelRenderer struct {
	fyne.WidgetRenderer
	wheel *wheel
}

func (r *wheelRenderer) Destroy() {
	drawn.Delete(r.wheel)
	r.WidgetRenderer.Destroy()
}

// drawn are the wheels and lenses that Fyne draws, as it knows no way from an object to the scroll around it.
var drawn sync.Map

// reveal scrolls to what has got the focus, so that Tab never leads out of sight.
func reveal(o fyne.CanvasObject) {
	driver := fyne.CurrentApp().Driver()
	window := driver.CanvasForObject(o)
	if window == nil {
		return
	}
	drawn.Range(func(key, _ any) bool {
		if w, is := key.(*wheel); is && driver.CanvasForObject(w) == window {
			w.reveal(driver.AbsolutePositionForObject(o), o.Size())
		}
		return true
	})
	drawn.Range(func(key, _ any) bool { // around those, so after them
		if l, is := key.(*lens); is && driver.CanvasForObject(l) == window && window.Overlays().Top() == nil {
			l.reveal(driver.AbsolutePositionForObject(o), o.Size())
		}
		return true
	})
}

// reveal scrolls to what is at a place of the window, if that belongs to the content.
func (w *wheel) reveal(at fyne.Position, size fyne.Size) {
	const room = 12
	edge := fyne.CurrentApp().Driver().AbsolutePositionForObject(w.scroll)
	if edge.IsZero() { // as that of everything on a screen that is not shown
		return
	}
	left, top := at.X-edge.X, at.Y-edge.Y+w.scroll.Offset.Y
	if left < 0 || left >= w.scroll.Size().Width || top < 0 || top >= w.Size().Height {
		return
	}
	high := w.scroll.Size().Height
	switch {
	case top-room < w.scroll.Offset.Y, size.Height+2*room > high:
		w.scroll.ScrollToOffset(fyne.NewPos(0, max(0, top-room)))
	case top+size.Height+room > w.scroll.Offset.Y+high:
		w.scroll.ScrollToOffset(fyne.NewPos(0, top+size.Height+room-high))
	}
}
