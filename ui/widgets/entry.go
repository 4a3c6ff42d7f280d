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

// Entry is Fyne's entry, except that it shows focus and errors, lets Tab leave it even when it has several lines, and passes keys
// and shortcuts that do not edit text to the window. All its functions may be nil.
type Entry struct {
	widget.Entry
	hoverable
	named
	inField
	OnEscape      func()                            // replaces the window's handling
	OnKey         func(*fyne.KeyEvent) (taken bool) // sees each key first
	OnShortcut    func(fyne.Shortcut) (taken bool)  // sees each shortcut first
	OnFocusGained func()
	OnFocusLost   func() // to another widget, or because the window lost it
	focused       bool
	entered       bool // no input since it got the focus
	wrong         bool
	pressed       bool              // the mouse
	inner         *container.Scroll // the scroll around the text
}

// Mark shows or clears the error marking; show a text with the reason as well.
func (e *Entry) Mark(wrong bool) {
	if e.wrong != wrong {
		e.wrong = wrong
		e.Refresh()
	}
}

// Typed returns the text without surrounding white space.
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

// TypedRune drops a space that comes first after focusing: it belongs to the key press on a button that moved the focus here. When
// typed here, the key event comes before its rune.
func (e *Entry) TypedRune(r rune) {
	pressed := e.entered && r == ' '
	e.entered = false
	if !pressed {
		e.Entry.TypedRune(r)
	}
}

// TypedKey lets OnKey and OnEscape handle the key first.
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
	inner.Objects()[1].Hide() // its border, over which the text runs
	r.edge = fynetheme.ColorNameInputBorder
	if e.inner != nil && !e.MultiLine {
		r.line, e.OnCursorChanged = e.hideBar, e.hideBar
	}
	r.draw()
	return r
}

// hideBar hides the scroll bar below a long text. Fyne shows it again whenever it draws the text, and hides it for a new size alone.
func (e *Entry) hideBar() {
	size := e.inner.Size()
	e.inner.Direction = container.ScrollNone
	e.inner.Resize(size.AddWidthHeight(0, 1))
	e.inner.Resize(size)
}

// Disable also gives up the focus: Fyne passes on no shortcuts, not even Ctrl+Q, from a disabled entry.
func (e *Entry) Disable() {
	e.Entry.Disable()
	e.leaveDisabled()
}

// MouseDown ignores a disabled entry; Fyne's would focus it.
func (e *Entry) MouseDown(m *desktop.MouseEvent) {
	e.pressed = true
	e.Entry.MouseDown(m)
	e.leaveDisabled()
}

func (e *Entry) MouseUp(m *desktop.MouseEvent) {
	e.pressed = false
	e.Entry.MouseUp(m)
	if e.focused {
		e.reveal()
	}
}

// reveal scrolls to the entry, with what is said below it, but not under a pressed mouse: its release elsewhere takes the focus away.
func (e *Entry) reveal() {
	if showsFocus(e); e.pressed {
		return
	}
	if e.field != nil {
		reveal(e.field)
	}
	reveal(e)
}

func (e *Entry) leaveDisabled() {
	if window := fyne.CurrentApp().Driver().CanvasForObject(e); e.focused && e.Disabled() && window != nil {
		window.Unfocus()
	}
}

// AcceptsTab lets Tab always leave the entry, so that the keyboard reaches everything else.
func (e *Entry) AcceptsTab() bool { return false }

// MouseIn shows a text longer than the field as a tooltip.
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
	if e.OnFocusGained != nil {
		e.OnFocusGained()
	}
	e.reveal()
}

func (e *Entry) FocusLost() {
	e.focused, e.pressed = false, false
	e.Entry.FocusLost()
	if e.OnFocusLost != nil {
		e.OnFocusLost()
	}
}

// SelectAll has the next input replace everything.
func (e *Entry) SelectAll() { e.Entry.TypedShortcut(&fyne.ShortcutSelectAll{}) }

// TypedShortcut passes shortcuts that do not edit text to the window; Fyne's entry would swallow them.
func (e *Entry) TypedShortcut(shortcut fyne.Shortcut) {
	switch {
	case e.OnShortcut != nil && e.OnShortcut(shortcut):
	case isText(shortcut):
		e.Entry.TypedShortcut(shortcut)
	default:
		PassShortcut(e, shortcut)
	}
}

// WithButton returns an entry with a button at its right end. If the button were inside the entry, as in Fyne, Tab and Shift+Tab
// would both reach it after the entry.
func WithButton(e *Entry, b *Button) *fyne.Container {
	room := canvas.NewRectangle(color.Transparent)
	e.ActionItem = room
	return container.New(&atEnd{e, b, room}, e, b)
}

