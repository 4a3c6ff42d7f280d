package widgets

import (
	"cmp"
	"image/color"
	"math"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
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
	e.entered, byKey = false, true
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

// Field is a named input with a line under it that explains, or says what is wrong.
type Field struct {
	widget.BaseWidget
	name   string
	label  *Line
	parts  *fyne.Container
	line   *fyne.Container // mark and text below
	hint   string
	locked string // why nobody can change it, in place of the hint
	below  *Prose
	mark   *widget.Icon
	sign   *fyne.Container // around mark, as high as a line of text
	input  marked          // nil for one that shows no marks
	wrong  bool
	roomy  bool // the line has its room also while it says nothing
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
	f := &Field{name: name, label: label, hint: hint, below: NewProse(""), mark: widget.NewIcon(theme.MarkProblem.Resource())}
	label.Hidden = name == ""
	f.take(input)
	f.sign = Mark(16, f.mark)
	f.line = Across(f.sign, f.below, nil)
	f.sign.Hide()
	f.line.Hide()
	f.parts = Stack(3, label, input, f.line)
	f.ExtendBaseWidget(f)
	f.Wrong("")
	return f
}

// Row has the name at the left, in one column with those of other fields, where there is room for that.
func (f *Field) Row() *Field {
	f.label.Scale, f.label.Most = theme.Body, 2
	head, input := f.parts.Objects[0], f.parts.Objects[1]
	f.parts = container.New(&fieldRow{input: input}, head, Stack(3, input, f.line))
	return f
}

// fieldRow lays out the name of a field and the rest of it. Whether there is room for both beside each other, it knows only once it
// is laid out.
type fieldRow struct {
	input  fyne.CanvasObject
	beside bool
}

func (r *fieldRow) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	head, rest, x, y := objects[0], objects[1], Scaled(200)+20, float32(0)
	if r.beside = size.Width-x >= max(Scaled(300), width(rest)); r.beside {
		place(head, 0, 0, x-20, 0) // so that it wraps before it is measured
		place(head, 0, max(0, (height(r.input)-height(head))/2), x-20, height(head))
	} else {
		place(head, 0, 0, size.Width, height(head))
		x, y = 0, height(head)+3*min(1, height(head))
	}
	place(rest, x, y, size.Width-x, size.Height-y)
}

func (r *fieldRow) MinSize(objects []fyne.CanvasObject) fyne.Size {
	size, head := objects[1].MinSize(), height(objects[0])
	if r.beside {
		return fyne.NewSize(size.Width, max(size.Height, head))
	}
	return size.AddWidthHeight(0, head+3*min(1, head))
}

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
	colour := theme.Secondary
	if f.wrong {
		colour = theme.Attention
	}
	f.roomy = f.roomy || f.wrong // what is below must not move under the mouse once it is right
	if text = cmp.Or(text, f.locked, f.hint); text == f.below.Text && colour == f.below.Colour {
		return // what is drawn anew may be long
	}
	f.below.Text, f.below.Colour = text, colour
	f.sign.Hidden, f.line.Hidden = !f.wrong, text == "" && !f.roomy
	f.parts.Refresh()
}

