package packages

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// pageSize is the room of the picture of a page, in the proportions of A4.
var pageSize = fyne.NewSize(52, 73)

// page is the first page of what a line can open: a click opens it. Until the picture comes, and where there is none, an
// icon stands in its room.
func (s *Screen) page(l leaf, pictured bool) fyne.CanvasObject {
	var sheet fyne.CanvasObject
	ratio := pageSize.Width / pageSize.Height
	if picture := s.pictures[l.path]; pictured && picture != nil {
		image := canvas.NewImageFromImage(picture)
		image.ScaleMode = canvas.ImageScaleSmooth
		size := picture.Bounds().Size()
		sheet, ratio = image, float32(size.X)/float32(max(1, size.Y))
	} else {
		sheet = container.NewStack(widgets.NewBack(theme.Surface), container.NewCenter(widget.NewIcon(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary))))
	}
	framed := container.NewGridWrap(pageSize, container.New(&fitted{ratio}, widgets.NewBack(theme.Line), sheet))
	if l.path == "" {
		return framed
	}
	return widgets.NewPress(framed, func() { s.env.OpenFile(l.path) })
}

// small is an icon as high as a caption.
func small(icon fyne.CanvasObject) fyne.CanvasObject {
	return container.NewGridWrap(fyne.NewSquareSize(15), icon)
}

// fitted gives its two objects, a frame and what is in it, the largest size of a ratio of width to height.
type fitted struct{ ratio float32 }

func (f *fitted) Layout(objects []fyne.CanvasObject, room fyne.Size) {
	size := fyne.NewSize(room.Width, room.Width/f.ratio)
	if size.Height > room.Height {
		size = fyne.NewSize(room.Height*f.ratio, room.Height)
	}
	place := func(o fyne.CanvasObject, inset float32) {
		o.Resize(fyne.NewSize(size.Width-2*inset, size.Height-2*inset))
		o.Move(fyne.NewPos((room.Width-size.Width)/2+inset, (room.Height-size.Height)/2+inset))
	}
	place(objects[0], 0)
	place(objects[1], 1)
}

func (*fitted) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.Size{} }
