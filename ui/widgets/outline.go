package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
)

// Outlined is an input that has no edge of its own, such as Fyne's selection, with the edge of a text entry.
func Outlined(input fyne.CanvasObject) fyne.CanvasObject {
	edge := NewBack("")
	edge.outline = theme.ColorNameInputBorder
	return container.NewStack(input, edge)
}
