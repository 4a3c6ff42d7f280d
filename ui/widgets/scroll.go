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
	w.scroll.Content = container.New(grows{w.scroll}, content, w)
	return w.scroll
}

// grows lays out the content of a scroll as high as it turns out to be: a wrapped text knows its height only once it has its width,
// which is after the scroll has asked for it.
type grows struct{ scroll *container.Scroll }

func (g grows) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for i, o := range objects {
		o.Move(fyne.NewPos(float32(i), 0)) // the wheel is never in the corner of the window, where all that is not shown seems to be
		o.Resize(size)
	}
	if least := objects[0].MinSize().Height; least > size.Height {
		g.scroll.Content.Resize(fyne.NewSize(size.Width, least))
	}
}

func (grows) MinSize(objects []fyne.CanvasObject) fyne.Size { return objects[0].MinSize() }

// Turn shows other content in what NewVScroll returned, scrolled to an offset as far as there is so much of it. With a new
// scroll for each page, those that are gone would be asked for what has the focus until Fyne forgets them, a minute later.
func Turn(scroll *container.Scroll, content fyne.CanvasObject, offset fyne.Position) {
	wheel := scroll.Content.(*fyne.Container).Objects[1]
	scroll.Content = container.New(grows{scroll}, content, wheel)
	scroll.Refresh()
	scroll.ScrollToOffset(offset)
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

func (w *wheel) CreateRenderer() fyne.WidgetRenderer { return newUnseen(w) }

// unseen draws nothing of a wheel or a lens, which is among drawn meanwhile.
type unseen struct {
	fyne.WidgetRenderer
	of fyne.Widget
}

func newUnseen(of fyne.Widget) *unseen {
	drawn.Store(of, true)
	return &unseen{widget.NewSimpleRenderer(canvas.NewRectangle(color.Transparent)), of}
}

func (r *unseen) Destroy() {
	drawn.Delete(r.of)
	r.WidgetRenderer.Destroy()
}

// drawn are the wheels and lenses that Fyne draws, as it knows no way from an object to the scroll around it.
var drawn sync.Map

// reveal scrolls to what has got the focus, so that Tab never leads out of sight.
func reveal(o fyne.CanvasObject) {
	showsFocus(o) // and nothing else is quiet any more
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
		if l, is := key.(*lens); is && driver.CanvasForObject(l) == window && window.Overlays().Top() == l.over {
			l.reveal(driver.AbsolutePositionForObject(o), o.Size())
		}
		return true
	})
}

// reveal scrolls to what is at a place of the window, if that belongs to the content.
func (w *wheel) reveal(at fyne.Position, size fyne.Size) {
	edge := fyne.CurrentApp().Driver().AbsolutePositionForObject(w.scroll)
	if fyne.CurrentApp().Driver().AbsolutePositionForObject(w).X == 0 { // as that of everything on a screen that is not shown
		return
	}
	left, top := at.X-edge.X, at.Y-edge.Y+w.scroll.Offset.Y
	if left < 0 || left >= w.scroll.Size().Width || top < 0 || top >= w.Size().Height {
		return
	}
	if to := inSight(at.Y-edge.Y, size.Height, w.scroll.Offset.Y, w.scroll.Size().Height); to != w.scroll.Offset.Y {
		w.scroll.ScrollToOffset(fyne.NewPos(0, to))
	}
}

// inSight is the offset at which what begins at from, seen from where the scroll begins, and is so long, is in sight with some
// room around it: offset itself, if it is already.
func inSight(from, length, offset, seen float32) float32 {
	const room = 12
	switch {
	case from-room < 0, length+2*room > seen:
		return max(0, offset+from-room)
	case from+length+room > seen:
		return offset + from + length + room - seen
	}
	return offset
}

// Roomy is content that never has less room than it needs: where the window is smaller, it moves below the window, by its
// bars, by the wheel beside what scrolls itself, and with the focus. So large text loses nothing.
func Roomy(content fyne.CanvasObject) fyne.CanvasObject { return newLens(content, nil) }

// lens lies below content that moves in both directions, unseen, and brings what has got the focus into sight.
type lens struct {
	widget.BaseWidget
	scroll *container.Scroll
	over   fyne.CanvasObject // the pop-up that it lies in; nil for the window itself
}

// newLens has content move in both directions where there is too little room for it.
func newLens(content, over fyne.CanvasObject) *container.Scroll {
	l := &lens{scroll: container.NewScroll(nil), over: over}
	l.ExtendBaseWidget(l)
	l.scroll.Content = container.NewStack(l, content)
	return l.scroll
}

func (l *lens) CreateRenderer() fyne.WidgetRenderer { return newUnseen(l) }

// reveal moves the content until what is at a place of the window is in sight.
func (l *lens) reveal(at fyne.Position, size fyne.Size) {
	edge := fyne.CurrentApp().Driver().AbsolutePositionForObject(l.scroll)
	to := fyne.NewPos(inSight(at.X-edge.X, size.Width, l.scroll.Offset.X, l.scroll.Size().Width),
		inSight(at.Y-edge.Y, size.Height, l.scroll.Offset.Y, l.scroll.Size().Height))
	if to != l.scroll.Offset {
		l.scroll.ScrollToOffset(to)
	}
}
