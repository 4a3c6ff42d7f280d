package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// Check is Fyne's check box that shows the focus, answers to Enter, and leaves other keys to the window.
type Check struct {
	widget.Check
	focused bool
}

// NewCheck returns a check box that tells when it is changed.
func NewCheck(text string, changed func(bool)) *Check {
	c := &Check{}
	c.Text, c.OnChanged = text, changed
	c.ExtendBaseWidget(c)
	return c
}

// CreateRenderer is Fyne's.
func (c *Check) CreateRenderer() fyne.WidgetRenderer {
	c.ExtendBaseWidget(c)
	return newRinged(c.Check.CreateRenderer(), c, c.Theme, func() bool { return c.focused })
}

// FocusGained is Fyne's.
func (c *Check) FocusGained() { c.focused = !c.Disabled(); c.Check.FocusGained(); reveal(c) }

// FocusLost is Fyne's.
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
	focused bool
}

// NewSelect returns a selection that tells when another text is chosen.
func NewSelect(texts []string, changed func(string)) *Select {
	s := &Select{}
	s.Options, s.OnChanged = texts, changed
	s.ExtendBaseWidget(s)
	return s
}

// CreateRenderer is Fyne's.
func (s *Select) CreateRenderer() fyne.WidgetRenderer {
	s.ExtendBaseWidget(s)
	r := newRinged(s.Select.CreateRenderer(), s, s.Theme, func() bool { return s.focused })
	r.edged = true
	r.draw()
	return r
}

// FocusGained is Fyne's.
func (s *Select) FocusGained() { s.focused = true; s.Select.FocusGained(); reveal(s) }

// FocusLost is Fyne's.
func (s *Select) FocusLost() { s.focused = false; s.Select.FocusLost() }

// TypedKey is Fyne's.
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

// Choice is a few texts of which always one is chosen. Tab leads from one to the next, and the arrows choose.
type Choice struct {
	widget.BaseWidget
	Options  []string
	Selected string
	changed  func()
	items    []*Press
	marks    []*widget.Icon
	list     *fyne.Container
	disabled bool
}

// NewChoice returns a choice with the first text chosen.
func NewChoice(texts []string, changed func()) *Choice {
	c := &Choice{Options: texts, Selected: texts[0], changed: changed, list: Stack(0)}
	for _, text := range texts {
		mark := widget.NewIcon(theme.RadioButtonIcon())
		item := NewPress(PadHV(4, 6, Across(mark, NewLine(text), nil)), func() { c.SetSelected(text) })
		c.items, c.marks = append(c.items, item), append(c.marks, mark)
		c.list.Add(container.NewHBox(item))
	}
	Group(c.items, func() int { return c.at() }, func(i int) { c.SetSelected(c.Options[i]) }, nil)
	c.ExtendBaseWidget(c)
	c.show()
	return c
}

// CreateRenderer is Fyne's.
func (c *Choice) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(c.list) }

func (c *Choice) at() int {
	for i, text := range c.Options {
		if text == c.Selected {
			return i
		}
	}
	return 0
}

// SetSelected chooses a text and tells when that is a change.
func (c *Choice) SetSelected(text string) {
	if c.disabled || text == c.Selected {
		return
	}
	c.Selected = text
	c.show()
	c.changed()
}

// Enable lets people choose.
func (c *Choice) Enable() { c.disabled = false; c.show() }

// Disable keeps the choice as it is.
func (c *Choice) Disable() { c.disabled = true; c.show() }

func (c *Choice) show() {
	for i, mark := range c.marks {
		icon := theme.RadioButtonIcon()
		if i == c.at() {
			icon = theme.RadioButtonCheckedIcon()
		}
		if c.disabled {
			icon = theme.NewDisabledResource(icon)
		}
		mark.SetResource(icon)
	}
}
