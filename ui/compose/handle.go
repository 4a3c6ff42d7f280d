package compose

import (
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// dragHandle is where an entry of an ordered list is held: dragging it moves the entry, and so do Alt+Up and Alt+Down while
// it has the focus. Delete takes the entry away.
type dragHandle struct {
	widgets.Press
	screen *Screen
	list   *fyne.Container    // with a row for each entry
	at     func() int         // the entry's place in it
	place  func(from, to int) // moves an entry, where that is allowed and both places exist
	remove func()
}

func (s *Screen) newDragHandle(list *fyne.Container, at func() int, place func(from, to int), remove func()) *dragHandle {
	icon := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.MenuIcon(), theme.Secondary))
	h := &dragHandle{screen: s, list: list, at: at, place: place, remove: remove}
	h.Content = widgets.Wide(24, widgets.Tall(28, container.NewCenter(container.NewGridWrap(fyne.NewSquareSize(18), icon))))
	h.OnPress = func() { s.env.Window.Canvas().Focus(h) } // so that the keys go on where the mouse began
	h.ExtendBaseWidget(h)
	return h
}

// moving is what is said of a handle.
func moving(what string) string { return lang.L("Move {{.Name}}", i18n.V{"Name": what}) }

// Dragged is Fyne's.
func (h *dragHandle) Dragged(e *fyne.DragEvent) {
	h.Choose(true)
	h.place(h.at(), placeAt(h.list.Objects, h.at(), e.AbsolutePosition.Y))
}

// DragEnd is Fyne's.
func (h *dragHandle) DragEnd() { h.Choose(false) }

// Cursor says that it can be moved up and down.
func (h *dragHandle) Cursor() desktop.Cursor { return desktop.VResizeCursor }

// TypedKey is Fyne's.
func (h *dragHandle) TypedKey(k *fyne.KeyEvent) {
	switch {
	case keys.Remove.Is(k):
		h.remove()
	case keys.Leave.Is(k):
		h.screen.unfocus()
	}
}

// TypedShortcut is Fyne's.
func (h *dragHandle) TypedShortcut(shortcut fyne.Shortcut) {
	if !h.step(shortcut) {
		widgets.PassShortcut(h, shortcut)
	}
}

// step moves the entry by a place for Alt+Up and Alt+Down, and says whether the shortcut is one of those.
func (h *dragHandle) step(shortcut fyne.Shortcut) bool {
	if !keys.Carry.Are(shortcut) {
		return false
	}
	by := 1
	if shortcut.(*desktop.CustomShortcut).KeyName == fyne.KeyUp {
		by = -1
	}
	h.place(h.at(), h.at()+by)
	return true
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

// moved is a list with the entry at from taken to the place to, where both exist.
func moved[T any](list []T, from, to int) []T {
	if min(from, to) < 0 || max(from, to) >= len(list) {
		return list
	}
	entry := list[from]
	return slices.Insert(slices.Delete(slices.Clone(list), from, from+1), to, entry)
}
