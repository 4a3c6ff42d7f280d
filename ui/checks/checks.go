// Package checks shows how the steps of the way to the service and back went: a mark, the step's name, and what was found.
// It shows what it is given and tries nothing itself.
package checks

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Rows are some steps, to stand below each other.
func Rows(steps []office.Check) []fyne.CanvasObject {
	rows := make([]fyne.CanvasObject, len(steps))
	for i, s := range steps {
		rows[i] = Row(s, MarkOf(s.Result), "", nil)
	}
	return rows
}

func MarkOf(r office.CheckResult) theme.Mark {
	switch r {
	case office.CheckFine:
		return theme.MarkSigned
	case office.CheckWrong:
		return theme.MarkProblem
	case office.CheckUnderWay:
		return theme.MarkNext
	}
	return theme.MarkLater
}

// Row is one step: its mark and its name, if it has one, what was found, a note below that, and what stands at its end, which may be nil.
func Row(c office.Check, mark theme.Mark, note string, end fyne.CanvasObject) fyne.CanvasObject {
	text, next := i18n.Words().Lines(c.Found)
	found := widgets.NewParagraph(text)
	if mark == theme.MarkProblem {
		found.Colour = mark.Colour()
	} else if c.Result != office.CheckFine && c.Issue == "" {
		found.Colour = theme.Secondary
	}
	what := widgets.Stack(1, found)
	for _, more := range []string{next, note} {
		if more != "" {
			what.Add(widgets.NewProse(more))
		}
	}
	icon := widget.NewIcon(mark.Resource())
	if c.Step.IsZero() {
		return widgets.Across(icon, what, end)
	}
	name := widgets.NewProse(i18n.Message(c.Step))
	return widgets.Across(widgets.Row(8, icon, widgets.Wide(widgets.Scaled(150), name)), what, end)
}
