package theme

import (
	"fyne.io/fyne/v2"
	fynetheme "fyne.io/fyne/v2/theme"

	"countersign/assets"
)

// Mark is a state as a shape. Each has its own outline, so its colour is never the only sign.
type Mark string

// The marks.
const (
	MarkSigned  Mark = "signed"  // a disc with a check: this person has signed
	MarkNext    Mark = "next"    // a ring with a core: it is this person's turn
	MarkLater   Mark = "later"   // a ring: not yet
	MarkEnded   Mark = "ended"   // a ring with a bar: over without being signed
	MarkProblem Mark = "problem" // a triangle
	MarkSaved   Mark = "saved"   // a sheet with a check: the files are in the folder
	MarkDrop    Mark = "drop"    // an arrow into a tray: drop files here
)

func (m Mark) Colour() fyne.ThemeColorName {
	switch m {
	case MarkSigned, MarkSaved:
		return Done
	case MarkNext:
		return Waiting
	case MarkProblem:
		return Attention
	case MarkDrop:
		return Ink
	default:
		return Secondary
	}
}

var marks = loadMarks()

func loadMarks() map[Mark]fyne.Resource {
	all := map[Mark]fyne.Resource{}
	for _, m := range []Mark{MarkSigned, MarkNext, MarkLater, MarkEnded, MarkProblem, MarkSaved, MarkDrop} {
		data, err := assets.Mark(string(m))
		if err != nil {
			panic(err) // embedded: the tests of assets read every one
		}
		all[m] = fynetheme.NewColoredResource(fyne.NewStaticResource("mark-"+string(m)+".svg", data), m.Colour())
	}
	return all
}

// Resource returns the mark as a picture in its colour, following light and dark.
func (m Mark) Resource() fyne.Resource { return marks[m] }
