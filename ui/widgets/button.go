package widgets

import (
	"image/color"
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Button is Fyne's button, except that it shows focus only as a ring, also responds to Enter, keeps the focus when a key presses it,
// and passes all other keys to the window.
type Button struct {
	widget.Button
	named
	OnEscape func()                    // replaces the window's handling; may be nil
	OnKey    func(*fyne.KeyEvent) bool // sees each key first, reports whether it used it; may be nil
	Tip      string                    // tooltip; may be empty
	focused  bool
}

func NewButton(text string, pressed func()) *Button { return NewButtonWithIcon(text, nil, pressed) }

func NewButtonWithIcon(text string, icon fyne.Resource, pressed func()) *Button {
	b := &Button{}
	b.Text, b.Icon, b.OnTapped = text, icon, pressed
	b.ExtendBaseWidget(b)
	return b
}

// Primary fills the button: a page's main action.
func (b *Button) Primary() *Button {
	b.Importance = widget.HighImportance
	return b
}

// Quiet removes the button's background.
func (b *Button) Quiet() *Button {
	b.Importance = widget.LowImportance
	return b
}

func (b *Button) CreateRenderer() fyne.WidgetRenderer {
	b.ExtendBaseWidget(b)
	t := tinted{b.Button.CreateRenderer(), b}
	t.tint()
	r := newRinged(t, b, func() bool { return b.focused })
	r.edge = theme.Edge
	r.draw()
	return r
}

// tinted draws a quiet button in the link colour, or in the caption colour if it is only an icon. Fyne draws both as dark as a
// heading, so nothing on a screen would stand out.
type tinted struct {
	fyne.WidgetRenderer
	of *Button
}

func (t tinted) Refresh() {
	t.WidgetRenderer.Refresh()
	t.tint()
}

func (t tinted) tint() {
	if t.of.Importance != widget.LowImportance || t.of.Disabled() {
		return
	}
	colour := theme.Ink
	if t.of.Text == "" {
		colour = theme.Secondary
	}
	for _, o := range t.Objects() {
		switch o := o.(type) {
		case *widget.RichText:
			o.Segments[0].(*widget.TextSegment).Style.ColorName = colour
			o.Refresh()
		case *canvas.Image:
			o.Resource = fynetheme.NewColoredResource(t.of.Icon, colour)
			o.Refresh()
		}
	}
}

func (b *Button) FocusGained() {
	if b.focused = showsFocus(b); b.focused {
		b.Refresh()
	}
	reveal(b)
}

func (b *Button) FocusLost() {
	b.focused = false
	b.Refresh()
}

func (b *Button) MouseIn(m *desktop.MouseEvent) {
	b.Button.MouseIn(m)
	tip := b.Tip
	if b.Text == "" { // an icon alone needs explaining
		tip = b.name()
	}
	if tip != "" {
		point(b, m, []string{tip})
	}
}

func (b *Button) Tapped(e *fyne.PointEvent) {
	byKey = false
	pointAway(b)
	window := fyne.CurrentApp().Driver().CanvasForObject(b)
	b.Button.Tapped(e)
	keepFocus(window)
}

func (b *Button) MouseOut() {
	b.Button.MouseOut()
	pointAway(b)
}

func (b *Button) TypedKey(e *fyne.KeyEvent) {
	byKey, quiet = true, nil
	if !b.focused {
		b.FocusGained()
	}
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

// Check is a check box whose label wraps; Fyne's truncates.
type Check struct {
	Tappable
	inField
	Text      string
	Checked   bool
	OnChanged func(bool)
	mark      *widget.Icon
	words     *Prose
}

func NewCheck(text string, changed func(bool)) *Check {
	c := &Check{Text: text, OnChanged: changed, mark: widget.NewIcon(nil), words: NewParagraph("")}
	c.Content = Pad(8, Across(c.mark, c.words, nil))
	c.OnPress = func() {
		if window := fyne.CurrentApp().Driver().CanvasForObject(c); window != nil {
			Focus(window, c)
		}
		c.SetChecked(!c.Checked)
	}
	c.ExtendBaseWidget(c)
	c.draw()
	return c
}

func (c *Check) SetChecked(checked bool) {
	if c.Checked == checked {
		return
	}
	c.Checked = checked
	if c.OnChanged != nil {
		c.OnChanged(checked)
	}
	c.Refresh()
}

func (c *Check) Enable() { c.off = false; c.Refresh() }

func (c *Check) Disable() { c.off = true; c.Refresh() }

func (c *Check) Refresh() {
	c.draw()
	c.Tappable.Refresh()
}

func (c *Check) draw() {
	icon := fynetheme.CheckButtonIcon()
	c.words.Colour, c.words.Text = theme.Text, c.Text
	if c.Checked {
		icon = fynetheme.NewColoredResource(fynetheme.CheckButtonCheckedIcon(), theme.Ink)
	}
	if c.off {
		icon, c.words.Colour = fynetheme.NewDisabledResource(icon), fynetheme.ColorNameDisabled
	}
	c.mark.SetResource(icon)
	c.words.Refresh()
}

// natural returns the width on a single line.
func (c *Check) natural() float32 {
	return c.Content.MinSize().Width - c.words.MinSize().Width + c.words.measure(c.Text)
}

// Select is Fyne's selection, except that it shows focus only as a ring, also opens with Enter, and passes other keys to the window.
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

func (s *Select) FocusGained() { s.focused = true; s.Refresh(); reveal(s) }

func (s *Select) FocusLost() { s.focused = false; s.Refresh() }

func (s *Select) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyReturn, fyne.KeyEnter, fyne.KeySpace, fyne.KeyUp, fyne.KeyDown:
		s.offer()
	case fyne.KeyLeft, fyne.KeyRight:
		s.Select.TypedKey(e)
	default:
		pass(s, e)
	}
}

