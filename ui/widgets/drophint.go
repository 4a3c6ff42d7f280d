package widgets

import (
	"image/color"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

const (
	landingInset = 6   // of the edge of the whole window
	landingEdge  = 2   // how wide the edge of a place is
	landingLine  = 4   // how high a place is that lies between two things
	landingPad   = 12  // within the words' edge
	landingMark  = 24  // beside the words
	landingWidth = 360 // of the words
	landingBelow = 72  // between the lower edge of the window and what is on its way, for the bars that are there
)

// Place is where something is in the window. One without a height lies between two things.
type Place struct {
	At   fyne.Position
	Size fyne.Size
}

// DropHint lies over a window, and shows where what is dragged over it from another program would land, or why nowhere, and
// that it is on its way. It takes neither mouse nor keys, and shows nothing until it is told to.
type DropHint struct {
	widget.BaseWidget
	text  string // empty for nothing
	sign  sign
	place *Place // nil for the whole window
}

// sign is what a landing shows.
type sign int

const (
	signTakes sign = iota
	signRefuses
	signComes
)

// NewDropHint returns one that shows nothing.
func NewDropHint() *DropHint {
	l := &DropHint{}
	l.ExtendBaseWidget(l)
	return l
}

// Take says what a drop would do, at a place or, for nil, anywhere in the window.
func (l *DropHint) Take(text string, place *Place) { l.show(text, signTakes, place) }

// Refuse says why a drop would do nothing.
func (l *DropHint) Refuse(text string) { l.show(text, signRefuses, nil) }

// Come says that what was dropped is on its way, at the window's lower edge: people go on working meanwhile.
func (l *DropHint) Come(text string) { l.show(text, signComes, nil) }

// Clear shows nothing any more.
func (l *DropHint) Clear() { l.show("", signRefuses, nil) }

// Text is what is shown, empty for nothing, and Takes whether that is a place to drop something.
func (l *DropHint) Text() string { return l.text }

// Takes reports whether what is shown is a place for a drop.
func (l *DropHint) Takes() bool { return l.sign == signTakes }

func (l *DropHint) show(text string, sign sign, place *Place) {
	same := (l.place == nil) == (place == nil) && (place == nil || *l.place == *place)
	if l.text == text && l.sign == sign && same {
		return
	}
	l.text, l.sign, l.place = text, sign, place
	l.Refresh()
}

func (l *DropHint) CreateRenderer() fyne.WidgetRenderer {
	spot, back := canvas.NewRectangle(color.Transparent), canvas.NewRectangle(color.Transparent)
	mark := canvas.NewImageFromResource(nil)
	mark.FillMode = canvas.ImageFillContain
	r := &renderer{least: none}
	r.layout = func(room fyne.Size) { l.put(spot, back, mark, r.objects, room) }
	r.paint = func() {
		if r.objects = nil; l.text == "" {
			return
		}
		th, variant := l.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
		edge := th.Color(theme.Ink, variant)
		mark.Resource = theme.MarkDrop.Resource()
		if l.sign == signRefuses {
			edge = th.Color(theme.Attention, variant)
			mark.Resource = theme.MarkProblem.Resource()
		}
		mark.Refresh()
		spot.FillColor, spot.StrokeColor, spot.StrokeWidth = th.Color(fynetheme.ColorNameSelection, variant), edge, landingEdge
		spot.CornerRadius = th.Size(fynetheme.SizeNameCardRadius)
		if l.place != nil && l.place.Size.Height == 0 {
			spot.FillColor, spot.StrokeWidth, spot.CornerRadius = edge, 0, landingLine/2
		}
		back.FillColor, back.StrokeColor, back.StrokeWidth = th.Color(theme.Surface, variant), edge, 1
		back.CornerRadius = th.Size(fynetheme.SizeNameCardRadius)
		if l.sign == signTakes {
			r.objects = append(r.objects, spot)
		}
		r.objects = append(r.objects, back, mark)
		size := th.Size(theme.Body)
		measure := func(s string) float32 { return fyne.MeasureText(s, size, fyne.TextStyle{Bold: true}).Width }
		for text := range strings.SplitSeq(l.text, "\n") {
			for _, part := range wrap(text, landingWidth, measure) {
				line := canvas.NewText(part, th.Color(theme.Text, variant))
				line.TextSize, line.TextStyle.Bold = size, true
				r.objects = append(r.objects, line)
			}
		}
	}
	return movable(r, l)
}

// put puts the words, with their mark and their back, into the middle of the window, or at the place that they are about:
// above it, or below it where there is no room. What is on its way is said at the window's lower edge.
func (l *DropHint) put(spot, back, mark fyne.CanvasObject, objects []fyne.CanvasObject, room fyne.Size) {
	if len(objects) == 0 {
		return
	}
	lines := objects[2:]
	if l.sign == signTakes {
		lines = objects[3:]
	}
	var words fyne.Size
	for _, line := range lines {
		words = fyne.NewSize(max(words.Width, line.MinSize().Width), words.Height+line.MinSize().Height)
	}
	size := fyne.NewSize(words.Width+landingMark+3*landingPad, max(words.Height, landingMark)+2*landingPad)
	at := fyne.NewPos((room.Width-size.Width)/2, (room.Height-size.Height)/2)
	if l.sign == signComes {
		at.Y = room.Height - size.Height - landingBelow
	} else if l.place == nil {
		place(spot, landingInset, landingInset, room.Width-2*landingInset, room.Height-2*landingInset)
	} else {
		from := l.place.At.Subtract(fyne.CurrentApp().Driver().AbsolutePositionForObject(l))
		height := l.place.Size.Height
		if height == 0 {
			place(spot, from.X, from.Y-landingLine/2, l.place.Size.Width, landingLine)
		} else {
			place(spot, from.X, from.Y, l.place.Size.Width, height)
		}
		at = fyne.NewPos(from.X+(l.place.Size.Width-size.Width)/2, from.Y-size.Height-landingPad)
		if at.Y < landingInset {
			at.Y = from.Y + height + landingPad
		}
	}
	at = fyne.NewPos(max(landingInset, min(at.X, room.Width-size.Width-landingInset)), max(landingInset, min(at.Y, room.Height-size.Height-landingInset)))
	place(back, at.X, at.Y, size.Width, size.Height)
	place(mark, at.X+landingPad, at.Y+(size.Height-landingMark)/2, landingMark, landingMark)
	at = at.AddXY(landingMark+2*landingPad, (size.Height-words.Height)/2)
	for _, line := range lines {
		line.Move(at)
		line.Resize(line.MinSize())
		at.Y += line.MinSize().Height
	}
}

func place(o fyne.CanvasObject, x, y, width, height float32) {
	o.Move(fyne.NewPos(x, y))
	o.Resize(fyne.NewSize(width, height))
}
