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

// pointAway ends what is shown over an object.
func pointAway(o fyne.CanvasObject) { point(o, nil, nil) }

func (t *tips) show(text string, at fyne.Position) {
	if t.text != text {
		t.text, t.at = text, at
		t.Refresh()
	}
}

func (t *tips) CreateRenderer() fyne.WidgetRenderer {
	back := canvas.NewRectangle(color.Transparent)
	r := &renderer{least: none}
	r.layout = func(room fyne.Size) { t.place(back, r.objects, room) }
	r.paint = func() {
		th, variant := t.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
		back.FillColor = th.Color(fynetheme.ColorNameOverlayBackground, variant)
		back.StrokeColor, back.StrokeWidth = th.Color(theme.Line, variant), 1
		back.CornerRadius = th.Size(fynetheme.SizeNameCardRadius)
		if r.objects = nil; t.text == "" {
			return
		}
		r.objects = []fyne.CanvasObject{back}
		size := th.Size(theme.Caption)
		measure := func(s string) float32 { return fyne.MeasureText(s, size, fyne.TextStyle{}).Width }
		for text := range strings.SplitSeq(t.text, "\n") {
			for _, part := range wrap(text, min(tipWidth, t.Size().Width-2*tipPad-2*tipMargin), measure) {
				line := canvas.NewText(part, th.Color(theme.Text, variant))
				line.TextSize = size
				r.objects = append(r.objects, line)
			}
		}
	}
	return movable(r, t)
}

// place puts the tip, its back and its lines, below the mouse, or above it where there is no room, and within the window.
func (t *tips) place(back fyne.CanvasObject, objects []fyne.CanvasObject, room fyne.Size) {
	if len(objects) == 0 {
		return
	}
	var size fyne.Size
	for _, line := range objects[1:] {
		size = fyne.NewSize(max(size.Width, line.MinSize().Width), size.Height+line.MinSize().Height)
	}
	size = size.AddWidthHeight(2*tipPad, 2*tipPad)
	at := t.at.AddXY(0, tipBelow).Subtract(fyne.CurrentApp().Driver().AbsolutePositionForObject(t))
	if at.Y+size.Height > room.Height-tipMargin {
		at.Y -= size.Height + tipBelow + tipPad
	}
	at = fyne.NewPos(max(tipMargin, min(at.X, room.Width-size.Width-tipMargin)), max(tipMargin, at.Y))
	back.Move(at)
	back.Resize(size)
	at = at.AddXY(tipPad, tipPad)
	for _, line := range objects[1:] {
		line.Move(at)
		line.Resize(line.MinSize())
		at.Y += line.MinSize().Height
	}
}