func (s *Select) Tapped(*fyne.PointEvent) {
	if !s.Disabled() {
		Focus(fyne.CurrentApp().Driver().CanvasForObject(s), s)
		s.offer()
	}
}

// offer opens the list at the chosen line, with a mark there, which Fyne's lacks.
func (s *Select) offer() {
	menu := fyne.NewMenu("")
	for _, text := range s.Options {
		item := fyne.NewMenuItem(text, func() { s.SetSelected(text) })
		item.Checked = text == s.Selected
		menu.Items = append(menu.Items, item)
	}
	pop := OpenMenu(fyne.CurrentApp().Driver().CanvasForObject(s), menu, s)
	pop.Resize(pop.MinSize().Max(fyne.NewSize(s.Size().Width, 0)))
	for range s.SelectedIndex() + 1 {
		pop.ActivateNext()
	}
}

// CopyButton copies something and briefly shows a confirmation next to itself.
type CopyButton struct {
	widget.BaseWidget
	Button  *Button
	content *fyne.Container
	Said    *Line // the confirmation; usually empty
	later   func(d time.Duration, over func())
	times   int // how often the confirmation was shown or cleared
}

// NewCopyButton returns a button that copies what text returns at the moment of the press. later calls over on the UI goroutine
// after d.
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

// Forget clears the confirmation, because the text to copy has changed.
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

// Tappable is arbitrary content that can be pressed and chosen, such as a sidebar entry or a tab (Fyne's button holds only text and
// an icon). It takes the focus, shows it, responds to Space and Enter, and passes other keys to the window.
type Tappable struct {
	widget.BaseWidget
	hoverable
	named
	Content   fyne.CanvasObject
	OnPress   func()
	Lines     []*Line // may be shortened; shown in full on hover
	More      string  // always in the tooltip; may be empty
	underline bool    // marks the chosen one below, as tabs do, instead of beside
	chosen    bool
	picked    bool // chosen, shown by the mark alone
	off       bool // disabled
	focused   bool // and shows the focus
	hovered   bool
	step      func(by int) // moves the choice within its group; nil outside one
	below     func()       // moves to the tab's content; nil if this is not a tab
	stop      func() bool  // whether Tab stops here, within a group
	again     func()       // replaces OnPress when Enter is pressed on the chosen one; may be nil
	whole     fyne.Widget  // itself, or the widget that embeds it
}

func (p *Tappable) ExtendBaseWidget(whole fyne.Widget) {
	p.whole = whole
	p.BaseWidget.ExtendBaseWidget(whole)
}

// quiet is the widget that got the focus without a key and hides it until a key is used; nil for none. byKey reports whether the
// last input was a key. Only the UI goroutine uses them.
var (
	quiet any
	byKey bool
)

