package widgets

import (
	"image/color"
	"math"
	"slices"
	"sync"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"
)

// NewVScroll returns vertically scrolling content that gets the mouse wheel everywhere. Fyne's fields swallow the wheel even if they
// have nothing to scroll.
func NewVScroll(content fyne.CanvasObject) *container.Scroll {
	w := &wheel{scroll: container.NewVScroll(nil)}
	w.ExtendBaseWidget(w)
	w.scroll.Content = container.New(grows{w.scroll}, content, w)
	return w.scroll
}

// grows makes the content of a scroll as high as it turns out to be: wrapped text knows its height only with its width, which is set
// after the scroll has asked for the height.
type grows struct{ scroll *container.Scroll }

func (g grows) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for i, o := range objects {
		o.Move(fyne.NewPos(float32(i), 0)) // keeps the wheel away from (0, 0), the position of everything invisible
		o.Resize(size)
	}
	if least := objects[0].MinSize().Height; least > size.Height {
		g.scroll.Content.Resize(fyne.NewSize(size.Width, least))
	}
}

func (grows) MinSize(objects []fyne.CanvasObject) fyne.Size { return objects[0].MinSize() }

// Turn replaces the content of what NewVScroll returned and scrolls to offset, as far as possible. It reuses the scroll, because
// Fyne keeps a discarded one for a minute, and it would react to every focus change until then. What had the focus gives it to what
// is called the same now.
func Turn(scroll *container.Scroll, content fyne.CanvasObject, offset fyne.Position) {
	before, wheel := scroll.Content.(*fyne.Container).Objects[0], scroll.Content.(*fyne.Container).Objects[1]
	scroll.Content = container.New(grows{scroll}, content, wheel)
	scroll.Refresh()
	scroll.ScrollToOffset(offset)
	if window := fyne.CurrentApp().Driver().CanvasForObject(scroll); window != nil && window.Focused() != nil {
		if heir := heirOf(window.Focused(), focusables(before), focusables(content)); heir != nil {
			giveBack(func() { Focus(window, heir) })
		}
	}
}

// heirOf returns the one of now that is called as focused, which is one of before: the same of several; nil for none.
func heirOf(focused fyne.Focusable, before, now []fyne.Focusable) fyne.Focusable {
	at := slices.Index(before, focused)
	if at < 0 {
		return nil
	}
	name := func(f fyne.Focusable) string {
		if a, is := f.(fyne.Accessible); is {
			return a.AccessibilityLabel()
		}
		return ""
	}
	left := 0
	for _, f := range before[:at] {
		if name(f) == name(focused) {
			left++
		}
	}
	for _, f := range now {
		if name(f) == name(focused) {
			if left == 0 {
				return f
			}
			left--
		}
	}
	return nil
}

// focusables returns what can have the focus in an object.
func focusables(o fyne.CanvasObject) (list []fyne.Focusable) {
	if !o.Visible() {
		return nil
	}
	switch o := o.(type) {
	case fyne.Focusable:
		return []fyne.Focusable{o}
	case *container.Scroll:
		return focusables(o.Content)
	case *fyne.Container:
		for _, part := range o.Objects {
			list = append(list, focusables(part)...)
		}
	}
	return list
}

// wheel is an invisible layer over the content that receives the mouse wheel and lets everything else through.
type wheel struct {
	widget.BaseWidget
	scroll *container.Scroll
}

// Scrolled scrolls the entry under the mouse while it has more text in that direction, otherwise the content.
func (w *wheel) Scrolled(e *fyne.ScrollEvent) {
	pointAway(w) // the tooltip's object moves away
	if under != nil && under.scrolls(e.Scrolled.DY) {
		under.inner.Scrolled(e)
		return
	}
	w.scroll.Scrolled(e)
}

// under is the entry under the mouse; nil for none. Only the UI goroutine uses it.
var under *Entry

// scrolls reports whether the entry is visible and has more text above, or below for a negative by.
func (e *Entry) scrolls(by float32) bool {
	if e.inner == nil || fyne.CurrentApp().Driver().AbsolutePositionForObject(e.inner).IsZero() {
		return false
	}
	above := e.inner.Offset.Y
	return by > 0 && above > 0 || by < 0 && above+e.inner.Size().Height < e.inner.Content.MinSize().Height
}

func (w *wheel) CreateRenderer() fyne.WidgetRenderer { return newUnseen(w) }

// unseen draws nothing for a wheel or lens, and keeps it in drawn as long as it exists.
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

