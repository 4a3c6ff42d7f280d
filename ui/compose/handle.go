package compose

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// drag handle is where an entry of an ordered list is held: dragging it moves the entry, and so do Alt+Up and Alt+Down while
// it has the focus. Delete takes the entry away.
type dragHandle struct {
	widget.BaseWidget
	screen  *Screen
	move    func(by int)    // one place up (-1) or down (+1)
	drag    func(y float32) // the pointer is at this height of the window
	remove  func()
	icon    *widget.Icon
	focused bool
	dragged bool
}

func (s *Screen) newDragHandle(move func(by int), drag func(y float32), remove func()) *dragHandle {
	g := &dragHandle{screen: s, move: move, drag: drag, remove: remove, icon: widget.NewIcon(fynetheme.NewColoredResource(fynetheme.MenuIcon(), theme.Secondary))}
	g.ExtendBaseWidget(g)
	return g
}

// Dragged is Fyne's.
func (g *dragHandle) Dragged(e *fyne.DragEvent) {
	if !g.dragged {
		g.dragged = true
		g.Refresh()
	}
	g.drag(e.AbsolutePosition.Y)
}

// DragEnd is Fyne's.
func (g *dragHandle) DragEnd() {
	g.dragged = false
	g.Refresh()
}

// Tapped takes the focus, so that the keys go on where the mouse began.
func (g *dragHandle) Tapped(*fyne.PointEvent) { g.screen.env.Window.Canvas().Focus(g) }

// Cursor says that it can be moved up and down.
func (g *dragHandle) Cursor() desktop.Cursor { return desktop.VResizeCursor }

// FocusGained is Fyne's.
func (g *dragHandle) FocusGained() {
	g.focused = true
	g.Refresh()
	g.screen.reveal(g)
}

// FocusLost is Fyne's.
func (g *dragHandle) FocusLost() { g.focused = false; g.Refresh() }

// TypedRune is Fyne's.
func (g *dragHandle) TypedRune(rune) {}

// TypedKey is Fyne's.
func (g *dragHandle) TypedKey(k *fyne.KeyEvent) {
	switch k.Name {
	case fyne.KeyDelete, fyne.KeyBackspace:
		g.remove()
	case fyne.KeyEscape:
		g.screen.unfocus()
	}
}

// TypedShortcut is Fyne's.
func (g *dragHandle) TypedShortcut(shortcut fyne.Shortcut) {
	if by := step(shortcut); by != 0 {
		g.move(by)
		return
	}
	if window, ok := g.screen.env.Window.Canvas().(fyne.Shortcutable); ok {
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
func (g *dragHandle) CreateRenderer() fyne.WidgetRenderer {
	r := &dragHandleRenderer{dragHandle: g, back: canvas.NewRectangle(color.Transparent)}
	r.apply()
	return r
}

type dragHandleRenderer struct {
	dragHandle *dragHandle
	back       *canvas.Rectangle
}

func (r *dragHandleRenderer) apply() {
	th, variant := r.dragHandle.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
	r.back.CornerRadius = th.Size(fynetheme.SizeNameButtonRadius)
	r.back.FillColor, r.back.StrokeWidth = color.Transparent, 0
	if r.dragHandle.dragged {
		r.back.FillColor = th.Color(theme.Chosen, variant)
	}
	if r.dragHandle.focused {
		r.back.StrokeColor, r.back.StrokeWidth = th.Color(theme.Ink, variant), 1.5
	}
}

func (r *dragHandleRenderer) Layout(size fyne.Size) {
	r.back.Resize(size)
	icon := fyne.NewSquareSize(18)
	r.dragHandle.icon.Resize(icon)
	r.dragHandle.icon.Move(fyne.NewPos((size.Width-icon.Width)/2, (size.Height-icon.Height)/2))
}

func (r *dragHandleRenderer) MinSize() fyne.Size { return fyne.NewSize(24, 28) }

func (r *dragHandleRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.back, r.dragHandle.icon}
}
func (r *dragHandleRenderer) Destroy() {}
func (r *dragHandleRenderer) Refresh() {
	r.apply()
	r.back.Refresh()
	r.dragHandle.icon.Refresh()
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
