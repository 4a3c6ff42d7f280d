package widgets

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	fynetheme "fyne.io/fyne/v2/theme"

	"countersign/ui/theme"
)

// ring marks what has the focus: a line of ink, and within it one of paper, so that one of the two stands out against
// whatever they are on, be it a page or a button of ink.
type ring struct{ outer, inner *canvas.Rectangle }

const ringWidth = 2

func newRing() *ring {
	return &ring{outer: canvas.NewRectangle(color.Transparent), inner: canvas.NewRectangle(color.Transparent)}
}

func (r *ring) objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.outer, r.inner} }

func (r *ring) layout(size fyne.Size) {
	r.outer.Move(fyne.NewPos(0, 0))
	r.outer.Resize(size)
	r.inner.Move(fyne.NewPos(ringWidth, ringWidth))
	r.inner.Resize(fyne.NewSize(max(0, size.Width-2*ringWidth), max(0, size.Height-2*ringWidth)))
}

// edge draws a fine edge in place of the ring, for what has none of its own.
func (r *ring) edge(th fyne.Theme, colour fyne.ThemeColorName) {
	line := th.Color(colour, fyne.CurrentApp().Settings().ThemeVariant())
	if line == nil { // Fyne's own themes know no edges of ours
		return
	}
	stroke(r.outer, line, th.Size(fynetheme.SizeNameInputBorder))
	r.outer.Refresh()
}

// show draws the ring, or takes it away. What is wrong has its outer line also without the focus, in the colour of the seal.
func (r *ring) show(th fyne.Theme, focused, wrong bool) {
	variant := fyne.CurrentApp().Settings().ThemeVariant()
	radius := th.Size(fynetheme.SizeNameButtonRadius)
	outer := theme.Ink
	if wrong {
		outer = theme.Attention
	}
	for part, colour := range map[*canvas.Rectangle]fyne.ThemeColorName{r.outer: outer, r.inner: theme.Paper} {
		if focused || wrong && part == r.outer {
			stroke(part, th.Color(colour, variant), ringWidth)
		} else {
			stroke(part, color.Transparent, 0)
		}
	}
	r.outer.CornerRadius, r.inner.CornerRadius = radius, radius-ringWidth
	r.outer.Refresh()
	r.inner.Refresh()
}

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

// ringed is one of Fyne's renderers with a ring around what it draws.
type ringed struct {
	fyne.WidgetRenderer
	of      fyne.Widget
	theme   func() fyne.Theme
	focused func() bool
	wrong   func() bool         // nil for what cannot be
	edge    fyne.ThemeColorName // a fine one without the focus; empty for none
	ring    *ring
}

func newRinged(r fyne.WidgetRenderer, of fyne.Widget, th func() fyne.Theme, focused func() bool) *ringed {
	x := &ringed{WidgetRenderer: r, of: of, theme: th, focused: focused, ring: newRing()}
	x.draw()
	return x
}

func (r *ringed) draw() {
	wrong := r.wrong != nil && r.wrong()
	r.ring.show(r.theme(), r.focused(), wrong)
	if r.edge != "" && !r.focused() && !wrong {
		r.ring.edge(r.theme(), r.edge)
	}
}

func (r *ringed) Layout(size fyne.Size) {
	r.WidgetRenderer.Layout(size)
	r.ring.layout(size)
}

func (r *ringed) Refresh() {
	r.draw()
	r.ring.layout(r.of.Size())
	r.WidgetRenderer.Refresh()
}

func (r *ringed) Objects() []fyne.CanvasObject {
	return append(r.WidgetRenderer.Objects()[:len(r.WidgetRenderer.Objects()):len(r.WidgetRenderer.Objects())], r.ring.objects()...)
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

// isEnter says whether a key is one of the two that go on.
func isEnter(e *fyne.KeyEvent) bool { return e.Name == fyne.KeyReturn || e.Name == fyne.KeyEnter }
