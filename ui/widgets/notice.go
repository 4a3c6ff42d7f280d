package widgets

import (
	"slices"
	"time"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// maxToasts is how many are shown at once; the oldest goes first.
const maxToasts = 3

// Toasts are short sentences that go away by themselves and never take the focus. They fill a room of their own from
// below; of those that do not fit into it the oldest are not shown. The least room is that of the newest.
type Toasts struct {
	widget.BaseWidget
	Changed func() // called when one came or went, for whoever lays them out; may be nil
	later   func(d time.Duration, over func())
	box     *fyne.Container
	shown   []*toast // oldest first
}

type toast struct {
	text   string
	object fyne.CanvasObject
}

// NewToasts returns no toasts yet. later calls over on the window's goroutine when d has passed.
func NewToasts(later func(d time.Duration, over func())) *Toasts {
	t := &Toasts{later: later, box: container.New(&rising{})}
	t.ExtendBaseWidget(t)
	return t
}

func (t *Toasts) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(t.box) }

// Say shows a sentence, for as long as it takes to read. One that is shown already is not shown twice.
func (t *Toasts) Say(text string) {
	t.drop(func(x *toast) bool { return x.text == text })
	line := NewProse(text)
	line.Colour = theme.Text
	x := &toast{text: text}
	cross := container.NewGridWrap(fyne.NewSquareSize(16), widget.NewIcon(fynetheme.CancelIcon()))
	end := NewTappable(Pad(2, cross), func() { t.end(x) })
	end.Says = func() string { return lang.L("Close") + ": " + text }
	back := NewBack(theme.Calm)
	back.outline = theme.Line
	x.object = container.NewStack(back, PadHV(8, 6, Across(nil, line, end)))
	t.shown = append(t.shown, x)
	if len(t.shown) > maxToasts {
		t.shown = t.shown[1:]
	}
	t.draw()
	t.later(ReadingTime(text), func() { t.end(x) })
}

// ReadingTime is four seconds to notice, and what a slow reader needs.
func ReadingTime(text string) time.Duration {
	return min(4*time.Second+time.Duration(utf8.RuneCountInString(text))*60*time.Millisecond, 14*time.Second)
}

func (t *Toasts) end(gone *toast) { t.drop(func(x *toast) bool { return x == gone }) }

func (t *Toasts) drop(unwanted func(*toast) bool) {
	before := len(t.shown)
	if t.shown = slices.DeleteFunc(t.shown, unwanted); len(t.shown) != before {
		t.draw()
	}
}

func (t *Toasts) draw() {
	objects := make([]fyne.CanvasObject, len(t.shown))
	for i, x := range t.shown {
		objects[i] = x.object
	}
	Remake(t.box, objects...)
	if t.Changed != nil {
		t.Changed()
	}
}

// rising puts its objects above each other, the last one lowest, as far as they fit.
type rising struct{}

func (r *rising) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	bottom := size.Height
	for i := len(objects) - 1; i >= 0; i-- {
		o := objects[i]
		o.Resize(fyne.NewSize(size.Width, o.Size().Height)) // so that text in it wraps before it is measured
		height := o.MinSize().Height
		o.Resize(fyne.NewSize(size.Width, height))
		bottom -= height
		o.Move(fyne.NewPos(0, bottom))
		if fits := bottom >= 0; fits != o.Visible() {
			Show(o, fits)
		}
		bottom -= gap
	}
}

func (r *rising) MinSize(objects []fyne.CanvasObject) fyne.Size {
	if len(objects) == 0 {
		return fyne.Size{}
	}
	return objects[len(objects)-1].MinSize()
}

// Banner is a line across the top with a sentence and at most one action. It is hidden until it has something to say.
type Banner struct {
	widget.BaseWidget
	content *fyne.Container
	Changed func() // called when the strip came or went, for whoever lays it out; may be nil
	OnNote  func() // makes the note something to press; nil for a plain note
	text    *widget.Label
	more    *Line
	link    *Button // the note, when it can be pressed
	button  *Button
}

// NewBanner returns a hidden strip in a colour, with a mark at its start (nil for none).
func NewBanner(colour fyne.ThemeColorName, mark fyne.Resource) *Banner {
	s := &Banner{text: widget.NewLabel(""), more: NewCaption(""), button: NewButton("", nil)}
	s.text.Wrapping = fyne.TextWrapWord
	s.more.Shorten = false
	var left fyne.CanvasObject
	if mark != nil {
		left = widget.NewIcon(mark)
	}
	s.link = NewButton("", func() { s.OnNote() }).Quiet()
	s.content = On(colour, PadHV(12, 4, Across(left, s.text, Row(8, s.more, s.link, s.button))))
	s.ExtendBaseWidget(s)
	s.Hide()
	return s
}

