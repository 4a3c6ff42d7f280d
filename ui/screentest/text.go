package screentest

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"
)

// Text is what an object shows to be read, its lines one after the other.
func Text(o fyne.CanvasObject) string {
	var lines []string
	for _, o := range test.LaidOutObjects(o) {
		if t, ok := o.(*canvas.Text); ok {
			lines = append(lines, t.Text)
		}
	}
	return strings.Join(lines, " ")
}
