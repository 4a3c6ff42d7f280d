package widgets

import (
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/widget"

	"countersign/ui/theme"
)

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

// Text is the newest line, empty when there is none.
func (g *UndoBar) Text() string {
	if !g.Busy() {
		return ""
	}
	return g.lines[len(g.lines)-1].text.Text
}

// Undo prevents what the newest line says.
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