type atEnd struct {
	entry  *Entry
	button *Button
	room   *canvas.Rectangle // keeps space in the entry for the button
}

func (a *atEnd) Layout(_ []fyne.CanvasObject, size fyne.Size) {
	a.room.SetMinSize(fyne.NewSize(a.button.MinSize().Width, 0))
	a.entry.Resize(size)
	edge, width := a.entry.Theme().Size(fynetheme.SizeNameInputBorder), a.button.MinSize().Width
	a.button.Resize(fyne.NewSize(width, size.Height-2*edge))
	a.button.Move(fyne.NewPos(size.Width-width-edge, edge))
}

func (a *atEnd) MinSize([]fyne.CanvasObject) fyne.Size { return a.entry.MinSize() }

// isText reports whether a shortcut edits text or moves in it: Fyne's own ones, and those that move by words.
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

// Field is a labelled input with a line below that explains it or says what is wrong.
type Field struct {
	widget.BaseWidget
	name   string
	label  *Line
	parts  *fyne.Container
	line   *fyne.Container // mark and text below the input
	hint   string
	locked string // why it cannot be changed, shown instead of the hint
	below  *Prose
	usual  *Prose // what it says while nothing is wrong, whose room it keeps
	mark   *widget.Icon
	sign   *fyne.Container // holds mark, as high as a line of text
	input  marked          // nil if it cannot show errors
	wrong  bool
	roomy  bool // the line keeps its height when empty
}

// marked is an input that can show an error, as Entry does.
type marked interface {
	fyne.Focusable
	Mark(wrong bool)
}

// NewField returns a field around any input, such as an entry, perhaps with something beside it. An entry is marked while its value
// is wrong. The name may be empty if the input has its own; so may the hint, which is shown while nothing is wrong.
func NewField(name string, input fyne.CanvasObject, hint string) *Field {
	label := NewCaption(name)
	label.Colour = theme.Text
	f := &Field{name: name, label: label, hint: hint, below: NewProse(""), mark: widget.NewIcon(theme.MarkProblem.Resource())}
	label.Hidden = name == ""
	f.take(input)
	f.sign = Mark(16, f.mark)
	f.usual = NewProse(hint)
	f.line = container.New(&keptRoom{f.usual}, Across(f.sign, f.below, nil))
	f.sign.Hide()
	f.line.Hide()
	f.parts = Stack(3, label, input, f.line)
	f.ExtendBaseWidget(f)
	f.Wrong("")
	return f
}

// Row puts the name on the left, aligned in one column with those of other fields, if the width allows.
func (f *Field) Row() *Field {
	f.label.Scale, f.label.Most = theme.Body, 2
	head, input := f.parts.Objects[0], f.parts.Objects[1]
	f.parts = container.New(&fieldRow{input: input}, head, Stack(3, input, f.line))
	return f
}

// fieldRow lays out a field's name and the rest of it. Only when it is laid out does it know whether both fit side by side.
type fieldRow struct {
	input  fyne.CanvasObject
	beside bool
}

func (r *fieldRow) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	head, rest, x, y := objects[0], objects[1], Scaled(200)+20, float32(0)
	if r.beside = size.Width-x >= max(Scaled(300), width(rest)); r.beside {
		place(head, 0, 0, x-20, 0) // wraps it before measuring
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

// take gives the inputs in o the field's name and remembers the first that can show errors.
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

// Wrong shows an error below the field; an empty text shows the hint again.
func (f *Field) Wrong(text string) {
	f.wrong = text != ""
	if f.input != nil {
		f.input.Mark(f.wrong)
	}
	colour := theme.Secondary
	if f.wrong {
		colour = theme.Attention
	}
	if f.label.Text != f.name {
		f.label.Text, f.label.Colour = f.name, theme.Text
		f.label.Refresh()
	}
	f.roomy = f.roomy || f.wrong // the content below must not move once this is corrected
	f.usual.Text = cmp.Or(f.locked, f.hint)
	if text = cmp.Or(text, f.usual.Text); text == f.below.Text && colour == f.below.Colour {
		return // redrawing may take long
	}
	f.below.Text, f.below.Colour = text, colour
	f.sign.Hidden, f.line.Hidden = !f.wrong, text == "" && !f.roomy
	f.refresh()
}

// keptRoom keeps the room of a text, which is not shown, for another one.
type keptRoom struct{ of *Prose }

func (k *keptRoom) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	k.of.Resize(fyne.NewSize(size.Width, 0))
	objects[0].Resize(size)
	objects[0].Resize(fyne.NewSize(size.Width, objects[0].MinSize().Height)) // at the top: errors of fields side by side are level
}

