package packages

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// pageSize is the room of the picture of a page, in the proportions of A4.
var pageSize = fyne.NewSize(52, 73)

// page is the first page of what a line can open: a click opens it. Until the picture comes, and where there is none, an
// icon stands in its room.
func (s *Screen) page(l fileLine, pictured bool) fyne.CanvasObject {
	icon := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary))
	page := fyne.CanvasObject(container.NewGridWrap(pageSize, container.NewStack(widgets.NewBack(theme.Line), widgets.Pad(1, widgets.On(theme.Surface, container.NewCenter(icon))))))
	if picture := s.pictures[l.path]; pictured && picture != nil && !picture.Bounds().Empty() {
		page = widgets.Sheet(picture, pageSize, theme.Line)
	}
	if l.path == "" {
		return page
	}
	open := widgets.NewPress(page, func() { s.env.OpenFile(l.path) })
	open.Says = func() string { return lang.L("Open {{.File}}", i18n.V{"File": l.name}) }
	return open
}

// small is an icon as high as a caption.
func small(icon fyne.CanvasObject) fyne.CanvasObject {
	return widgets.Mark(15, icon)
}
