package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
)

// renderer draws a widget by functions.
type renderer struct {
	objects []fyne.CanvasObject // the lowest first
	layout  func(fyne.Size)
	least   func() fyne.Size
	paint   func() // takes over what has changed: texts, colours of the theme
}

// painted is a renderer whose objects have their colours already.
func painted(r *renderer) *renderer {
	r.paint()
	return r
}

// movable is a renderer that also lays out anew when something has changed: not yet while it is made, as where it lies in the
// window is found by the renderers there are.
func movable(r *renderer, of fyne.Widget) *renderer {
	paint := painted(r).paint
	r.paint = func() {
		paint()
		r.layout(of.Size())
		canvas.Refresh(of)
	}
	return r
}

func (r *renderer) Layout(size fyne.Size)        { r.layout(size) }
func (r *renderer) MinSize() fyne.Size           { return r.least() }
func (r *renderer) Objects() []fyne.CanvasObject { return r.objects }
func (r *renderer) Destroy()                     {}
func (r *renderer) Refresh() {
	r.paint()
	for _, o := range r.objects {
		o.Refresh()
	}
}

// none is the least size of what takes the room it is given.
func none() fyne.Size { return fyne.Size{} }