func (k *keptRoom) MinSize(objects []fyne.CanvasObject) fyne.Size {
	return objects[0].MinSize().Max(fyne.NewSize(0, height(k.of)))
}

// Room sets whether the line below keeps its height while empty. A field that was once wrong keeps it.
func (f *Field) Room(roomy bool) {
	if hidden := f.below.Text == "" && !roomy; f.roomy != roomy || f.line.Hidden != hidden {
		f.roomy, f.line.Hidden = roomy, hidden
		f.refresh()
	}
}

// FocusWrong puts the cursor into the first wrong field in reading order: by lines, from the left.
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
		if e, is := first.input.(*Entry); is && e.Password {
			e.SelectAll() // nobody can mend what is hidden
		}
		ScrollTo(first) // even if it is focused already; the error text, too
	}
}

func (f *Field) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(f.parts) }

func (f *Field) Hint(text string) {
	f.hint = text
	if !f.wrong {
		f.Wrong("")
	}
}

// Lock shows, instead of the hint, why the field cannot be changed; an empty text shows the hint again. The caller disables the
// input.
func (f *Field) Lock(why string) {
	if f.locked != why {
		f.locked = why
		f.Hint(f.hint)
	}
}

// Note adds a temporary remark to the name, in its own colour, where it moves nothing and covers no hint; without a name, it stands in
// the hint's room. An empty text removes it, as an error does.
func (f *Field) Note(colour fyne.ThemeColorName, text string) {
	if f.wrong {
		return
	}
	f.Wrong("")
	switch {
	case text == "":
		return
	case f.name == "":
		f.below.Text, f.below.Colour = text, colour
		f.line.Hidden = false
	default:
		f.label.Text, f.label.Colour = f.name+" · "+text, colour
	}
	f.refresh()
}

// refresh redraws the field. What it says while somebody is in it is seen.
func (f *Field) refresh() {
	f.parts.Refresh()
	if e, is := f.input.(*Entry); is && e.focused && !e.pressed {
		ScrollTo(f)
	}
}

func (f *Field) Title() string { return f.name }

// Said returns what the field says besides its name: a remark, the error or the hint.
func (f *Field) Said() string {
	return strings.Trim(strings.TrimPrefix(f.label.Text, f.name)+" · "+f.below.Text, " ·")
}

func (f *Field) IsWrong() bool { return f.wrong }

// Selectable is text that can be selected and copied with mouse or keyboard: an entry without its box into which nothing can be
// typed. Copying takes the selection, or everything. Fyne's selectable label works with the mouse only.
type Selectable struct {
	widget.Entry
	inField
	focused bool
	rows    int // of text at the present width
}

// NewSelectable returns wrapping text.
func NewSelectable(text string) *Selectable {
	s := &Selectable{}
	s.Text, s.MultiLine, s.Wrapping, s.Scroll = text, true, fyne.TextWrapBreak, container.ScrollNone
	s.ExtendBaseWidget(s)
	return s
}

// Resize makes it as high as its text; Fyne's multi-line entry asks for three lines and scrolls.
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

// TypedKey moves in the text and passes other keys to the window.
func (s *Selectable) TypedKey(e *fyne.KeyEvent) {
	switch e.Name {
	case fyne.KeyUp, fyne.KeyDown, fyne.KeyLeft, fyne.KeyRight, fyne.KeyHome, fyne.KeyEnd, fyne.KeyPageUp, fyne.KeyPageDown:
		s.Entry.TypedKey(e)
	default:
		pass(s, e)
	}
}

// TypedShortcut copies, selects and moves in the text, and passes shortcuts that do not concern text to the window.
func (s *Selectable) TypedShortcut(shortcut fyne.Shortcut) {
	switch x := shortcut.(type) {
	case *fyne.ShortcutCopy:
		s.copy()
	case *fyne.ShortcutSelectAll:
		s.Entry.TypedShortcut(x)
	case *desktop.CustomShortcut:
		switch {
		case x.KeyName == fyne.KeyBackspace, x.KeyName == fyne.KeyDelete: // these would change the text
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

// unboxed renders an entry without its background and border, the first objects that the entry draws.
type unboxed struct{ fyne.WidgetRenderer }

func (u unboxed) Objects() []fyne.CanvasObject { return u.WidgetRenderer.Objects()[2:] }

// Small returns content with caption-size text.
func Small(content fyne.CanvasObject) fyne.CanvasObject {
	return container.NewThemeOverride(content, small{})
}

// small is the current theme, which may change, with small text.
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
