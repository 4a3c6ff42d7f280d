package widgets

import (
	"image/color"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Tappable is content that can be pressed and chosen: an entry of the sidebar, a tab. It takes the focus, shows it, answers
// to Space and Enter, and leaves other keys to the window. Fyne's button holds a text and an icon, and nothing else.
type Tappable struct {
	widget.BaseWidget
	hoverable
	named
	Content   fyne.CanvasObject
	OnPress   func()
	Lines     []*Line // that may be shortened: the mouse shows them whole
	underline bool    // the mark of the chosen one is below it, as with a tab, and not beside it
	chosen    bool
	picked    bool // is the chosen one, which its mark alone shows
	off       bool // cannot be chosen now
	focused   bool // and shows it
	quiet     bool // gets the focus from the mouse, and does not show it
	hovered   bool
	step      func(by int) // moves the choice within its group; nil outside one
	again     func()       // in place of OnPress when Enter presses what is chosen already; may be nil
}

// Group makes presses one group, in which the arrows move the choice and the focus, as Home and End do. at is the chosen
// one; hidden ones are passed over. Enter chooses; on the chosen one it calls again, which may be nil.
func Group(items []*Tappable, at func() int, choose func(int), again func()) {
	for i, item := range items {
		item.again = again
		item.step = func(by int) {
			for next := i + by; next >= 0 && next < len(items); next += by {
				if items[next].Visible() {
					choose(next)
					if c := fyne.CurrentApp().Driver().CanvasForObject(item); c != nil {
						c.Focus(items[at()])
					}
					return
				}
			}
		}
	}
}

const (
	barWidth = 4
	barInset = 6 // above and below
)

func NewTappable(content fyne.CanvasObject, pressed func()) *Tappable {
	p := &Tappable{Content: content, OnPress: pressed}
	p.ExtendBaseWidget(p)
	return p
}

func (p *Tappable) Choose(chosen bool) {
	if p.chosen != chosen {
		p.chosen = chosen
		p.Refresh()
	}
}

// Tapped gives what moves the choice the focus, so that the arrows go on where the mouse was; the ring comes with the first key.
func (p *Tappable) Tapped(e *fyne.PointEvent) {
	pointAway(p.Content)
	if c := fyne.CurrentApp().Driver().CanvasForObject(p); e != nil && p.step != nil && c != nil {
		p.quiet = true
		c.Focus(p)
		p.quiet = false
	}
	if p.OnPress != nil {
		p.OnPress()
	}
}

func (p *Tappable) FocusGained() { p.focused = !p.quiet; p.Refresh(); reveal(p.Content) }

func (p *Tappable) FocusLost() { p.focused = false; p.Refresh() }

func (p *Tappable) TypedRune(rune) {}

func (p *Tappable) TypedKey(e *fyne.KeyEvent) {
	if !p.focused {
		p.FocusGained()
	}
	switch e.Name {
	case fyne.KeyReturn, fyne.KeyEnter:
		if p.again != nil && p.chosen {
			p.again()
			return
		}
		p.Tapped(nil)
	case fyne.KeySpace:
		p.Tapped(nil)
	case fyne.KeyUp, fyne.KeyLeft, fyne.KeyDown, fyne.KeyRight:
		if p.step == nil {
			pass(p.Content, e)
			return
		}
		by := 1
		if e.Name == fyne.KeyUp || e.Name == fyne.KeyLeft {
			by = -1
		}
		p.step(by)
	default:
		pass(p.Content, e)
	}
}

func (p *Tappable) MouseIn(e *desktop.MouseEvent) {
	p.hovered = true
	p.Refresh()
	point(p.Content, e, cut(p.Lines))
}

func (p *Tappable) MouseOut() {
	p.hovered = false
	p.Refresh()
	pointAway(p.Content)
}

func (p *Tappable) CreateRenderer() fyne.WidgetRenderer {
	back, bar := canvas.NewRectangle(color.Transparent), canvas.NewRectangle(color.Transparent)
	return newRinged(painted(&renderer{
		objects: []fyne.CanvasObject{back, bar, p.Content},
		least:   p.Content.MinSize,
		layout: func(size fyne.Size) {
			back.Resize(size)
			if p.underline {
				place(bar, 0, size.Height-2, size.Width, 2)
			} else {
				place(bar, 1, barInset, barWidth, max(0, size.Height-2*barInset))
			}
			p.Content.Resize(size)
		},
		paint: func() {
			th, variant := p.Theme(), fyne.CurrentApp().Settings().ThemeVariant()
			back.CornerRadius = th.Size(fynetheme.SizeNameButtonRadius)
			bar.CornerRadius = 0
			edge(back, color.Transparent)
			back.FillColor, bar.FillColor = color.Transparent, color.Transparent
			if p.chosen {
				bar.FillColor = th.Color(theme.Ink, variant)
			}
			if p.chosen && !p.underline { // a shade alone tells some people nothing
				bar.CornerRadius = barWidth / 2
				back.FillColor = th.Color(theme.Chosen, variant)
				edge(back, th.Color(theme.Edge, variant))
			}
			if p.hovered && back.FillColor == color.Transparent {
				back.FillColor = th.Color(fynetheme.ColorNameHover, variant)
			}
		},
	}), p, func() bool { return p.focused })
}

// NewLink returns a text to be pressed that leads somewhere, with an icon, and shortens itself where there is no room.
func NewLink(icon fyne.Resource, text string, pressed func()) *Tappable {
	line := NewLine(text)
	line.Colour, line.Shorten = theme.Ink, true
	p := NewTappable(PadHV(4, 6, Across(widget.NewIcon(fynetheme.NewColoredResource(icon, theme.Ink)), line, nil)), pressed)
	p.Lines = []*Line{line}
	return p
}

// NavItem is an entry of the sidebar: an icon and a word, and a note at its end, which may be nil.
func NavItem(icon fyne.Resource, text string, note fyne.CanvasObject, pressed func()) *Tappable {
	return NewTappable(PadHV(12, 8, Across(widget.NewIcon(icon), NewLine(text), note)), pressed)
}

// Drop is a quiet word that opens a menu or a panel below itself.
type Drop struct {
	Tappable
	line *Line
}

func NewDrop(text string, pressed func()) *Drop {
	d := &Drop{line: NewCaption(text)}
	d.line.Shorten = false
	arrow := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.MenuDropDownIcon(), theme.Secondary))
	d.Content, d.OnPress = PadHV(6, 4, Row(2, d.line, Mark(16, arrow))), pressed
	d.ExtendBaseWidget(d)
	return d
}

func (d *Drop) SetText(text string) {
	d.line.Set(text)
	d.Content.Refresh()
}

// chipRoom is how wide the word of a chip gets.
const chipRoom = 190

// NewChip returns a word that is pressed to be rid of what it stands for.
func NewChip(text string, remove func()) *Tappable {
	line := NewCaption(text)
	line.Colour = theme.Text
	whole := fyne.MeasureText(text, fyne.CurrentApp().Settings().Theme().Size(line.Scale), fyne.TextStyle{}).Width
	cross := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.CancelIcon(), theme.Secondary))
	back := NewBack(theme.Calm)
	back.outline = theme.Line
	p := NewTappable(nil, remove)
	p.Says = func() string { return Removing(text) }
	p.Content = container.NewStack(back, PadHV(8, 3, Row(4, Wide(min(whole+1, chipRoom), line), Mark(13, cross))))
	p.Lines = []*Line{line}
	return p
}
