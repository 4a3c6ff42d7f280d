// Package checks shows how the steps of the way to the service and back went: a mark, the step's name, and what was found.
// It shows what it is given and tries nothing itself.
package checks

import (
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// List is the steps below each other. It belongs to the window's goroutine.
type List struct {
	Content *fyne.Container
	now     func() time.Time
	Shown   []office.Check // the steps that are shown
}

func New(now func() time.Time) *List { return &List{Content: widgets.Stack(8), now: now} }

// Shown are the steps that are shown.
// Show shows the steps. Where nothing but the findings changed, the place on the page stays.
func (l *List) Show(steps []office.Check) {
	if slices.Equal(l.Shown, steps) {
		return
	}
	l.Shown = slices.Clone(steps)
	rows := make([]fyne.CanvasObject, len(steps))
	for i, s := range steps {
		rows[i] = l.row(s)
	}
	widgets.Remake(l.Content, rows...)
}

func (l *List) row(s office.Check) fyne.CanvasObject {
	mark := map[office.CheckResult]theme.Mark{office.CheckFine: theme.MarkSigned, office.CheckWrong: theme.MarkProblem,
		office.CheckUnderWay: theme.MarkNext}[s.Result]
	if mark == "" {
		mark = theme.MarkLater
	}
	text, next := i18n.Words().Lines(s.Found)
	found := widgets.NewParagraph(text)
	if s.Result == office.CheckWrong {
		found.Colour = mark.Colour()
	} else if s.Result != office.CheckFine {
		found.Colour = theme.Secondary
	}
	what := widgets.Stack(1, found)
	if next != "" {
		what.Add(widgets.NewProse(next))
	}
	if !s.At.IsZero() {
		what.Add(widgets.NewCaption(i18n.Clock(l.now(), s.At)))
	}
	name := widgets.NewProse(i18n.Message(s.Step))
	return widgets.Across(widgets.Row(8, widget.NewIcon(mark.Resource()), widgets.Wide(150, name)), what, nil)
}
