package widgets

import (
	"image/color"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	fynetheme "fyne.io/fyne/v2/theme"

	"countersign/ui/theme"
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

// stroke draws the outline of a rectangle that is empty. OpenGL blends the edge of an outline with what fills it, and where
// that is fully transparent, which is black to it, the line gets a grey fringe. So the fill is the line's own colour, too
// thin to be seen.
func stroke(r *canvas.Rectangle, line color.Color, width float32) {
	fill := color.NRGBAModel.Convert(line).(color.NRGBA)
	fill.A = min(fill.A, 1)
	r.FillColor, r.StrokeColor, r.StrokeWidth = fill, line, width
}

// edge draws a fine outline around a rectangle that has a fill, or none where the line cannot be seen: OpenGL would blend it
// with the fill to a grey one.
func edge(r *canvas.Rectangle, line color.Color) {
	r.StrokeColor, r.StrokeWidth = line, 1
	if line == nil || color.NRGBAModel.Convert(line).(color.NRGBA).A == 0 { // Fyne's own themes know no edges of ours
		r.StrokeWidth = 0
	}
}

// ringed is a renderer with a ring around what it draws while that has the focus: a line of ink, and within it one of paper, so
// that one of the two stands out against whatever they are on, be it a page or a button of ink.
type ringed struct {
	fyne.WidgetRenderer
	of           themed
	focused      func() bool
	wrong        func() bool         // nil for what cannot be
	top          func() float32      // how much above it is not part of it; nil for nothing
	inset        float32             // how much at its sides is not
	edge         fyne.ThemeColorName // a fine one without the focus, for what has none of its own; empty for none
	outer, inner *canvas.Rectangle
}

type themed interface {
	fyne.Widget
	Theme() fyne.Theme
}

const ringWidth = 2

func newRinged(r fyne.WidgetRenderer, of themed, focused func() bool) *ringed {
	x := &ringed{WidgetRenderer: r, of: of, focused: focused, outer: canvas.NewRectangle(color.Transparent), inner: canvas.NewRectangle(color.Transparent)}
	x.draw()
	return x
}

// draw draws the ring, or takes it away. What is wrong has its outer line also without the focus, in the colour of the seal.
func (r *ringed) draw() {
	th := r.of.Theme()
	outer, width, inner := r.edge, th.Size(fynetheme.SizeNameInputBorder), fyne.ThemeColorName("")
	if r.focused() {
		outer, width, inner = theme.Ink, ringWidth, theme.Paper
	}
	if r.wrong != nil && r.wrong() {
		outer, width = theme.Attention, ringWidth
	}
	line := func(part *canvas.Rectangle, name fyne.ThemeColorName, width float32) {
		colour := th.Color(name, fyne.CurrentApp().Settings().ThemeVariant())
		if name == "" || colour == nil { // Fyne's own themes know no edges of ours
			colour, width = color.Transparent, 0
		}
		stroke(part, colour, width)
		part.Refresh()
	}
	radius := th.Size(fynetheme.SizeNameButtonRadius)
	r.outer.CornerRadius, r.inner.CornerRadius = radius, radius-ringWidth
	line(r.outer, outer, width)
	line(r.inner, inner, ringWidth)
}

func (r *ringed) Layout(size fyne.Size) {
	r.WidgetRenderer.Layout(size)
	r.layOut(size)
}

func (r *ringed) layOut(size fyne.Size) {
	top := float32(0)
	if r.top != nil {
		top = r.top()
	}
	place(r.outer, r.inset, top, size.Width-2*r.inset, size.Height-top)
	place(r.inner, r.inset+ringWidth, top+ringWidth, max(0, size.Width-2*(r.inset+ringWidth)), max(0, size.Height-top-2*ringWidth))
}

func (r *ringed) Refresh() {
	r.draw()
	r.WidgetRenderer.Refresh()
	r.layOut(r.of.Size())
}

func (r *ringed) Objects() []fyne.CanvasObject {
	return append(slices.Clip(r.WidgetRenderer.Objects()), r.outer, r.inner)
}

// FirstIn is the first thing in an object that takes the focus and can be used; nil where there is none.
func FirstIn(o fyne.CanvasObject) fyne.Focusable {
	if !o.Visible() {
		return nil
	}
	var parts []fyne.CanvasObject
	switch o := o.(type) {
	case *fyne.Container:
		parts = o.Objects
	case *container.Scroll:
		parts = []fyne.CanvasObject{o.Content}
	case fyne.Focusable:
		if d, can := o.(fyne.Disableable); !can || !d.Disabled() {
			return o
		}
	}
	for _, part := range parts {
		if first := FirstIn(part); first != nil {
			return first
		}
	}
	return nil
}

// FocusedIn is the row, by its id, in which a button has the focus, and which one; "" for none.
func FocusedIn[T fyne.CanvasObject](window fyne.Canvas, rows map[string][]T) (id string, at int) {
	focused := window.Focused()
	for id, row := range rows {
		for at, button := range row {
			if focused != nil && any(button) == any(focused) {
				return id, at
			}
		}
	}
	return "", 0
}

// pass hands a key that a widget has no use for to the window, as it gets those that no widget has the focus for.
func pass(from fyne.CanvasObject, e *fyne.KeyEvent) {
	window := fyne.CurrentApp().Driver().CanvasForObject(from)
	if window == nil {
		return
	}
	if typed := window.OnTypedKey(); typed != nil {
		typed(e)
	}
}

// PassShortcut hands a shortcut to the window in the same way.
func PassShortcut(from fyne.CanvasObject, shortcut fyne.Shortcut) {
	if window, ok := fyne.CurrentApp().Driver().CanvasForObject(from).(fyne.Shortcutable); ok {
		window.TypedShortcut(shortcut)
	}
}

func isEnter(e *fyne.KeyEvent) bool { return e.Name == fyne.KeyReturn || e.Name == fyne.KeyEnter }
