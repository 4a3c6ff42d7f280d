package widgets

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Field is a named input with a line under it that explains, or says what is wrong.
type Field struct {
	widget.BaseWidget
	parts *fyne.Container
	line  *fyne.Container // mark and text below
	hint  string
	below *Prose
	mark  *widget.Icon
	input marked // nil for one that shows no marks
	wrong bool
}

// marked is an input that shows when it is wrong, as Entry does.
type marked interface {
	fyne.Focusable
	Mark(wrong bool)
}

// markedIn finds the first such input in an object; nil where there is none.
func markedIn(o fyne.CanvasObject) marked {
	if input, is := o.(marked); is {
		return input
	}
	if box, is := o.(*fyne.Container); is {
		for _, o := range box.Objects {
			if input := markedIn(o); input != nil {
				return input
			}
		}
	}
	return nil
}

// NewField returns a field around input: an entry, perhaps with something beside it, or any other. An entry is marked where
// it is wrong. The name may be empty, where the input has its own; so may the hint, which is shown while nothing is wrong.
func NewField(name string, input fyne.CanvasObject, hint string) *Field {
	label := NewCaption(name)
	label.Colour = theme.Text
	f := &Field{hint: hint, below: NewProse(hint), mark: widget.NewIcon(theme.MarkProblem.Resource())}
	label.Hidden = name == ""
	f.input = markedIn(input)
	f.line = Across(f.mark, f.below, nil)
	f.parts = Stack(3, label, input, f.line)
	f.ExtendBaseWidget(f)
	f.Wrong("")
	return f
}

// Wrong shows what is wrong beside the field; an empty text shows the hint again.
func (f *Field) Wrong(text string) {
	f.wrong = text != ""
	if f.input != nil {
		f.input.Mark(f.wrong)
	}
	f.below.Colour = theme.Secondary
	f.below.Text = f.hint
	f.mark.Hide()
	if f.wrong {
		f.below.Text, f.below.Colour = text, theme.Attention
		f.mark.Show()
	}
	f.line.Hidden = f.below.Text == ""
	f.below.Refresh()
	f.parts.Refresh()
}

// FocusWrong puts the cursor into the first field that is wrong, as they are read: by lines, and from the left.
func FocusWrong(fields []*Field) {
	driver := fyne.CurrentApp().Driver()
	var first *Field
	var at fyne.Position
	for _, f := range fields {
		here := driver.AbsolutePositionForObject(f)
		if f.wrong && f.input != nil && (first == nil || here.Y < at.Y || here.Y == at.Y && here.X < at.X) {
			first, at = f, here
		}
	}
	if first == nil {
		return
	}
	if window := driver.CanvasForObject(first); window != nil {
		window.Focus(first.input)
	}
}

// CreateRenderer is Fyne's.
func (f *Field) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(f.parts) }

// Hint changes what is shown while nothing is wrong.
func (f *Field) Hint(text string) {
	f.hint = text
	if !f.wrong {
		f.Wrong("")
	}
}

// Note shows a passing remark in place of the hint, in a colour of its own; an empty text shows the hint again. An error
// goes before it.
func (f *Field) Note(colour fyne.ThemeColorName, text string) {
	if f.wrong {
		return
	}
	f.Wrong("")
	if text == "" {
		return
	}
	f.below.Text, f.below.Colour = text, colour
	f.line.Hidden = false
	f.below.Refresh()
	f.parts.Refresh()
}

// Said is the text under the input: what is wrong, a remark, or the hint.
func (f *Field) Said() string { return f.below.Text }

// IsWrong says whether the field shows an error.
func (f *Field) IsWrong() bool { return f.wrong }

// Entry is Fyne's entry that shows the focus and whether it is wrong, is left by Tab, also where it has several lines, and
// leaves keys and shortcuts that are not about text to the window. All its functions may be nil.
type Entry struct {
	widget.Entry
	hoverable
	OnEscape      func()                            // in place of the window
	OnKey         func(*fyne.KeyEvent) (taken bool) // may take any key before the entry gets it
	OnShortcut    func(fyne.Shortcut) (taken bool)  // may take any shortcut
	OnFocusGained func()
	OnFocusLost   func() // to another place of the window, or with the whole window
	focused       bool
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

// NewEntry returns an entry of one line.
func NewEntry(placeholder string) *Entry {
	e := &Entry{}
	e.PlaceHolder = placeholder
	e.ExtendBaseWidget(e)
	return e
}

// NewSecret returns an entry of one line that shows dots.
func NewSecret() *Entry {
	e := NewEntry("")
	e.Password = true
	return e
}

// TypedKey passes Escape on, and what OnKey takes.
func (e *Entry) TypedKey(k *fyne.KeyEvent) {
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

// Empty is what a screen shows when it has nothing: a picture, a sentence, and perhaps one action.
func Empty(picture fyne.Resource, sentence, action string, act func()) fyne.CanvasObject {
	icon := canvas.NewImageFromResource(picture)
	icon.FillMode = canvas.ImageFillContain
	icon.SetMinSize(fyne.NewSquareSize(48))
	text := widget.NewLabelWithStyle(sentence, fyne.TextAlignCenter, fyne.TextStyle{})
	text.Wrapping = fyne.TextWrapWord
	parts := []fyne.CanvasObject{icon, Wide(280, text)}
	if action != "" {
		parts = append(parts, container.NewCenter(NewButton(action, act)))
	}
	return container.NewCenter(Stack(8, parts...))
}

// Failure is what a screen shows in place of what could not be read, and why; again reads once more.
func Failure(why string, again func()) fyne.CanvasObject {
	return Empty(theme.MarkProblem.Resource(), why, lang.L("Try again"), again)
}

// CreateRenderer is Fyne's.
func (e *Entry) CreateRenderer() fyne.WidgetRenderer {
	inner := e.Entry.CreateRenderer()
	for _, o := range inner.Objects() {
		if scroll, is := o.(*container.Scroll); is {
			e.inner = scroll
		}
	}
	r := newRinged(inner, e, e.Theme, func() bool { return e.focused && !e.Disabled() })
	r.wrong = func() bool { return e.wrong }
	r.draw()
	return r
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

// MouseOut is Fyne's.
func (e *Entry) MouseOut() {
	under = nil
	pointAway(e)
}

// FocusGained is Fyne's.
func (e *Entry) FocusGained() {
	e.focused = true
	e.Entry.FocusGained()
	reveal(e)
	if e.OnFocusGained != nil {
		e.OnFocusGained()
	}
}

// FocusLost tells OnFocusLost.
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
