package widgets

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// CopyButton is a button that copies something, and says so beside itself for a moment.
type CopyButton struct {
	widget.BaseWidget
	Button  *Button
	content *fyne.Container
	said    *Line
	later   func(d time.Duration, over func())
	times   int // that it was said, or forgotten
}

// NewCopyButton returns a button that calls do, which calls copied as soon as that is true. later calls over on the
// window's goroutine when d has passed.
func NewCopyButton(name string, later func(d time.Duration, over func()), do func(copied func())) *CopyButton {
	c := &CopyButton{said: NewLine(""), later: later}
	c.said.Colour, c.said.Scale = theme.Done, theme.Caption
	c.Button = NewButtonWithIcon(name, fynetheme.ContentCopyIcon(), func() { do(c.say) })
	c.content = Row(8, c.said, c.Button)
	c.ExtendBaseWidget(c)
	c.Forget()
	return c
}

func (c *CopyButton) CreateRenderer() fyne.WidgetRenderer {
	return widget.NewSimpleRenderer(c.content)
}

// Said is what the button says beside itself, empty most of the time.
func (c *CopyButton) Said() string { return c.said.Text }

// Forget says nothing any more: something else is to be copied now.
func (c *CopyButton) Forget() { c.show("") }

func (c *CopyButton) say() {
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
	c.said.Set(text)
	c.said.Hidden = text == ""
	c.Refresh()
}
