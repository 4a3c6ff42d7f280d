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
	tipAfter = 500 * time.Millisecond // the mouse may only be passing
	tipWidth = 420
	tipBelow = 20 // the mouse, so that it is not on the tip

	tipPad, tipMargin = 8, 4 // within its edge, and outside of it
)

// tips lie over a window, or a pop-up, and show the whole of a text that is shortened, near the mouse: Fyne has no tooltips.
// They take neither mouse nor keys.
type tips struct {
	widget.BaseWidget
	later func(d time.Duration, over func())
	turn  int    // counts what was pointed at
	text  string // that is shown, empty for nothing
	at    fyne.Position
}

// WithTips is the content of a window in which shortened texts show whole when the mouse rests on them. later calls over
// on the window's goroutine when d has passed.
func WithTips(later func(d time.Duration, over func()), content fyne.CanvasObject) *fyne.Container {
	return container.NewStack(content, newTips(later))
}

func newTips(later func(d time.Duration, over func())) *tips {
	t := &tips{later: later}
	t.ExtendBaseWidget(t)
	return t
}

// tipsOver are the tips that lie over an object; nil where its window has none.
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

// point shows texts once the mouse has rested on an object for a moment; none end what is shown. It does nothing where
// there are no tips.
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

// EndTips ends what is shown over a window, or is about to be: the mouse rests on something else, or what it rested on was
// pressed, or lies below what opened.
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

// hoverable is embedded by what wants to know when the mouse comes and goes, and no more.
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

// rows is a text on as many lines as it takes, none wider than a width.
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

// place puts the tip below the mouse, or above it where there is no room, and within the window.
func (t *tips) place(tip fyne.CanvasObject, room fyne.Size) {
	size := tip.MinSize()
	at := t.at.AddXY(0, tipBelow).Subtract(fyne.CurrentApp().Driver().AbsolutePositionForObject(t))
	if at.Y+size.Height > room.Height-tipMargin {
		at.Y -= size.Height + tipBelow + tipPad
	}
	place(tip, max(tipMargin, min(at.X, room.Width-size.Width-tipMargin)), max(tipMargin, at.Y), size.Width, size.Height)
}

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

// Take says what a drop would do, at a place or, for nil, anywhere in the window.
func (l *DropHint) Take(text string, place *Place) { l.show(text, signTakes, place) }

func (l *DropHint) Refuse(text string) { l.show(text, signRefuses, nil) }

// Come says that what was dropped is on its way, at the window's lower edge: people go on working meanwhile.
func (l *DropHint) Come(text string) { l.show(text, signComes, nil) }

func (l *DropHint) Clear() { l.show("", signRefuses, nil) }

// Text is what is shown, empty for nothing, and Takes whether that is a place to drop something.
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

// put puts the words into the middle of the window, or at the place that they are about: above it, or below it where there is no
// room. What is on its way is said at the window's lower edge.
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
