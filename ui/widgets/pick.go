package widgets

import (
	"fyne.io/fyne/v2"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// Check is Fyne's check box that shows the focus, answers to Enter, and leaves other keys to the window.
type Check struct {
	widget.Check
	inField
	focused bool
}

// NewCheck returns a check box that tells when it is changed.
func NewCheck(text string, changed func(bool)) *Check {
	c := &Check{}
	c.Text, c.OnChanged = text, changed
	c.ExtendBaseWidget(c)
	return c
}

func (c *Check) CreateRenderer() fyne.WidgetRenderer {
	c.ExtendBaseWidget(c)
	return newRinged(c.Check.CreateRenderer(), c, c.Theme, func() bool { return c.focused })
}

func (c *Check) FocusGained() { c.focused = !c.Disabled(); c.Check.FocusGained(); reveal(c) }

func (c *Check) FocusLost() { c.focused = false; c.Check.FocusLost() }

// TypedKey is Fyne's; Space comes as a rune.
func (c *Check) TypedKey(e *fyne.KeyEvent) {
	switch {
	case isEnter(e):
		if !c.Disabled() {
			c.SetChecked(!c.Checked)
		}
	case e.Name != fyne.KeySpace:
		pass(c, e)
	}
}

// Select is Fyne's selection that shows the focus, opens with Enter, too, and leaves other keys to the window.
type Select struct {
	widget.Select
	named
	inField
	focused bool
}

// NewSelect returns a selection that tells when another text is chosen.
func NewSelect(texts []string, changed func(string)) *Select {
	s := &Select{}
	s.Options, s.OnChanged = texts, changed
	s.ExtendBaseWidget(s)
	return s
}

func (s *Select) CreateRenderer() fyne.WidgetRenderer {
	s.ExtendBaseWidget(s)
	r := newRinged(s.Select.CreateRenderer(), s, s.Theme, func() bool { return s.focused })
	r.edge = fynetheme.ColorNameInputBorder
	r.draw()
	return r
}

func (s *Select) FocusGained() { s.focused = true; s.Select.FocusGained(); reveal(s) }

func (s *Select) FocusLost() { s.focused = false; s.Select.FocusLost() }

func (s *Select) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyReturn, fyne.KeyEnter:
		s.Select.TypedKey(&fyne.KeyEvent{Name: fyne.KeySpace})
	case fyne.KeySpace, fyne.KeyUp, fyne.KeyDown, fyne.KeyLeft, fyne.KeyRight:
		s.Select.TypedKey(e)
	default:
		pass(s, e)
	}
}