// Group joins items into one Tab stop within which the arrow keys move both choice and focus, skipping hidden items. at returns the
// chosen index, negative for none. Enter chooses; on the chosen item it calls again, which may be nil.
func Group(items []*Tappable, at func() int, choose func(int), again func()) {
	for i, item := range items {
		item.again = again
		item.stop = func() bool {
			if chosen := at(); chosen >= 0 && items[chosen].Visible() {
				return chosen == i
			}
			return slices.IndexFunc(items, (*Tappable).Visible) == i
		}
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

// SkipTab makes Tab skip it, because another key leads to it.
func (p *Tappable) SkipTab() { p.stop = func() bool { return false } }

// Tapped focuses a member of a group, so that the arrow keys continue from the mouse click; the ring appears with the first key.
func (p *Tappable) Tapped(e *fyne.PointEvent) {
	byKey = e == nil
	pointAway(p.Content)
	if p.OnPress != nil && !p.off {
		p.OnPress()
	}
	c := fyne.CurrentApp().Driver().CanvasForObject(p)
	if e != nil && p.step != nil && c != nil {
		Focus(c, p)
	}
	keepFocus(c)
}

// Focus moves the focus. Buttons, pressed items and lists show it only once keys are used.
func Focus(window fyne.Canvas, on fyne.Focusable) {
	if !byKey {
		quiet = on
	}
	window.Focus(on)
}

// showsFocus reports whether on shows the focus it gets. The quiet widget shows it, too, after the focus has been elsewhere.
func showsFocus(on fyne.CanvasObject) bool {
	if p := overTop(on); p != nil && any(p.window.Focused()) == any(on) {
		p.last = p.window.Focused()
	}
	if quiet != any(on) {
		quiet = nil
	}
	return quiet == nil
}

// Disabled makes Fyne's Tab order skip it.
func (p *Tappable) Disabled() bool { return p.off || p.stop != nil && !p.stop() }

func (p *Tappable) Enable() { p.off = false; p.Refresh() }

func (p *Tappable) Disable() { p.off = true; p.Refresh() }

func (p *Tappable) FocusGained() {
	p.focused = showsFocus(p.whole)
	p.Refresh()
	reveal(p.whole)
}

func (p *Tappable) FocusLost() { p.focused = false; p.Refresh() }

func (p *Tappable) TypedRune(rune) {}

func (p *Tappable) TypedKey(e *fyne.KeyEvent) {
	byKey, quiet = true, nil
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
		switch {
		case p.step == nil || p.below != nil && e.Name == fyne.KeyUp:
			pass(p.Content, e)
			return
		case p.below != nil && e.Name == fyne.KeyDown:
			p.below()
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
	texts := cut(p.Lines)
	for _, l := range p.Lines {
		if !l.Visible() {
			texts = append(texts, l.Text)
		}
	}
	if p.More != "" {
		texts = append(texts, p.More)
	}
	point(p.Content, e, texts)
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
			if p.chosen && !p.underline { // some people cannot see the shade alone
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

// NewLink returns small pressable text.
func NewLink(text string, pressed func()) *Tappable {
	line := NewCaption(text).Whole()
	line.Colour = theme.Ink
	return NewTappable(PadHV(2, 6, line), pressed)
}

// Nav is a sidebar entry: an icon, a word, and an optional note at the end. In a narrow sidebar the word is hidden.
type Nav struct {
	*Tappable
	icon *widget.Icon
	name string // of the icon
	word *Line
}

func NewNav(icon string, word *Line, note fyne.CanvasObject, pressed func()) *Nav {
	n := &Nav{icon: widget.NewIcon(nil), name: icon, word: word}
	content := Across(n.icon, word, nil)
	if note != nil {
		content = container.New(noted{word}, content, note)
	}
	n.Tappable = NewTappable(PadHV(navRoom, 8, content), pressed)
	n.Lines = []*Line{word}
	n.Says = func() string { return word.Text }
	n.Choose(false)
	return n
}

const navRoom = 12 // at the sides of an entry

// noted has a note at the end of an entry, or over the corner of its icon where the word is hidden, so that it moves nothing.
type noted struct{ word *Line }

func (n noted) Layout(o []fyne.CanvasObject, size fyne.Size) {
	entry, note := o[0], o[1]
	place(entry, 0, 0, size.Width, size.Height)
	side, wide := min(note.MinSize().Height, size.Height), note.MinSize().Width
	switch {
	case n.word.Visible():
		place(note, size.Width-wide, (size.Height-side)/2, wide, side)
	case wide == side: // an icon, smaller
		place(note, size.Width+navRoom-wide*2/3, -4, wide*2/3, side*2/3)
	default:
		place(note, size.Width+navRoom-wide-2, -6, wide, side)
	}
}

func (n noted) MinSize(o []fyne.CanvasObject) fyne.Size {
	least := o[0].MinSize()
	if n.word.Visible() {
		least.Width += gap + o[1].MinSize().Width
	}
	return least
}

func (n *Nav) Choose(chosen bool) {
	n.word.Colour, n.word.Bold = theme.Secondary, chosen
	if chosen {
		n.word.Colour = theme.Ink
	}
	n.icon.SetResource(theme.Icon(n.name, n.word.Colour))
	n.word.Refresh()
	n.Tappable.Choose(chosen)
}

// NewMore returns a button that opens a menu, with a tooltip.
func NewMore(tip string, menu func() *fyne.Menu) *Button {
	b := NewButtonWithIcon("", fynetheme.MoreHorizontalIcon(), nil).Quiet()
	b.Tip = tip
	b.OnTapped = func() { OpenMenu(fyne.CurrentApp().Driver().CanvasForObject(b), menu(), b) }
	return b
}

// Drop is quiet text that opens a menu or panel below itself.
type Drop struct {
	Tappable
	line  *Line
	arrow *widget.Icon
}

const dropRoom = 6 // at the sides

func NewDrop(text string, pressed func()) *Drop {
	d := &Drop{line: NewCaption(text), arrow: widget.NewIcon(nil)}
	d.line.Shorten = false
	d.point(fynetheme.MenuDropDownIcon())
	d.Content, d.OnPress = PadHV(dropRoom, 4, Row(2, d.line, Mark(16, d.arrow))), pressed
	d.ExtendBaseWidget(d)
	return d
}

func (d *Drop) point(icon fyne.Resource) {
	d.arrow.SetResource(fynetheme.NewColoredResource(icon, theme.Secondary))
}

func (d *Drop) SetText(text string) {
	d.line.Set(text)
	d.Content.Refresh()
}

// chipRoom is the maximum width of a chip's text.
const chipRoom = 190

// NewChip returns a word that, when pressed, removes what it stands for.
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
