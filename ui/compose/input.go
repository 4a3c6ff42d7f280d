package compose

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"countersign/ui/widgets"
)

// input is an entry of this screen.
type input struct {
	widgets.Entry
	screen  *Screen
	onKey   func(fyne.KeyName) bool    // gets keys first and says whether it used one; may be nil
	onText  func(fyne.Shortcut) bool   // the same for shortcuts
	onFocus func(in *input, here bool) // may be nil
}

func (s *Screen) newInput(placeholder string) *input {
	i := &input{screen: s}
	i.PlaceHolder = placeholder
	i.OnChanged = func(string) { s.changed() }
	i.OnSubmitted = func(string) { s.env.Window.Canvas().FocusNext() }
	i.OnEscape = s.unfocus
	i.ExtendBaseWidget(i)
	return i
}

func (s *Screen) newText(rows int) *input {
	i := s.newInput("")
	i.MultiLine, i.Wrapping = true, fyne.TextWrapWord
	i.SetMinRowsVisible(rows)
	return i
}

// TypedKey is Fyne's.
func (i *input) TypedKey(k *fyne.KeyEvent) {
	if i.onKey != nil && i.onKey(k.Name) {
		return
	}
	i.Entry.TypedKey(k)
}

// TypedShortcut sends on Ctrl+Enter, keeps what is about text, and hands the rest to the window.
func (i *input) TypedShortcut(shortcut fyne.Shortcut) {
	if i.onText != nil && i.onText(shortcut) {
		return
	}
	custom, ok := shortcut.(*desktop.CustomShortcut)
	if !ok {
		i.Entry.Entry.TypedShortcut(shortcut)
		return
	}
	switch custom.KeyName {
	case fyne.KeyReturn, fyne.KeyEnter:
		i.screen.Send()
	case fyne.KeyLeft, fyne.KeyRight, fyne.KeyBackspace, fyne.KeyDelete, fyne.KeyHome, fyne.KeyEnd:
		i.Entry.Entry.TypedShortcut(shortcut)
	default:
		if window, ok := i.screen.env.Window.Canvas().(fyne.Shortcutable); ok {
			window.TypedShortcut(shortcut)
		}
	}
}

// FocusGained is Fyne's.
func (i *input) FocusGained() {
	i.Entry.FocusGained()
	i.screen.reveal(i)
	if i.onFocus != nil {
		i.onFocus(i, true)
	}
}

// FocusLost is Fyne's.
func (i *input) FocusLost() {
	i.Entry.FocusLost()
	if i.onFocus != nil {
		i.onFocus(i, false)
	}
}

// newButton is a button of this screen, which scrolls to where it has the focus, and that Escape leaves.
func (s *Screen) newButton(text string, icon fyne.Resource, pressed func()) *widgets.Button {
	b := widgets.NewButtonWithIcon(text, icon, pressed)
	b.OnEscape = s.unfocus
	b.OnFocus = func() { s.reveal(b) }
	return b
}

// unfocus leaves a field; the next Escape is the window's, which leaves the screen.
func (s *Screen) unfocus() { s.env.Window.Canvas().Unfocus() }

// reveal scrolls to what has got the focus, so that Tab never leads out of sight.
func (s *Screen) reveal(o fyne.CanvasObject) {
	driver := fyne.CurrentApp().Driver()
	for _, scroll := range s.scrolls {
		top, at := driver.AbsolutePositionForObject(scroll.Content), driver.AbsolutePositionForObject(o)
		left := at.X - driver.AbsolutePositionForObject(scroll).X
		if left < 0 || left >= scroll.Size().Width { // in the other column
			continue
		}
		const room = 12
		above, below := at.Y-top.Y-room, at.Y-top.Y+o.Size().Height+room
		switch {
		case above < scroll.Offset.Y:
			scroll.ScrollToOffset(fyne.NewPos(0, max(0, above)))
		case below > scroll.Offset.Y+scroll.Size().Height:
			scroll.ScrollToOffset(fyne.NewPos(0, below-scroll.Size().Height))
		}
	}
}
