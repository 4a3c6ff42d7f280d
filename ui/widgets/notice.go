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
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

// maxToasts is how many are shown at once; the oldest is removed first.
const maxToasts = 3

// Toasts are short sentences that disappear by themselves and never take the focus. They fill their area from the bottom; the oldest
// are hidden if not all fit. Its minimum size is that of the newest.
type Toasts struct {
	widget.BaseWidget
	Changed func() // called when one appears or disappears, to update the layout; may be nil
	later   func(d time.Duration, over func())
	box     *fyne.Container
	shown   []*toast // oldest first
}

type toast struct {
	text   string
	object fyne.CanvasObject
}

// NewToasts returns an empty set of toasts. later calls over on the UI goroutine after d.
func NewToasts(later func(d time.Duration, over func())) *Toasts {
	t := &Toasts{later: later, box: container.New(&rising{})}
	t.ExtendBaseWidget(t)
	return t
}

func (t *Toasts) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(t.box) }

// note returns content on a small card in the sidebar.
func note(content fyne.CanvasObject) *fyne.Container {
	back := NewBack(theme.Calm)
	back.outline = theme.Line
	return container.NewStack(back, content)
}

// Say shows a sentence for as long as it takes to read, unless it is already shown. Pressing it removes it.
func (t *Toasts) Say(text string) {
	t.drop(func(x *toast) bool { return x.text == text })
	line := NewProse(text)
	line.Colour = theme.Text
	x := &toast{text: text}
	cover := canvas.NewRectangle(color.Transparent)
	end := NewTappable(container.NewStack(note(PadHV(8, 6, line)), cover), func() { t.end(x) })
	end.Says = func() string { return lang.L("Close") + ": " + text }
	x.object = end
	fadeIn(cover)
	t.shown = append(t.shown, x)
	if len(t.shown) > maxToasts {
		t.shown = t.shown[1:]
	}
	t.draw()
	t.later(ReadingTime(text), func() { t.end(x) })
	if p := overTop(t); p != nil && p.toasts != nil && p.toasts != t { // again over the veil
		at := fyne.CurrentApp().Driver().AbsolutePositionForObject(t)
		place(p.toasts, at.X, at.Y, t.Size().Width, t.Size().Height)
		p.toasts.Say(text)
	}
}

// ReadingTime is four seconds to notice, plus the time of a slow reader.
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

// rising stacks its objects from the bottom, the last one lowest, as far as they fit.
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

// Banner is a sentence with at most one action beside it, or below it in a narrow window. It is hidden while empty; place it where
// showing it moves nothing else.
type Banner struct {
	widget.BaseWidget
	content *fyne.Container
	cover   *canvas.Rectangle
	Changed func() // called when it appears, disappears or changes, to update the layout; may be nil
	OnNote  func() // opens the details
	text    *Prose
	note    *Line
	link    *Tappable // around the note
	button  *Button
	end     *fyne.Container // both
}

// NewBanner returns a hidden banner in a colour, with a mark at its start (nil for none).
func NewBanner(colour fyne.ThemeColorName, mark fyne.Resource) *Banner {
	s := &Banner{text: NewProse(""), note: NewCaption(""), button: NewButton("", nil), cover: canvas.NewRectangle(color.Transparent)}
	s.text.Colour = theme.Text
	var left fyne.CanvasObject
	back, room := NewBack(colour), float32(20) // like the page below
	if mark != nil {
		left, back.outline, room = widget.NewIcon(mark), theme.Line, 10
	}
	s.note.Colour, s.note.Shorten = theme.Ink, false
	s.link = NewTappable(PadHV(4, 4, s.note), func() { s.OnNote() })
	s.end = container.New(stacked, s.link, s.button)
	s.content = container.NewStack(back, PadHV(room, 6, Aside(220, Across(left, s.text, nil), s.end)), s.cover)
	s.ExtendBaseWidget(s)
	s.Hide()
	return s
}

func (s *Banner) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(s.content) }

// Say shows a sentence, a small note beside it and, unless action is empty, a button.
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

const fadeTime = 140 * time.Millisecond

// fadeIn fades out the cover over something new, unless animations are turned off.
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

// Clear hides the banner. If its button was pressed, the focus must not stay on the hidden button.
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

var stacked, inLine = layout.NewCustomPaddedVBoxLayout(2), layout.NewCustomPaddedHBoxLayout(gap)

// Short puts everything side by side, as high as the button, or below each other. A shortened sentence shows in full as a tooltip.
func (s *Banner) Short(short bool) {
	if s.text.Begins != short {
		if s.text.Begins, s.text.Most, s.end.Layout = short, 0, stacked; short {
			s.text.Most, s.end.Layout = 2, inLine
		}
		s.content.Refresh()
	}
}

