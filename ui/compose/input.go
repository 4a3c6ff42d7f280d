package compose

import (
	"fyne.io/fyne/v2"

	"countersign/ui/widgets"
)

// newInput is an entry of this screen.
func (s *Screen) newInput(placeholder string) *widgets.Entry {
	e := widgets.NewEntry(placeholder)
	e.OnChanged = func(string) { s.changed() }
	e.OnSubmitted = func(string) { s.env.Window.Canvas().FocusNext() }
	e.OnEscape = s.unfocus
	return e
}

// newButton is a button of this screen, which Escape leaves.
func (s *Screen) newButton(text string, icon fyne.Resource, pressed func()) *widgets.Button {
	b := widgets.NewButtonWithIcon(text, icon, pressed)
	b.OnEscape = s.unfocus
	return b
}

// unfocus leaves a field; the next Escape is the window's, which leaves the screen.
func (s *Screen) unfocus() { s.env.Window.Canvas().Unfocus() }
