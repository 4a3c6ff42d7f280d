package widgets

import (
	"cmp"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// Field is a named input with a line under it that explains, or says what is wrong.
type Field struct {
	widget.BaseWidget
	name   string
	parts  *fyne.Container
	line   *fyne.Container // mark and text below
	hint   string
	locked string // why nobody can change it, in place of the hint
	below  *Prose
	beside *Line // a passing remark on the name's line, so that nothing moves; nil where there is none
	mark   *widget.Icon
	input  marked // nil for one that shows no marks
	wrong  bool
}

// marked is an input that shows when it is wrong, as Entry does.
type marked interface {
	fyne.Focusable
	Mark(wrong bool)
}

// NewField returns a field around input: an entry, perhaps with something beside it, or any other. An entry is marked where
// it is wrong. The name may be empty, where the input has its own; so may the hint, which is shown while nothing is wrong.
func NewField(name string, input fyne.CanvasObject, hint string) *Field {
	label := NewCaption(name)
	label.Colour = theme.Text
	f := &Field{name: name, hint: hint, below: NewProse(""), mark: widget.NewIcon(theme.MarkProblem.Resource())}
	label.Hidden = name == ""
	f.take(input)
	f.line = Across(f.mark, f.below, nil)
	head := fyne.CanvasObject(label)
	if name != "" && hint == "" && f.input == nil { // what is typed changes the line below with each key anyway
		f.beside = NewCaption("")
		f.beside.Shorten = true
		head = container.New(naming{label, f.beside}, label, f.beside)
	}
	f.mark.Hide()
	f.line.Hide()
	f.parts = Stack(3, head, input, f.line)
	f.ExtendBaseWidget(f)
	f.Wrong("")
	return f
}

// naming is a line that begins with a name, as wide as it reads, and has something after it where there is room.
type naming struct{ name, after *Line }

func (n naming) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	const gap = 8
	n.name.Resize(size)
	at := n.name.measure(n.name.Text) + gap
	n.after.Move(fyne.NewPos(at, 0))
	n.after.Resize(fyne.NewSize(max(0, size.Width-at), size.Height))
}

func (n naming) MinSize([]fyne.CanvasObject) fyne.Size { return n.name.MinSize() }

// take gives the inputs in an object the name of the field, and marks the first one that can be wrong.
func (f *Field) take(o fyne.CanvasObject) {
	if input, is := o.(interface{ standIn(f *Field) }); is {
		input.standIn(f)
	}
	if input, is := o.(marked); is && f.input == nil {
		f.input = input
	}
	if box, is := o.(*fyne.Container); is {
		for _, o := range box.Objects {
			f.take(o)
		}
	}
}

// Wrong shows what is wrong beside the field; an empty text shows the hint again.
func (f *Field) Wrong(text string) {
	f.wrong = text != ""
	if f.input != nil {
		f.input.Mark(f.wrong)
	}
	f.remark("", "")
	colour := theme.Secondary
	if f.wrong {
		colour = theme.Attention
	}
	if text = cmp.Or(text, f.locked, f.hint); text == f.below.Text && colour == f.below.Colour {
		return // what is drawn anew may be long
	}
	f.below.Text, f.below.Colour = text, colour
	f.mark.Hidden, f.line.Hidden = !f.wrong, text == ""
	f.parts.Refresh()
}

// remark says something on the name's line, where there is room for that.
func (f *Field) remark(text string, colour fyne.ThemeColorName) bool {
	if f.beside == nil {
		return false
	}
	f.beside.Colour = colour
	f.beside.Set(text)
	return true
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

func (f *Field) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(f.parts) }

func (f *Field) Hint(text string) {
	f.hint = text
	if !f.wrong {
		f.Wrong("")
	}
}

// Lock says why nobody can change the field here, in place of the hint; an empty text shows the hint again. It is for the caller
// to disable the input.
func (f *Field) Lock(why string) {
	if f.locked != why {
		f.locked = why
		f.Hint(f.hint)
	}
}

// Note shows a passing remark in place of the hint or, where a choice has none, beside the name, in a colour of its own; an empty
// text shows the hint again. An error goes before it.
func (f *Field) Note(colour fyne.ThemeColorName, text string) {
	if f.wrong {
		return
	}
	f.Wrong("")
	if text == "" || f.remark(text, colour) {
		return
	}
	f.below.Text, f.below.Colour = text, colour
	f.line.Hidden = false
	f.below.Refresh()
	f.parts.Refresh()
}

func (f *Field) Title() string { return f.name }

// Said is the text at the input: what is wrong, a remark, or the hint.
func (f *Field) Said() string {
	if f.beside != nil && f.beside.Text != "" {
		return f.beside.Text
	}
	return f.below.Text
}

func (f *Field) IsWrong() bool { return f.wrong }
