package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Question is asked before something that cannot be taken back. Its first answer is the safe one, on which the cursor
// stands, so that Enter does no harm. Escape leaves without an answer.
type Question struct {
	Title, Text string
	Safe, Do    string // the answers
	OnSafe      func() // may be nil
	OnDo        func()
}

// Ask shows a question in the middle of a window.
func Ask(window fyne.Canvas, q Question) *PopUp {
	var p *PopUp
	answer := func(text string, then func()) *Button {
		return NewButton(text, func() {
			p.Close()
			if then != nil {
				then()
			}
		})
	}
	safe, do := answer(q.Safe, q.OnSafe), answer(q.Do, q.OnDo)
	safe.Importance = widget.HighImportance
	text := NewParagraph(q.Text)
	text.Colour = theme.Text
	content := Pad(20, Stack(16, NewHeading(q.Title), text, Row(8, layout.NewSpacer(), safe, do)))
	p = Open(window, content, fyne.NewSize(440, 0), safe, nil)
	return p
}
