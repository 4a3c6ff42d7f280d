package widgets

import (
	"fmt"
	"image/color"
	"slices"
	"time"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
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
	cover := canvas.NewRectangle(color.Transparent)
	x.object = container.NewStack(back, PadHV(8, 6, Across(nil, line, end)), cover)
	fadeIn(cover)
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

// Banner is a sentence with at most one action, beside it or, where it is narrow, below it. It is hidden until it has something to
// say, and belongs where nothing has to move for it.
type Banner struct {
	widget.BaseWidget
	content *fyne.Container
	cover   *canvas.Rectangle
	Changed func() // called when it came, went or says something else, for whoever lays it out; may be nil
	OnNote  func() // leads to more
	text    *Prose
	note    *Line
	link    *Tappable // around the note
	button  *Button
}

// NewBanner returns a hidden banner in a colour, with a mark at its start (nil for none).
func NewBanner(colour fyne.ThemeColorName, mark fyne.Resource) *Banner {
	s := &Banner{text: NewProse(""), note: NewCaption(""), button: NewButton("", nil), cover: canvas.NewRectangle(color.Transparent)}
	s.text.Colour = theme.Text
	var left fyne.CanvasObject
	back, room := NewBack(colour), float32(20) // as the page below has it
	if mark != nil {
		left, back.outline, room = widget.NewIcon(mark), theme.Line, 10
	}
	s.note.Colour, s.note.Shorten = theme.Ink, false
	s.link = NewTappable(PadHV(4, 4, s.note), func() { s.OnNote() })
	s.content = container.NewStack(back, PadHV(room, 6, Aside(220, Across(left, s.text, nil), Stack(2, s.link, s.button))), s.cover)
	s.ExtendBaseWidget(s)
	s.Hide()
	return s
}

func (s *Banner) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(s.content) }

// Say shows a sentence, a small note beside it, and a button unless action is empty.
func (s *Banner) Say(sentence, note, action string, act func()) {
	s.text.Set(sentence)
	s.note.Set(note)
	s.link.Hidden = note == ""
	s.button.SetText(action)
	s.button.OnTapped = act
	s.button.Hidden = action == ""
	if s.Hidden {
		fadeIn(s.cover)
	}
	s.Show()
	s.tell()
}

// fadeTime is how long it takes until what comes is there.
const fadeTime = 140 * time.Millisecond

// fadeIn takes away what covers something that comes, unless people have asked for no motion.
func fadeIn(cover *canvas.Rectangle) {
	if !fyne.CurrentApp().Settings().ShowAnimations() {
		return
	}
	paper := color.NRGBAModel.Convert(fynetheme.Color(theme.Paper)).(color.NRGBA)
	gone := paper
	gone.A = 0
	canvas.NewColorRGBAAnimation(paper, gone, fadeTime, func(c color.Color) {
		cover.FillColor = c
		cover.Refresh()
	}).Start()
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

// Short leaves out the end of a long sentence, which then shows near the mouse, or not any more.
func (s *Banner) Short(short bool) {
	if s.text.Begins != short {
		if s.text.Begins, s.text.Most = short, 0; short {
			s.text.Most = 2
		}
		s.text.Refresh()
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

// UndoBar shows what is about to be done, each on a line with a button that prevents it and the seconds that are left. It takes
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
	left   int
	text   *Prose
	clock  *Line
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

// Begin shows what can be undone for some seconds, of which some have passed: undone is called when the button undo is pressed. What
// is done earlier ends the line with over.
func (g *UndoBar) Begin(says string, passed time.Duration, undo string, undone func()) (over func()) {
	l := &graceLine{left: max(1, graceSeconds-int(passed/time.Second)), text: NewFullName(says), clock: NewCaption("").Whole()}
	l.text.Bold = true
	l.button = NewButton(undo, func() {
		g.end(l)
		undone()
	})
	// The button stands where nothing is to be pressed once the line is gone, least of all what sends: whoever is late, or
	// presses twice, must not meet that instead.
	l.object = On(theme.Calm, PadHV(20, 6, Across(l.button, l.text, l.clock)))
	l.count()
	g.lines = append(g.lines, l)
	g.draw()
	g.tick(l)
	return func() {
		if !l.over {
			g.end(l)
		}
	}
}

func (g *UndoBar) Busy() bool { return len(g.lines) > 0 }

// Text is what can be undone.
func (g *UndoBar) Text() string { return g.lines[len(g.lines)-1].text.Text }

func (l *graceLine) count() { l.clock.Set(fmt.Sprintf("%d s", l.left)) }

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
			l.count()
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
