package compose

import (
	"fyne.io/fyne/v2"

	"countersign/ui/widgets"
)

// newInput is an entry of this screen.
func (s *Screen) newInput(placeholder string) *widgets.Entry {
	e := widgets.NewEntry(placeholder)
	e.OnChanged = func(string) { s.changed() }
	e.OnSubmitted = func(string) { s.goOn() }
	e.OnEscape = s.unfocus
	return e
}

// goOn goes to the next field, or to what adds one more signer or sends. Enter passes over the buttons in between, which remove
// what was just typed, or replace it, were Enter to press them next; Tab stops at them.
func (s *Screen) goOn() {
	canvas := s.env.Window.Canvas()
	from := canvas.Focused()
	for {
		canvas.FocusNext()
		switch at := canvas.Focused().(type) {
		case nil, *widgets.Entry:
			return
		case *widgets.Button:
			if at == s.addPerson || at == s.bar.send {
				return
			}
		}
		if canvas.Focused() == from {
			return
		}
	}
}

// newButton is a button of this screen, which Escape leaves.
func (s *Screen) newButton(text string, icon fyne.Resource, pressed func()) *widgets.Button {
	b := widgets.NewButtonWithIcon(text, icon, pressed)
	b.OnEscape = s.unfocus
	return b
}

// unfocus leaves a field; the next Escape is the window's, which leaves the screen.
func (s *Screen) unfocus() { s.env.Window.Canvas().Unfocus() }
