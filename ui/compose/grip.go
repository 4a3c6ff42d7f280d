package compose

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/look"
)

// grip is where an entry of an ordered list is held: dragging it moves the entry, and so do Alt+Up and Alt+Down while
// it has the focus. Delete takes the entry away.
type grip struct {
	widget.BaseWidget
	screen  *Screen
	move    func(by int)    // one place up (-1) or down (+1)
	drag    func(y float32) // the pointer is at this height of the window
	remove  func()
	icon    *widget.Icon
	focused bool
	dragged bool
}

func (s *Screen) newGrip(move func(by int), drag func(y float32), remove func()) *grip {
	g := &grip{screen: s, move: move, drag: drag, remove: remove, icon: widget.NewIcon(theme.NewColoredResource(theme.MenuIcon(), look.Secondary))}
	g.ExtendBaseWidget(g)
	return g
}

// Dragged is Fyne's.
func (g *grip) Dragged(e *fyne.DragEvent) {
	if !g.dragged {
		g.dragged = true
		g.Refresh()
	}
	g.drag(e.AbsolutePosition.Y)
}

// DragEnd is Fyne's.
func (g *grip) DragEnd() {
	g.dragged = false
	g.Refresh()
}

// Tapped takes the focus, so that the keys go on where the mouse began.
func (g *grip) Tapped(*fyne.PointEvent) { g.screen.desk.Window.Canvas().Focus(g) }

// Cursor says that it can be moved up and down.
func (g *grip) Cursor() desktop.Cursor { return desktop.VResizeCursor }

// FocusGained is Fyne's.
func (g *grip) FocusGained() {
	g.focused = true
	g.Refresh()
	g.screen.reveal(g)
}

// FocusLost is Fyne's.
func (g *grip) FocusLost() { g.focused = false; g.Refresh() }

// TypedRune is Fyne's.
func (g *grip) TypedRune(rune) {}

// TypedKey is Fyne's.
func (g *grip) TypedKey(k *fyne.KeyEvent) {
	switch k.Name {
	case fyne.KeyDelete, fyne.KeyBackspace:
		g.remove()
	case fyne.KeyEscape:
		g.screen.unfocus()
	}
}

// TypedShortcut is Fyne's.
func (g *grip) TypedShortcut(shortcut fyne.Shortcut) {
	if by := step(shortcut); by != 0 {
		g.move(by)
		return
	}
	if window, ok := g.screen.desk.Window.Canvas().(fyne.Shortcutable); ok {
		window.TypedShortcut(shortcut)
	}
}

// step is -1 for Alt+Up, +1 for Alt+Down, else 0.
func step(shortcut fyne.Shortcut) int {
	custom, ok := shortcut.(*desktop.CustomShortcut)
	if !ok || custom.Modifier != fyne.KeyModifierAlt {
		return 0
	}
	switch custom.KeyName {
	case fyne.KeyUp:
		return -1
	case fyne.KeyDown:
		return 1
	}
	return 0
}

// CreateRenderer is Fyne's.
func (g *grip) CreateRenderer() fyne.WidgetRenderer {
	r := &gripRenderer{grip: g, back: canvas.NewRectangle(color.Transparent)}
	r.apply()
	return r
}

type gripRenderer struct {
	grip *grip
	back *canvas.Rectangle
}

func (r *gripRenderer) apply() {
	th, variant := r.grip.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
	r.back.CornerRadius = th.Size(theme.SizeNameButtonRadius)
	r.back.FillColor, r.back.StrokeWidth = color.Transparent, 0
	if r.grip.dragged {
		r.back.FillColor = th.Color(look.Chosen, variant)
	}
	if r.grip.focused {
		r.back.StrokeColor, r.back.StrokeWidth = th.Color(look.Ink, variant), 1.5
	}
}

func (r *gripRenderer) Layout(size fyne.Size) {
	r.back.Resize(size)
	icon := fyne.NewSquareSize(18)
	r.grip.icon.Resize(icon)
	r.grip.icon.Move(fyne.NewPos((size.Width-icon.Width)/2, (size.Height-icon.Height)/2))
}

func (r *gripRenderer) MinSize() fyne.Size { return fyne.NewSize(24, 28) }

func (r *gripRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.back, r.grip.icon}
}
func (r *gripRenderer) Destroy() {}
func (r *gripRenderer) Refresh() {
	r.apply()
	r.back.Refresh()
	r.grip.icon.Refresh()
}

// placeAt is where the entry at from belongs when it is dragged to height y of the window: beyond the middle of a
// neighbour it takes that one's place.
func placeAt(rows []fyne.CanvasObject, from int, y float32) int {
	driver := fyne.CurrentApp().Driver()
	to := from
	for i, row := range rows {
		middle := driver.AbsolutePositionForObject(row).Y + row.Size().Height/2
		if i < from && y < middle {
			return i
		}
		if i > from && y > middle {
			to = i
		}
	}
	return to
}

// moveTo takes the entry at from to the place to, where both exist.
func moveTo[T any](list []T, from, to int) bool {
	if from == to || min(from, to) < 0 || max(from, to) >= len(list) {
		return false
	}
	moved := list[from]
	if from < to {
		copy(list[from:], list[from+1:to+1])
	} else {
		copy(list[to+1:], list[to:from])
	}
	list[to] = moved
	return true
}