func (s *Banner) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(s.content) }

// Say shows a sentence, a small note beside it, and a button unless action is empty.
func (s *Banner) Say(sentence, note, action string, act func()) {
	s.text.SetText(sentence)
	s.more.Set(note)
	s.more.Hidden = note == "" || s.OnNote != nil
	s.link.SetText(note)
	s.link.Hidden = note == "" || s.OnNote == nil
	s.button.SetText(action)
	s.button.OnTapped = act
	s.button.SetIcon(nil)
	s.button.Hidden = action == ""
	s.Show()
	s.tell()
}

// Clear says nothing any more. What was pressed last may have been its button: the focus does not stay there unseen.
func (s *Banner) Clear() {
	if c := fyne.CurrentApp().Driver().CanvasForObject(s); c != nil && (c.Focused() == fyne.Focusable(s.button) || c.Focused() == fyne.Focusable(s.link)) {
		c.Unfocus()
	}
	s.Hide()
	s.tell()
}

func (s *Banner) tell() {
	s.content.Refresh()
	if s.Changed != nil {
		s.Changed()
	}
}

// Text is the sentence that is shown, empty while the strip is hidden.
func (s *Banner) Text() string {
	if s.Hidden {
		return ""
	}
	return s.text.Text
}

func MarkLine(mark theme.Mark, text string) (*fyne.Container, *Line) {
	line := NewLine(text)
	line.Colour = mark.Colour()
	line.Bold = true
	return Row(6, widget.NewIcon(mark.Resource()), line), line
}

// graceSeconds is how long the person can undo something before it is done.
const graceSeconds = 10

// UndoTime is how long the office waits before it does what can be undone: a second longer than it is offered, so that whoever
// presses at the last moment comes in time.
const UndoTime = (graceSeconds + 1) * time.Second

// UndoBar shows what is about to be done, each on a line with the seconds that are left and a button that prevents it. It takes
// no room while there is nothing. It does nothing itself: whoever was told to do it waits that long.
type UndoBar struct {
	widget.BaseWidget
	Changed func() // called when a line came or went, for whoever lays it out; may be nil
	Empty   func() // called once when the last line went; may be nil
	later   func(d time.Duration, over func())
	box     *fyne.Container
	lines   []*graceLine
}

type graceLine struct {
	says   func(seconds int) string
	left   int
	text   *Prose
	button *Button
	object fyne.CanvasObject
	over   bool
}

// NewUndoBar returns no lines yet. later calls over on the window's goroutine when d has passed.
func NewUndoBar(later func(d time.Duration, over func())) *UndoBar {
	g := &UndoBar{later: later, box: Stack(0)}
	g.ExtendBaseWidget(g)
	g.Hide()
	return g
}

func (g *UndoBar) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(g.box) }

// Begin shows what can be undone for some seconds: undone is called when the button undo is pressed.
func (g *UndoBar) Begin(says func(seconds int) string, undo string, undone func()) {
	l := &graceLine{says: says, left: graceSeconds, text: NewFullName("")}
	l.text.Bold = true
	l.button = NewButton(undo, func() {
		g.end(l)
		undone()
	})
	// The button stands where nothing is to be pressed once the line is gone, least of all what sends: whoever is late, or
	// presses twice, must not meet that instead.
	l.object = On(theme.Calm, PadHV(20, 6, Across(l.button, l.text, nil)))
	l.text.Set(says(l.left))
	g.lines = append(g.lines, l)
	g.draw()
	g.tick(l)
}

func (g *UndoBar) Busy() bool { return len(g.lines) > 0 }

func (g *UndoBar) Undo() {
	if g.Busy() {
		g.lines[len(g.lines)-1].button.OnTapped()
	}
}

func (g *UndoBar) tick(l *graceLine) {
	g.later(time.Second, func() {
		if l.over {
			return
		}
		if l.left--; l.left > 0 {
			l.text.Set(l.says(l.left))
			g.tick(l)
			return
		}
		g.end(l)
	})
}

func (g *UndoBar) end(gone *graceLine) {
	gone.over = true
	g.lines = slices.DeleteFunc(g.lines, func(l *graceLine) bool { return l == gone })
	g.draw()
	if then := g.Empty; then != nil && !g.Busy() {
		g.Empty = nil
		then()
	}
}

func (g *UndoBar) draw() {
	g.Hidden = !g.Busy()
	g.box.Objects = nil
	for _, l := range g.lines {
		g.box.Add(l.object)
	}
	g.box.Refresh()
	g.Refresh()
	if g.Changed != nil {
		g.Changed()
	}
}
