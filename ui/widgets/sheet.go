package widgets

import (
	"image"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
)

// Sheet is the picture of a page, as large as fits into a room and in its middle, with a fine edge: paper on paper has none
// of its own.
func Sheet(picture image.Image, room fyne.Size, edge fyne.ThemeColorName) fyne.CanvasObject {
	page := canvas.NewImageFromImage(picture)
	page.ScaleMode = canvas.ImageScaleSmooth
	size := picture.Bounds().Size()
	ratio := float32(size.X) / float32(max(1, size.Y))
	fit := fyne.NewSize(min(room.Width, room.Height*ratio), min(room.Height, room.Width/ratio))
	return container.NewGridWrap(room, container.NewCenter(container.NewGridWrap(fit, container.NewStack(NewBack(edge), Pad(1, page)))))
}
