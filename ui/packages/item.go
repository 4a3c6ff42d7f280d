package packages

import (
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// maxMarks is how many signers a row shows as shapes; more are said in words.
const maxMarks = 5

// item is one row of the list: name and age, or the due date in its place, then a shape for each signer and where the
// package stands, which needs all the width there is.
type item struct {
	widgets.ListRow
	name, age, line, due *widgets.Line
	calendar             *widget.Icon    // says that due is a due date, or that it has passed
	dueBox               *fyne.Container // both
	marks                [maxMarks]*widget.Icon
	cells                [maxMarks]*fyne.Container // around the marks
}

func newItem() *item {
	i := &item{name: widgets.NewTitle(""), age: widgets.NewCaption(""), line: widgets.NewCaption(""), due: widgets.NewCaption(""), calendar: widget.NewIcon(nil)}
	i.age.Shorten, i.due.Shorten = false, false
	i.Lines = []*widgets.Line{i.name, i.line}
	row := container.New(layout.NewCustomPaddedHBoxLayout(3))
	for n := range i.marks {
		i.marks[n] = widget.NewIcon(theme.MarkLater.Resource())
		i.cells[n] = widgets.Mark(15, i.marks[n])
		row.Add(i.cells[n])
	}
	i.dueBox = widgets.Row(4, widgets.Mark(14, i.calendar), i.due)
	i.Content = widgets.PadHV(12, 7, widgets.Stack(4,
		widgets.Across(nil, i.name, container.NewStack(i.age, i.dueBox)),
		widgets.Across(row, i.line, nil)))
	i.ExtendBaseWidget(i)
	return i
}

// show shows a row; what is due within days is due soon.
func (i *item) show(now time.Time, days int, r listed, o order) {
	i.name.Text, i.name.Begins = i18n.Title(r.line.Name), r.issue != nil
	i.line.Begins = r.draft != nil || r.standing == i18n.Wrong
	i.age.Text = i18n.Age(now, r.line.Created)
	marks := marksOf(r)
	for n, icon := range i.marks {
		if n >= len(marks) {
			i.cells[n].Hide()
			continue
		}
		icon.SetResource(marks[n].Resource())
		i.cells[n].Show()
	}
	i.line.Text, i.line.Colour = textOf(now, days, r), theme.Secondary
	if r.standing == i18n.Wrong {
		i.line.Colour = theme.Attention
	}
	if r.issue != nil && r.issue.Severity != agent.Problem {
		i.line.Colour = theme.Secondary
	}
	i.showDue(now, days, r, o)
	i.Shown()
}

// showDue shows the due date in the place of the age: of the two it is what matters, and what the rows may be sorted by. The
// mouse says it in words.
func (i *item) showDue(now time.Time, days int, r listed, o order) {
	text, colour := i18n.Due(now, r.line.Due, days, r.standing)
	if text == "" && o == byDue && !r.line.Due.IsZero() {
		text, colour = i18n.DueDate(now, r.line.Due), theme.Secondary
	}
	i.More = text
	i.age.Hidden, i.dueBox.Hidden = text != "", text == ""
	if text == "" {
		return
	}
	i.due.Text, i.due.Colour = i18n.Date(now, r.line.Due), colour
	icon := fynetheme.CalendarIcon()
	if colour == theme.Attention {
		icon = fynetheme.WarningIcon()
	}
	i.calendar.SetResource(fynetheme.NewColoredResource(icon, colour))
}

// textOf is what the row says beside the shapes.
func textOf(now time.Time, days int, r listed) string {
	switch {
	case r.issue != nil:
		return i18n.Since(now, r.issue.Since)
	case r.draft != nil:
		_, text := outbox.State(*r.draft)
		return text
	}
	text := i18n.Line(r.line)
	if late := i18n.Lateness(now, r.line.Due, days); late != "" && r.standing == i18n.Open {
		text = late + " · " + text // the colour of the date alone would not say it
	}
	if r.line.SignersTotal > maxMarks && r.standing == i18n.Open {
		text = i18n.Progress(r.line.SignersDone, r.line.SignersTotal) + " · " + text
	}
	if r.line.Origin == office.MadeElsewhere {
		text += " · " + lang.L("created elsewhere")
	}
	return text
}

// marksOf is a shape for each signer: first those who have signed, then those whose turn it is, then the others. It is
// one shape where the package is no longer open, there are too many signers or none is known.
func marksOf(r listed) []theme.Mark {
	l := r.line
	switch {
	case r.issue != nil && r.issue.Severity != agent.Problem:
		return []theme.Mark{theme.MarkNext}
	case r.draft != nil:
		mark, _ := outbox.State(*r.draft)
		return []theme.Mark{mark}
	}
	if r.standing != i18n.Open || l.SignersTotal == 0 || l.SignersTotal > maxMarks || l.State.Unsent() {
		return []theme.Mark{r.standing.Mark()}
	}
	marks := make([]theme.Mark, l.SignersTotal)
	turn := l.SignersDone + len(i18n.NextOf(l))
	for n := range marks {
		switch {
		case n < l.SignersDone:
			marks[n] = theme.MarkSigned
		case n < turn:
			marks[n] = theme.MarkNext
		default:
			marks[n] = theme.MarkLater
		}
	}
	return marks
}
