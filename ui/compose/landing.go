package compose

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"

	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// Landing is where files that are dragged over a place of the window would land, and what that would do. Refused is why they
// would not, empty when they would.
func (s *Screen) Landing(at fyne.Position) (place *widgets.Place, does, refused string) {
	if s.run != nil {
		return nil, "", lang.L("A package is being sent. Add files when it is done.")
	}
	if o := s.originalAt(at); o != nil {
		return placeOf(o.row), lang.L("Drop to use instead of “{{.Document}}”", i18n.V{"Document": o.own.Name}), ""
	}
	does = lang.L("Drop to add to this package")
	switch n := len(s.docs); {
	case s.documentCount() == 0:
		return placeOf(s.target), does, ""
	case n == 0:
		return placeOf(s.fileBox), does, ""
	default:
		return s.between(s.dropIndex(at)), does, ""
	}
}

// dropIndex is the place among the documents at which files would be added that are dropped somewhere: beside them, at
// their end.
func (s *Screen) dropIndex(at fyne.Position) int {
	list := placeOf(s.fileBox)
	if at.X >= list.At.X+list.Size.Width {
		return len(s.docs)
	}
	for i, d := range s.docs {
		if row := placeOf(d.row); at.Y < row.At.Y+row.Size.Height/2 {
			return i
		}
	}
	return len(s.docs)
}

// between is the gap before document i, or after the last one.
func (s *Screen) between(i int) *widgets.Place {
	const gap = 4 // of fileBox
	var y float32
	if i < len(s.docs) {
		y = placeOf(s.docs[i].row).At.Y - gap/2
	} else {
		last := placeOf(s.docs[len(s.docs)-1].row)
		y = last.At.Y + last.Size.Height + gap/2
	}
	column := placeOf(s.filesColumn) // the rest of the list is scrolled away
	y = min(max(y, column.At.Y), column.At.Y+column.Size.Height)
	list := placeOf(s.fileBox)
	return &widgets.Place{At: fyne.NewPos(list.At.X, y), Size: fyne.NewSize(list.Size.Width, 0)}
}

func placeOf(o fyne.CanvasObject) *widgets.Place {
	return &widgets.Place{At: fyne.CurrentApp().Driver().AbsolutePositionForObject(o), Size: o.Size()}
}
