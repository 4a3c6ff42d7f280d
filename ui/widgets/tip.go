package widgets

import (
	"image/color"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

const (
	tipAfter = 500 * time.Millisecond // skips a mouse that only passes
	tipWidth = 420
	tipBelow = 20 // distance below the mouse, so that it is not on the tip

	tipPad, tipMargin = 8, 4 // inside and outside the border
)

// tips is a layer over a window or pop-up that shows shortened texts in full near the mouse: Fyne has no tooltips. It takes neither
// mouse nor keys.
type tips struct {
	widget.BaseWidget
	later func(d time.Duration, over func())
	turn  int    // counts the objects pointed at
	text  string // the visible text; may be empty
	at    fyne.Position
}

// WithTips adds tooltips for shortened texts to a window's content. later calls over on the UI goroutine after d.
func WithTips(later func(d time.Duration, over func()), content fyne.CanvasObject) *fyne.Container {
	return container.NewStack(content, newTips(later))
}

func newTips(later func(d time.Duration, over func())) *tips {
	t := &tips{later: later}
	t.ExtendBaseWidget(t)
	return t
}

// tipsOver returns the tips layer over an object; nil if its window has none.
func tipsOver(o fyne.CanvasObject) *tips {
	c := fyne.CurrentApp().Driver().CanvasForObject(o)
	if c == nil {
		return nil
	}
	if top := c.Overlays().Top(); top != nil {
		if p, ours := top.(*PopUp); ours {
			return p.tips
		}
		return nil
	}
	return windowTips(c)
}

func windowTips(c fyne.Canvas) *tips {
	if root, ok := c.Content().(*fyne.Container); ok && len(root.Objects) > 0 {
		t, _ := root.Objects[len(root.Objects)-1].(*tips)
		return t
	}
	return nil
}

// point shows texts once the mouse has rested on an object for a moment; no texts hide the tooltip. Without a tips layer it does
// nothing.
func point(o fyne.CanvasObject, e *desktop.MouseEvent, texts []string) {
	if c := fyne.CurrentApp().Driver().CanvasForObject(o); c != nil {
		EndTips(c)
	}
	t := tipsOver(o)
	if t == nil || len(texts) == 0 {
		return
	}
	at := t.turn
	t.later(tipAfter, func() {
		if t.turn == at {
			t.show(strings.Join(texts, "\n"), e.AbsolutePosition)
		}
	})
}

// EndTips hides the window's tooltip, or cancels one about to appear: the mouse has moved on, the object was pressed, or something
// opened over it.
func EndTips(window fyne.Canvas) {
	end := func(t *tips) {
		if t != nil {
			t.turn++
			t.show("", fyne.Position{})
		}
	}
	end(windowTips(window))
	for _, over := range window.Overlays().List() {
		if p, ours := over.(*PopUp); ours {
			end(p.tips)
		}
	}
}

// hoverable is embedded by widgets that only need to know when the mouse enters and leaves.
type hoverable struct{}

func (hoverable) MouseMoved(*desktop.MouseEvent) {}

func pointAway(o fyne.CanvasObject) { point(o, nil, nil) }

func (t *tips) show(text string, at fyne.Position) {
	if t.text != text {
		t.text, t.at = text, at
		t.Refresh()
	}
}

func (t *tips) CreateRenderer() fyne.WidgetRenderer {
	back := NewBack(fynetheme.ColorNameOverlayBackground)
	back.outline = theme.Line
	tip := container.NewStack()
	r := &renderer{least: none}
	r.layout = func(room fyne.Size) { t.place(tip, room) }
	r.paint = func() {
		if r.objects = nil; t.text != "" {
			text := rows(t.text, min(tipWidth, t.Size().Width-2*tipPad-2*tipMargin), theme.Caption, false)
			tip.Objects, r.objects = []fyne.CanvasObject{back, Pad(tipPad, text)}, []fyne.CanvasObject{tip}
		}
	}
	return movable(r, t)
}

// rows breaks a text into lines no wider than a width.
func rows(text string, width float32, scale fyne.ThemeSizeName, bold bool) *fyne.Container {
	all := Stack(0)
	measure := func(text string) float32 {
		return fyne.MeasureText(text, fyne.CurrentApp().Settings().Theme().Size(scale), fyne.TextStyle{Bold: bold}).Width
	}
	for _, part := range wrap(text, width, measure) {
		row := NewLine(part)
		row.Scale, row.Bold = scale, bold
		all.Add(row)
	}
	return all
}

// place puts the tip below the mouse, or above it if there is no room, within the window.
func (t *tips) place(tip fyne.CanvasObject, room fyne.Size) {
	size := tip.MinSize()
	at := t.at.AddXY(0, tipBelow).Subtract(fyne.CurrentApp().Driver().AbsolutePositionForObject(t))
	if at.Y+size.Height > room.Height-tipMargin {
		at.Y -= size.Height + tipBelow + tipPad
	}
	place(tip, max(tipMargin, min(at.X, room.Width-size.Width-tipMargin)), max(tipMargin, at.Y), size.Width, size.Height)
}

const (
	landingInset = 6   // of the frame around the whole window
	landingEdge  = 2   // the width of a place's frame
	landingLine  = 4   // the height of a place between two things
	landingPad   = 12  // around the words
	landingMark  = 24  // beside the words
	landingWidth = 360 // of the words
	landingBelow = 72  // above the window's lower edge, for the bars there
)

// Place is an area in the window; one without height lies between two things.
type Place struct {
	At   fyne.Position
	Size fyne.Size
}

// DropHint is a layer over a window that shows where dragged files would land, or why they cannot, and that they are being read. It
// takes neither mouse nor keys and is invisible until told otherwise.
type DropHint struct {
	widget.BaseWidget
	text  string // may be empty
	sign  sign
	place *Place // nil for the whole window
}

type sign int

const (
	signTakes sign = iota
	signRefuses
	signComes
)

func NewDropHint() *DropHint {
	l := &DropHint{}
	l.ExtendBaseWidget(l)
	return l
}

// Take says what a drop would do at a place, or, if nil, anywhere in the window.
func (l *DropHint) Take(text string, place *Place) { l.show(text, signTakes, place) }

func (l *DropHint) Refuse(text string) { l.show(text, signRefuses, nil) }

// Come says, at the window's lower edge, that dropped files are being read, while people continue to work.
func (l *DropHint) Come(text string) { l.show(text, signComes, nil) }

func (l *DropHint) Clear() { l.show("", signRefuses, nil) }

func (l *DropHint) Text() string { return l.text }

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
	spot, words := canvas.NewRectangle(color.Transparent), container.NewStack()
	r := &renderer{least: none}
	r.layout = func(room fyne.Size) { l.put(spot, words, room) }
	r.paint = func() {
		if r.objects = nil; l.text == "" {
			return
		}
		colour, mark := theme.Ink, theme.MarkDrop
		if l.sign == signRefuses {
			colour, mark = theme.Attention, theme.MarkProblem
		}
		back, picture := NewBack(theme.Surface), canvas.NewImageFromResource(mark.Resource())
		back.outline, picture.FillMode = colour, canvas.ImageFillContain
		picture.SetMinSize(fyne.NewSquareSize(landingMark))
		words.Objects = []fyne.CanvasObject{back, Pad(landingPad, Row(landingPad, picture, rows(l.text, landingWidth, theme.Body, true)))}
		r.objects, spot.Hidden = []fyne.CanvasObject{spot, words}, l.sign != signTakes
		th, variant := l.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
		edge := th.Color(colour, variant)
		spot.FillColor, spot.StrokeColor, spot.StrokeWidth = th.Color(fynetheme.ColorNameSelection, variant), edge, landingEdge
		spot.CornerRadius = th.Size(fynetheme.SizeNameCardRadius)
		if l.place != nil && l.place.Size.Height == 0 {
			spot.FillColor, spot.StrokeWidth, spot.CornerRadius = edge, 0, landingLine/2
		}
	}
	return movable(r, l)
}