// Room gives the line below its room, also while it says nothing, or takes that away. What was wrong once has it.
func (f *Field) Room(roomy bool) {
	if hidden := f.below.Text == "" && !roomy; f.roomy != roomy || f.line.Hidden != hidden {
		f.roomy, f.line.Hidden = roomy, hidden
		f.parts.Refresh()
	}
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
		reveal(first) // also where it has the focus already, and with what it says
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

// Note shows a passing remark in place of the hint, in a colour of its own; an empty text shows the hint again. An error goes before
// it.
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

func (f *Field) Title() string { return f.name }

// Said is the text at the input: what is wrong, a remark, or the hint.
func (f *Field) Said() string { return f.below.Text }

func (f *Field) IsWrong() bool { return f.wrong }

// Selectable is a text to read, to mark and to copy, with the mouse as by keys: an entry without its box, in which nothing can
// be typed. Copying takes what is marked, else all of it. Fyne's selectable label is marked by the mouse alone.
type Selectable struct {
	widget.Entry
	inField
	focused bool
	rows    int // that its text takes at its width
}

// NewSelectable returns a text that breaks where the room ends.
func NewSelectable(text string) *Selectable {
	s := &Selectable{}
	s.Text, s.MultiLine, s.Wrapping, s.Scroll = text, true, fyne.TextWrapBreak, container.ScrollNone
	s.ExtendBaseWidget(s)
	return s
}

// Resize is Fyne's. An entry of several lines asks for three of them and scrolls; this one asks for all that its text takes.
func (s *Selectable) Resize(size fyne.Size) {
	s.Entry.Resize(size)
	s.fit()
}

func (s *Selectable) SetText(text string) {
	s.Entry.SetText(text)
	s.fit()
}

func (s *Selectable) fit() {
	th := s.Theme()
	size, pad := th.Size(fynetheme.SizeNameText), th.Size(fynetheme.SizeNameInnerPadding)
	room, rows := s.Size().Width-2*pad, 0
	if room <= 0 {
		return
	}
	for line := range strings.SplitSeq(s.Text, "\n") {
		width := fyne.MeasureText(line, size, s.TextStyle).Width
		rows += max(1, int(math.Ceil(float64(width/room))))
	}
	if s.rows != rows {
		s.rows = rows
		s.SetMinRowsVisible(rows)
	}
}

func (s *Selectable) AcceptsTab() bool { return false }

func (s *Selectable) FocusGained() { s.focused = true; s.Entry.FocusGained(); reveal(s) }

func (s *Selectable) FocusLost() { s.focused = false; s.Entry.FocusLost() }

func (s *Selectable) TypedRune(rune) {}

// TypedKey moves in the text, and leaves other keys to the window.
func (s *Selectable) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyUp, fyne.KeyDown, fyne.KeyLeft, fyne.KeyRight, fyne.KeyHome, fyne.KeyEnd, fyne.KeyPageUp, fyne.KeyPageDown:
		s.Entry.TypedKey(e)
	default:
		pass(s, e)
	}
}

// TypedShortcut copies, marks and moves in the text, and leaves what is not about text to the window.
func (s *Selectable) TypedShortcut(shortcut fyne.Shortcut) {
	switch x := shortcut.(type) {
	case *fyne.ShortcutCopy:
		s.copy()
	case *fyne.ShortcutSelectAll:
		s.Entry.TypedShortcut(x)
	case *desktop.CustomShortcut:
		switch {
		case x.KeyName == fyne.KeyBackspace, x.KeyName == fyne.KeyDelete: // would change the text
		case isText(x):
			s.Entry.TypedShortcut(x)
		default:
			PassShortcut(s, x)
		}
	}
}

func (s *Selectable) copy() {
	text := s.SelectedText()
	if text == "" {
		text = s.Text
	}
	fyne.CurrentApp().Clipboard().SetContent(text)
}

// TappedSecondary offers to copy.
func (s *Selectable) TappedSecondary(e *fyne.PointEvent) {
	if window := fyne.CurrentApp().Driver().CanvasForObject(s); window != nil {
		OpenMenuAt(window, fyne.NewMenu("", fyne.NewMenuItem(lang.L("Copy"), s.copy)), e.AbsolutePosition)
	}
}

func (s *Selectable) CreateRenderer() fyne.WidgetRenderer {
	return newRinged(unboxed{s.Entry.CreateRenderer()}, s, func() bool { return s.focused })
}

// unboxed is the renderer of an entry without what it draws first: its background and its edge.
type unboxed struct{ fyne.WidgetRenderer }

func (u unboxed) Objects() []fyne.CanvasObject { return u.WidgetRenderer.Objects()[2:] }

// Small is content whose text is as small as a caption.
func Small(content fyne.CanvasObject) fyne.CanvasObject {
	return container.NewThemeOverride(content, small{})
}

// small is the theme of the moment, which may change, with small text.
type small struct{}

func (small) now() fyne.Theme { return fyne.CurrentApp().Settings().Theme() }

func (t small) Color(name fyne.ThemeColorName, variant fyne.ThemeVariant) color.Color {
	return t.now().Color(name, variant)
}

func (t small) Font(style fyne.TextStyle) fyne.Resource { return t.now().Font(style) }

func (t small) Icon(name fyne.ThemeIconName) fyne.Resource { return t.now().Icon(name) }

func (t small) Size(name fyne.ThemeSizeName) float32 {
	if name == fynetheme.SizeNameText {
		name = theme.Caption
	}
	return t.now().Size(name)
}
