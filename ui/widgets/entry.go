package widgets

import (
	"image/color"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"
)

// Entry is Fyne's entry that shows the focus and whether it is wrong, is left by Tab, also where it has several lines, and
// leaves keys and shortcuts that are not about text to the window. All its functions may be nil.
type Entry struct {
	widget.Entry
	hoverable
	named
	inField
	OnEscape      func()                            // in place of the window
	OnKey         func(*fyne.KeyEvent) (taken bool) // may take any key before the entry gets it
	OnShortcut    func(fyne.Shortcut) (taken bool)  // may take any shortcut
	OnFocusGained func()
	OnFocusLost   func() // to another place of the window, or with the whole window
	focused       bool
	entered       bool // nothing came since it got the focus
	wrong         bool
	inner         *container.Scroll // in which its text lies
}

// Mark shows that what is typed is wrong, or no longer; words that say why go with it.
func (e *Entry) Mark(wrong bool) {
	if e.wrong != wrong {
		e.wrong = wrong
		e.Refresh()
	}
}

// Typed is the text without the room around it.
func (e *Entry) Typed() string { return strings.TrimSpace(e.Text) }

func NewEntry(placeholder string) *Entry {
	e := &Entry{}
	e.PlaceHolder = placeholder
	e.ExtendBaseWidget(e)
	return e
}

func NewSecret() *Entry {
	e := NewEntry("")
	e.Password = true
	return e
}

// TypedRune is Fyne's. The space of a key that pressed a button, which then gave the focus to the entry, is no text: of what is
// typed here the key comes before its letter.
func (e *Entry) TypedRune(r rune) {
	pressed := e.entered && r == ' '
	e.entered = false
	if !pressed {
		e.Entry.TypedRune(r)
	}
}

// TypedKey passes Escape on, and what OnKey takes.
func (e *Entry) TypedKey(k *fyne.KeyEvent) {
	e.entered = false
	switch {
	case e.OnKey != nil && e.OnKey(k):
	case k.Name == fyne.KeyEscape && e.OnEscape != nil:
		e.OnEscape()
	case k.Name == fyne.KeyEscape, k.Name == fyne.KeyF5, isEnter(k) && !e.MultiLine && e.OnSubmitted == nil:
		pass(e, k)
	default:
		e.Entry.TypedKey(k)
	}
}

func (e *Entry) CreateRenderer() fyne.WidgetRenderer {
	inner := e.Entry.CreateRenderer()
	for _, o := range inner.Objects() {
		if scroll, is := o.(*container.Scroll); is {
			e.inner = scroll
		}
	}
	r := newRinged(inner, e, func() bool { return e.focused && !e.Disabled() })
	r.wrong = func() bool { return e.wrong }
	r.draw()
	return r
}

// Disable is Fyne's, and gives the focus up: from an entry that cannot be used Fyne hands no shortcut on, Ctrl+Q included.
func (e *Entry) Disable() {
	e.Entry.Disable()
	e.leaveDisabled()
}

// MouseDown is Fyne's, which gives the focus to an entry that cannot be used, too.
func (e *Entry) MouseDown(m *desktop.MouseEvent) {
	e.Entry.MouseDown(m)
	e.leaveDisabled()
}

func (e *Entry) leaveDisabled() {
	if window := fyne.CurrentApp().Driver().CanvasForObject(e); e.focused && e.Disabled() && window != nil {
		window.Unfocus()
	}
}

// AcceptsTab is Fyne's. Tab always leaves the entry, also where it has several lines, so that the keyboard reaches all else.
func (e *Entry) AcceptsTab() bool { return false }

// MouseIn is Fyne's. A text that is longer than the field shows whole near the mouse.
func (e *Entry) MouseIn(m *desktop.MouseEvent) {
	under = e
	room := e.Size().Width - 2*e.Theme().Size(fynetheme.SizeNameInnerPadding)
	if e.ActionItem != nil {
		room -= e.ActionItem.Size().Width
	}
	long := fyne.MeasureText(e.Text, e.Theme().Size(fynetheme.SizeNameText), e.TextStyle).Width > room
	if long && !e.MultiLine && !e.Password {
		point(e, m, []string{e.Text})
	}
}

func (e *Entry) MouseOut() {
	under = nil
	pointAway(e)
}

func (e *Entry) FocusGained() {
	e.focused, e.entered = true, true
	e.Entry.FocusGained()
	reveal(e)
	if e.OnFocusGained != nil {
		e.OnFocusGained()
	}
}

func (e *Entry) FocusLost() {
	e.focused = false
	e.Entry.FocusLost()
	if e.OnFocusLost != nil {
		e.OnFocusLost()
	}
}

// TypedShortcut hands shortcuts that are not about text to the window; Fyne's entry would swallow them.
func (e *Entry) TypedShortcut(shortcut fyne.Shortcut) {
	switch {
	case e.OnShortcut != nil && e.OnShortcut(shortcut):
	case isText(shortcut):
		e.Entry.TypedShortcut(shortcut)
	default:
		PassShortcut(e, shortcut)
	}
}

// WithButton is an entry with a button at its right end. Fyne would have the button within the entry, where Tab comes to it
// after the entry and Shift+Tab, too.
func WithButton(e *Entry, b *Button) *fyne.Container {
	room := canvas.NewRectangle(color.Transparent)
	e.ActionItem = room
	return container.New(&atEnd{e, b, room}, e, b)
}

type atEnd struct {
	entry  *Entry
	button *Button
	room   *canvas.Rectangle // in the entry, for the button
}

func (a *atEnd) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	a.room.SetMinSize(fyne.NewSize(a.button.MinSize().Width, 0))
	a.entry.Resize(size)
	edge, width := a.entry.Theme().Size(fynetheme.SizeNameInputBorder), a.button.MinSize().Width
	a.button.Resize(fyne.NewSize(width, size.Height-2*edge))
	a.button.Move(fyne.NewPos(size.Width-width-edge, edge))
}

func (a *atEnd) MinSize([]fyne.CanvasObject) fyne.Size { return a.entry.MinSize() }

// isText says whether a shortcut is one of those with which people edit text: those that Fyne names, and the words to which
// and before which the cursor goes.
func isText(shortcut fyne.Shortcut) bool {
	custom, is := shortcut.(*desktop.CustomShortcut)
	if !is {
		return true
	}
	switch custom.KeyName {
	case fyne.KeyLeft, fyne.KeyRight, fyne.KeyBackspace, fyne.KeyDelete, fyne.KeyHome, fyne.KeyEnd:
		return true
	}
	return false
}