// drawn holds the wheels and lenses that Fyne draws: Fyne cannot find the scroll around an object.
var drawn sync.Map

// reveal scrolls to the newly focused widget, so that Tab never leads out of sight.
func reveal(o fyne.CanvasObject) {
	showsFocus(o) // ends the quiet focus of anything else
	if !returning {
		ScrollTo(o)
	}
}

// giveBack lets the focus return to where it was, which scrolls nothing.
func giveBack(focus func()) {
	returning = true
	focus()
	returning = false
}

// returning reports that giveBack is under way. Only the UI goroutine uses it.
var returning bool

// ScrollTo scrolls until an object is seen, or its beginning if not all of it fits.
func ScrollTo(o fyne.CanvasObject) { scrollTo(o, math.MaxFloat32) }

// scrollTo scrolls until the beginning of an object, as high as most, is seen.
func scrollTo(o fyne.CanvasObject, most float32) {
	driver := fyne.CurrentApp().Driver()
	window := driver.CanvasForObject(o)
	if window == nil {
		return
	}
	size := func() fyne.Size { // it may have grown
		return fyne.NewSize(o.Size().Width, min(max(o.Size().Height, o.MinSize().Height), most))
	}
	drawn.Range(func(key, _ any) bool { // everything on a hidden screen is at (0, 0)
		if w, is := key.(*wheel); is && driver.CanvasForObject(w) == window && driver.AbsolutePositionForObject(w).X != 0 {
			settle(w.scroll)
			w.reveal(driver.AbsolutePositionForObject(o), size())
		}
		return true
	})
	drawn.Range(func(key, _ any) bool { // they enclose the wheels, so they come second
		if l, is := key.(*lens); is && driver.CanvasForObject(l) == window && window.Overlays().Top() == l.over {
			settle(l.scroll)
			l.reveal(driver.AbsolutePositionForObject(o), size())
		}
		return true
	})
}

// settle gives what has grown in a scroll its place now. Fyne does so with the next picture, and until then scrolls no further than
// before.
func settle(s *container.Scroll) {
	if least, size := s.Content.MinSize(), s.Content.Size(); least.Height > size.Height {
		s.Content.Resize(size.Max(least))
		s.Refresh()
	}
}

// reveal scrolls to a position in the window if it belongs to the content.
func (w *wheel) reveal(at fyne.Position, size fyne.Size) {
	edge := fyne.CurrentApp().Driver().AbsolutePositionForObject(w.scroll)
	left, top := at.X-edge.X, at.Y-edge.Y+w.scroll.Offset.Y
	if left < 0 || left >= w.scroll.Size().Width || top < 0 || top >= w.Size().Height {
		return
	}
	if to := inSight(at.Y-edge.Y, size.Height, w.scroll.Offset.Y, w.scroll.Size().Height); to != w.scroll.Offset.Y {
		w.scroll.ScrollToOffset(fyne.NewPos(0, to))
	}
}

// inSight returns the scroll offset that shows, with some margin, what lies at from with a length: the present offset if it is
// visible already.
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

// Roomy returns content that never gets less than its minimum size: in a smaller window it scrolls by scroll bars, mouse wheel and
// focus, so that large text stays reachable.
func Roomy(content fyne.CanvasObject) fyne.CanvasObject { return newLens(content, nil) }

// lens is an invisible layer below content that scrolls in both directions; it scrolls to the newly focused widget.
type lens struct {
	widget.BaseWidget
	scroll *container.Scroll
	over   fyne.CanvasObject // the enclosing pop-up; nil for the window itself
}

// newLens makes content scroll in both directions when there is too little space.
func newLens(content, over fyne.CanvasObject) *container.Scroll {
	l := &lens{scroll: container.NewScroll(nil), over: over}
	l.ExtendBaseWidget(l)
	l.scroll.Content = container.NewStack(l, content)
	return l.scroll
}

func (l *lens) CreateRenderer() fyne.WidgetRenderer { return newUnseen(l) }

// reveal scrolls until a position in the window is visible.
func (l *lens) reveal(at fyne.Position, size fyne.Size) {
	edge := fyne.CurrentApp().Driver().AbsolutePositionForObject(l.scroll)
	to := fyne.NewPos(inSight(at.X-edge.X, size.Width, l.scroll.Offset.X, l.scroll.Size().Width),
		inSight(at.Y-edge.Y, size.Height, l.scroll.Offset.Y, l.scroll.Size().Height))
	if to != l.scroll.Offset {
		l.scroll.ScrollToOffset(to)
	}
}
