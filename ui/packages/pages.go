package packages

import (
	"image"
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"

	"countersign/ui/look"
	"countersign/ui/widgets"
)

// pageSize is the size of a picture of a page with its name, in the proportions of A4.
var pageSize = fyne.NewSize(116, 178)

// picturesOf are the pictures of the first pages that have come in, nil when there is none.
func (s *Screen) picturesOf(p paper) fyne.CanvasObject {
	row, paths := container.NewGridWrap(pageSize), p.pages()
	for i, name := range pageNames(paths) {
		if picture := s.pictures[paths[i]]; picture != nil {
			row.Add(s.page(paths[i], name, picture))
		}
	}
	if len(row.Objects) == 0 {
		return nil
	}
	return row
}

// page is the first page of a file: a click opens it.
func (s *Screen) page(path, name string, picture image.Image) fyne.CanvasObject {
	sheet := canvas.NewImageFromImage(picture)
	sheet.ScaleMode = canvas.ImageScaleSmooth
	size := picture.Bounds().Size()
	framed := container.New(&fitted{float32(size.X) / float32(max(1, size.Y))}, widgets.NewBack(look.Line), sheet)
	content := widgets.Frame(nil, widgets.PadHV(0, 2, widgets.NewCaption(name)), nil, framed)
	return widgets.NewPress(widgets.Pad(6, content), func() { s.desk.OpenFile(path) })
}

// pageNames are the names of files without what they all begin with and without the ending: what tells them apart.
func pageNames(paths []string) []string {
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	if len(names) < 2 {
		return names
	}
	shared := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, shared) {
			shared = shared[:strings.LastIndexByte(shared[:len(shared)-1], ' ')+1] // whole words
		}
	}
	if slices.Contains(names, shared) {
		return names // one of them would have no name left
	}
	for i := range names {
		names[i] = strings.TrimLeft(names[i][len(shared):], " -–_")
	}
	return names
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
		o.Move(fyne.NewPos((room.Width-size.Width)/2+inset, room.Height-size.Height+inset))
	}
	place(objects[0], 0)
	place(objects[1], 1)
}

func (*fitted) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.Size{} }