// put places the words in the middle of the window, or at their place: above it, or below if there is no room. Progress appears at
// the window's lower edge.
func (l *DropHint) put(spot, words fyne.CanvasObject, room fyne.Size) {
	size := words.MinSize()
	at := fyne.NewPos((room.Width-size.Width)/2, (room.Height-size.Height)/2)
	switch {
	case l.sign == signComes:
		at.Y = room.Height - size.Height - landingBelow
	case l.place == nil:
		place(spot, landingInset, landingInset, room.Width-2*landingInset, room.Height-2*landingInset)
	default:
		from, of := l.place.At.Subtract(fyne.CurrentApp().Driver().AbsolutePositionForObject(l)), l.place.Size
		if at = fyne.NewPos(from.X+(of.Width-size.Width)/2, from.Y-size.Height-landingPad); at.Y < landingInset {
			at.Y = from.Y + of.Height + landingPad
		}
		if of.Height == 0 {
			from.Y, of.Height = from.Y-landingLine/2, landingLine
		}
		place(spot, from.X, from.Y, of.Width, of.Height)
	}
	at.X = max(landingInset, min(at.X, room.Width-size.Width-landingInset))
	at.Y = max(landingInset, min(at.Y, room.Height-size.Height-landingInset))
	place(words, at.X, at.Y, size.Width, size.Height)
}
