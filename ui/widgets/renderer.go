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

// renderer draws a widget by means of functions.
type renderer struct {
	objects []fyne.CanvasObject // from bottom to top
	layout  func(fyne.Size)
	least   func() fyne.Size
	paint   func() // applies changes: texts, theme colours
}

// painted returns a renderer after its first paint.
func painted(r *renderer) *renderer {
	r.paint()
	return r
}

// movable returns a renderer that also redoes its layout on every later paint. It must not do so while it is being made, because
// finding a widget's position in the window goes through the existing renderers.
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

// none is the minimum size of a widget that takes whatever space it gets.
func none() fyne.Size { return fyne.Size{} }

// stroke draws the outline of an empty rectangle. OpenGL blends an outline's edge with the fill; a fully transparent fill counts as
// black and gives the line a grey fringe. So the fill is the line's own colour, too faint to be seen.
func stroke(r *canvas.Rectangle, line color.Color, width float32) {
	fill := color.NRGBAModel.Convert(line).(color.NRGBA)
	fill.A = min(fill.A, 1)
	r.FillColor, r.StrokeColor, r.StrokeWidth = fill, line, width
}

// edge draws a thin outline around a filled rectangle, or none if it would be invisible: OpenGL would blend an invisible one with
// the fill into a grey line.
func edge(r *canvas.Rectangle, line color.Color) {
	r.StrokeColor, r.StrokeWidth = line, 1
	if line == nil || color.NRGBAModel.Convert(line).(color.NRGBA).A == 0 { // Fyne's own themes lack our edge colours
		r.StrokeWidth = 0
	}
}

// ringed draws a focus ring: a line in ink with one in paper colour inside, so that one of them contrasts with any background, be it
// a page or a dark button.
type ringed struct {
	fyne.WidgetRenderer
	of           themed
	focused      func() bool
	wrong        func() bool         // nil if it cannot be wrong
	top          func() float32      // the space above that the ring leaves out; nil for none
	inset        float32             // the space left out at the sides
	most         atMost              // its greatest width; 0 for the widget's
	edge         fyne.ThemeColorName // the border without the focus; empty if the widget has its own
	line         func()              // hides the scroll bar of one line of text, which a margin keeps off the border; nil for anything else
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

// draw shows or hides the ring. A wrong input keeps the outer line without the focus, in the seal's colour.
func (r *ringed) draw() {
	th := r.of.Theme()
	outer, width, inner := r.edge, th.Size(fynetheme.SizeNameInputBorder), fyne.ThemeColorName("")
	if r.focused() {
		outer, width, inner = theme.Ink, ringWidth, theme.Paper
	}
	margin := float32(ringWidth)
	if r.line != nil {
		inner, margin = fynetheme.ColorNameInputBackground, th.Size(fynetheme.SizeNameInnerPadding)-1
	}
	if r.wrong != nil && r.wrong() {
		outer, width = theme.Attention, ringWidth
	}
	line := func(part *canvas.Rectangle, name fyne.ThemeColorName, width float32) {
		colour := th.Color(name, fyne.CurrentApp().Settings().ThemeVariant())
		if name == "" || colour == nil { // Fyne's own themes lack our edge colours
			colour, width = color.Transparent, 0
		}
		stroke(part, colour, width)
		part.Refresh()
	}
	radius := th.Size(fynetheme.SizeNameButtonRadius)
	r.outer.CornerRadius, r.inner.CornerRadius = radius, radius-ringWidth
	line(r.outer, outer, width)
	line(r.inner, inner, margin)
}

func (r *ringed) Layout(size fyne.Size) {
	if r.WidgetRenderer.Layout(size); r.line != nil {
		r.line()
	}
	r.layOut(size)
}

func (r *ringed) layOut(size fyne.Size) {
	top := float32(0)
	if r.top != nil {
		top = r.top()
	}
	left := r.most.left(size)
	size.Width = r.most.width(size)
	place(r.outer, left+r.inset, top, size.Width-2*r.inset, size.Height-top)
	inside := r.inset + ringWidth
	if r.line != nil {
		inside = r.of.Theme().Size(fynetheme.SizeNameInputBorder)
	}
	place(r.inner, left+inside, top+inside-r.inset, max(0, size.Width-2*inside), max(0, size.Height-top-2*(inside-r.inset)))
}

func (r *ringed) Refresh() {
	r.draw()
	r.WidgetRenderer.Refresh()
	r.layOut(r.of.Size())
}

func (r *ringed) Objects() []fyne.CanvasObject {
	return append(slices.Clip(r.WidgetRenderer.Objects()), r.inner, r.outer)
}

// FirstIn returns the first enabled focusable widget in an object, or nil.
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

// FocusedIn returns the row id and index of the focused button, or "" for none.
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

// pass hands a key that a widget does not use to the window, as if no widget had the focus.
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
