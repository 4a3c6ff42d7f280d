package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Drop is a quiet word that opens a menu or a panel below itself.
type Drop struct {
	Tappable
	line *Line
}

// NewDrop returns a word that calls pressed.
func NewDrop(text string, pressed func()) *Drop {
	d := &Drop{line: NewCaption(text)}
	d.line.Shorten = false
	arrow := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.MenuDropDownIcon(), theme.Secondary))
	d.Content, d.OnPress = PadHV(6, 4, Row(2, d.line, Mark(16, arrow))), pressed
	d.ExtendBaseWidget(d)
	return d
}

// Text is the word.
func (d *Drop) Text() string { return d.line.Text }

// SetText changes the word.
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