// Text returns the visible sentence, empty while hidden.
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

// graceSeconds is how long undo is offered.
const graceSeconds = 10

// UndoTime is how long the office waits before an undoable action: a second longer than undo is offered, so that a press at the last
// moment is in time.
const UndoTime = (graceSeconds + 1) * time.Second

// UndoBar lists pending actions, newest last, each with an undo button and the remaining seconds; it takes no space while empty. It
// executes nothing: whoever received the action waits UndoTime.
type UndoBar struct {
	widget.BaseWidget
	Changed func() // called when a line appears or disappears, to update the layout; may be nil
	Empty   func() // called once when the last line has disappeared; may be nil
	now     func() time.Time
	later   func(d time.Duration, over func())
	box     *fyne.Container
	lines   []*graceLine
	short   bool
}

type graceLine struct {
	end    time.Time // by the wall clock, which also counts while the computer sleeps
	text   *Prose
	clock  *Line
	button *Button
	over   bool
}

// NewUndoBar returns an empty bar. later calls over on the UI goroutine after d, or later if the computer is busy.
func NewUndoBar(now func() time.Time, later func(d time.Duration, over func())) *UndoBar {
	g := &UndoBar{now: now, later: later, box: Stack(gap)}
	g.ExtendBaseWidget(g)
	g.Hide()
	return g
}

func (g *UndoBar) CreateRenderer() fyne.WidgetRenderer { return widget.NewSimpleRenderer(g.box) }

// Begin offers to undo something for the seconds left after passed; the button, labelled undo, calls undone. Call over to remove the
// line early, once the action is done.
func (g *UndoBar) Begin(says string, passed time.Duration, undo string, undone func()) (over func()) {
	left := max(time.Second, graceSeconds*time.Second-passed)
	l := &graceLine{end: g.now().Round(0).Add(left), text: NewFullCaption(says), clock: NewCaption("").Whole()}
	l.text.Colour = theme.Text
	l.button = NewButton(undo, func() {
		g.end(l)
		undone()
	})
	g.lines = append(g.lines, l)
	g.count(l)
	g.draw()
	return func() {
		if !l.over {
			g.end(l)
		}
	}
}

func (g *UndoBar) Busy() bool { return len(g.lines) > 0 }

// Text returns the newest pending action.
func (g *UndoBar) Text() string { return g.lines[len(g.lines)-1].text.Text }

func (g *UndoBar) Undo() {
	if g.Busy() {
		g.lines[len(g.lines)-1].button.OnTapped()
	}
}

// count shows how many seconds are left, and removes the line after the last.
func (g *UndoBar) count(l *graceLine) {
	left := min(l.end.Sub(g.now().Round(0)), graceSeconds*time.Second) // no longer, even if the clock is set back
	if left <= 0 {
		g.end(l)
		return
	}
	l.clock.Set(fmt.Sprintf("%d s", (left+time.Second-1)/time.Second))
	g.later(time.Second, func() {
		if !l.over {
			g.count(l)
		}
	})
}

func (g *UndoBar) end(gone *graceLine) {
	gone.over = true
	g.lines = slices.DeleteFunc(g.lines, func(l *graceLine) bool { return l == gone })
	g.draw()
	g.Idle()
}

// Idle calls Empty unless a line is shown.
func (g *UndoBar) Idle() {
	if then := g.Empty; then != nil && !g.Busy() {
		g.Empty = nil
		then()
	}
}

func (g *UndoBar) draw() {
	g.Hidden = !g.Busy()
	g.fill()
	g.Refresh()
	if g.Changed != nil {
		g.Changed()
	}
}

// fill draws the lines. The buttons stand on the left, where nothing else can be pressed once they are gone, least of all a send
// button: a late or double press must not hit that instead.
func (g *UndoBar) fill() {
	var parts []fyne.CanvasObject
	for i, l := range g.lines {
		l.text.Most = 2
		switch {
		case !g.short:
			l.text.Most = 4 // what is done is the last word in some languages, after names that are long
			parts = append(parts, note(Pad(8, Stack(6, l.text, Row(8, l.button, l.clock)))))
		case i == len(g.lines)-1:
			parts = append(parts, note(PadHV(8, 4, Across(Row(8, l.button, l.clock), l.text, nil))))
		}
	}
	Remake(g.box, parts...)
}

// Short shows only the newest action, on one line, or all of them.
func (g *UndoBar) Short(short bool) {
	if g.short != short {
		g.short = short
		g.fill()
	}
}
