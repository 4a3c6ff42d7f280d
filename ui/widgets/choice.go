package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// Option is what can be chosen, perhaps with a sentence that explains it.
type Option struct{ Name, Text string }

// Choice is a few options of which one is chosen. Tab leads from one to the next, Space and Enter choose, and the arrows, too.
// Fyne's radio group explains nothing and knows no arrows.
type Choice struct {
	widget.BaseWidget
	Chosen   int // -1 while none is
	Items    []*Tappable
	changed  func(int)
	options  []Option
	marks    []*widget.Icon
	list     *fyne.Container
	disabled bool
}

// NewChoice returns a choice. changed is called when an option is chosen, also the chosen one; again, which may be nil, when
// Enter is pressed on the chosen one.
func NewChoice(options []Option, chosen int, changed func(int), again func()) *Choice {
	c := &Choice{Chosen: chosen, changed: changed, options: options}
	var rows []fyne.CanvasObject
	gap := float32(0)
	for i, option := range options {
		mark, name := widget.NewIcon(fynetheme.RadioButtonIcon()), NewLine(option.Name)
		item := NewTappable(PadHV(4, 6, Across(mark, name, nil)), func() { c.Choose(i) })
		row := fyne.CanvasObject(container.NewHBox(item))
		if option.Text != "" {
			name.Bold, gap = true, 4
			item.Content = PadHV(10, 8, Across(mark, Stack(3, name, NewProse(option.Text)), nil))
			row = item
		}
		c.Items, c.marks, rows = append(c.Items, item), append(c.marks, mark), append(rows, row)
	}
	c.list = Stack(gap, rows...)
	Group(c.Items, func() int { return c.Chosen }, c.Choose, again)
	c.ExtendBaseWidget(c)
	c.show()
	return c
}

func (c *Choice) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(c.list) }

// Choose chooses an option and tells.
func (c *Choice) Choose(i int) {
	if !c.disabled {
		c.Chosen = i
		c.show()
		c.changed(i)
	}
}

// ChooseSecond chooses the second of two options, or the first.
func (c *Choice) ChooseSecond(yes bool) {
	if yes {
		c.Choose(1)
	} else {
		c.Choose(0)
	}
}

// Offer shows an option, or takes it away.
func (c *Choice) Offer(i int, offered bool) {
	c.Items[i].Hidden = !offered
	c.list.Refresh()
}

// Enable lets people choose.
func (c *Choice) Enable() { c.disabled = false; c.show() }

// Disable keeps the choice as it is.
func (c *Choice) Disable() { c.disabled = true; c.show() }

func (c *Choice) show() {
	for i, mark := range c.marks {
		icon := fynetheme.RadioButtonIcon()
		if i == c.Chosen {
			icon = fynetheme.RadioButtonCheckedIcon()
		}
		if c.disabled {
			icon = fynetheme.NewDisabledResource(icon)
		}
		mark.SetResource(icon)
		c.Items[i].picked, c.Items[i].off = i == c.Chosen, c.disabled
		c.Items[i].Choose(i == c.Chosen && c.options[i].Text != "") // a short one shows it by its mark alone
	}
}
