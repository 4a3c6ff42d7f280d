package widgets

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Button is Fyne's button that shows the focus, is pressed by Enter, too, keeps the focus when a key presses it, and
// leaves other keys to the window.
type Button struct {
	widget.Button
	named
	OnEscape func()                    // in place of the window; may be nil
	OnKey    func(*fyne.KeyEvent) bool // gets keys first and says whether it used one; may be nil
	Tip      string                    // says more where the mouse rests; may be empty
	focused  bool
}

func NewButton(text string, pressed func()) *Button { return NewButtonWithIcon(text, nil, pressed) }

func NewButtonWithIcon(text string, icon fyne.Resource, pressed func()) *Button {
	b := &Button{}
	b.Text, b.Icon, b.OnTapped = text, icon, pressed
	b.ExtendBaseWidget(b)
	return b
}

// Primary fills the button: the one of a page that is wanted most.
func (b *Button) Primary() *Button {
	b.Importance = widget.HighImportance
	return b
}

// Quiet leaves the button without a ground of its own.
func (b *Button) Quiet() *Button {
	b.Importance = widget.LowImportance
	return b
}

func (b *Button) CreateRenderer() fyne.WidgetRenderer {
	b.ExtendBaseWidget(b)
	r := newRinged(b.Button.CreateRenderer(), b, func() bool { return b.focused })
	r.edge = theme.Edge
	r.draw()
	return r
}

func (b *Button) FocusGained() {
	b.focused = true
	b.Button.FocusGained()
	reveal(b)
}

func (b *Button) FocusLost() {
	b.focused = false
	b.Button.FocusLost()
}

func (b *Button) MouseIn(m *desktop.MouseEvent) {
	b.Button.MouseIn(m)
	tip := b.Tip
	if b.Text == "" { // an icon says little by itself
		tip = b.name()
	}
	if tip != "" {
		point(b, m, []string{tip})
	}
}

func (b *Button) Tapped(e *fyne.PointEvent) {
	pointAway(b)
	b.Button.Tapped(e)
}

func (b *Button) MouseOut() {
	b.Button.MouseOut()
	pointAway(b)
}

func (b *Button) TypedKey(e *fyne.KeyEvent) {
	switch {
	case b.OnKey != nil && b.OnKey(e):
	case isEnter(e) || e.Name == fyne.KeySpace:
		if !b.Disabled() && b.OnTapped != nil {
			b.OnTapped()
		}
	case e.Name == fyne.KeyEscape && b.OnEscape != nil:
		b.OnEscape()
	default:
		pass(b, e)
	}
}

// Check is Fyne's check box that shows the focus, answers to Enter, and leaves other keys to the window.
type Check struct {
	widget.Check
	inField
	focused bool
}

func NewCheck(text string, changed func(bool)) *Check {
	c := &Check{}
	c.Text, c.OnChanged = text, changed
	c.ExtendBaseWidget(c)
	return c
}

func (c *Check) CreateRenderer() fyne.WidgetRenderer {
	c.ExtendBaseWidget(c)
	return newRinged(c.Check.CreateRenderer(), c, func() bool { return c.focused })
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

func NewSelect(texts []string, changed func(string)) *Select {
	s := &Select{}
	s.Options, s.OnChanged = texts, changed
	s.ExtendBaseWidget(s)
	return s
}

func (s *Select) CreateRenderer() fyne.WidgetRenderer {
	s.ExtendBaseWidget(s)
	r := newRinged(s.Select.CreateRenderer(), s, func() bool { return s.focused })
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

// CopyButton is a button that copies something, and says so beside itself for a moment.
type CopyButton struct {
	widget.BaseWidget
	Button  *Button
	content *fyne.Container
	Said    *Line // what it says beside itself, empty most of the time
	later   func(d time.Duration, over func())
	times   int // that it was said, or forgotten
}

// NewCopyButton returns a button that copies a text, of the moment in which it is pressed. later calls over on the window's
// goroutine when d has passed.
func NewCopyButton(name string, later func(d time.Duration, over func()), copy func(string), text func() string) *CopyButton {
	c := &CopyButton{Said: NewLine(""), later: later}
	c.Said.Colour, c.Said.Scale = theme.Done, theme.Caption
	c.Button = NewButtonWithIcon(name, fynetheme.ContentCopyIcon(), func() { copy(text()); c.Say() })
	c.content = Row(8, c.Said, c.Button)
	c.ExtendBaseWidget(c)
	c.Forget()
	return c
}

func (c *CopyButton) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(c.content) }

// Forget says nothing any more: something else is to be copied now.
func (c *CopyButton) Forget() { c.show("") }

func (c *CopyButton) Say() {
	text := lang.L("Copied.")
	c.show(text)
	at := c.times
	c.later(ReadingTime(text), func() {
		if c.times == at {
			c.Forget()
		}
	})
}

func (c *CopyButton) show(text string) {
	c.times++
	c.Said.Set(text)
	c.Said.Hidden = text == ""
	c.Refresh()
}
