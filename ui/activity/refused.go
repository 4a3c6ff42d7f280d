package activity

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// refusals is the tab of what was refused: how many, and samples.
type refusals struct {
	screen *Screen
	rows   []agent.Refusal
	total  *widgets.Line
	list   *widgets.List
	page   fyne.CanvasObject
	empty  fyne.CanvasObject
}

func (r *refusals) build(s *Screen) {
	r.screen = s
	r.total = widgets.NewCaption("")
	r.list = widgets.NewList(func() int { return len(r.rows) }, newRefusalRow, r.update)
	r.list.HideSeparators = true
	r.list.Says = func() string { return lang.L("Blocked") }
	r.list.OnSelected = r.list.Chose
	r.page = widgets.Frame(widgets.PadHV(24, 10, r.total), nil, nil, widgets.PadHV(12, 0, r.list))
	r.empty = widgets.Empty(theme.MarkSigned.Resource(), lang.L("Nothing has been blocked. Requests without a valid event signature are listed here."), "", nil)
}

func (r *refusals) content() fyne.CanvasObject {
	if len(r.rows) == 0 {
		return r.empty
	}
	return r.page
}

func (r *refusals) fill(rows []agent.Refusal, total int) {
	r.rows = rows
	for _, row := range rows {
		total = max(total, 1+row.More)
	}
	r.total.Set(lang.N("{{.PluralCount}} requests were blocked. None of them changed anything. Examples:", total))
	top, hidden := r.list.Top()
	r.list.Renew(-1, top, hidden)
}

// refusalRow is one row: when, why, and from where with how many more like it.
type refusalRow struct {
	widgets.ListRow
	when, why, from *widgets.Line
}

func newRefusalRow() fyne.CanvasObject {
	r := &refusalRow{when: widgets.NewCaption(""), why: widgets.NewLine(""), from: widgets.NewCaption("")}
	r.why.Shorten, r.why.Begins = true, true
	icon := widget.NewIcon(theme.MarkEnded.Resource())
	r.Lines, r.Content = []*widgets.Line{r.why, r.from}, widgets.PadHV(12, 4, widgets.Across(widgets.Row(8, widgets.Wide(92, r.when), icon), widgets.Stack(1, r.why, r.from), nil))
	r.ExtendBaseWidget(r)
	return r
}

func (r *refusals) update(id int, o fyne.CanvasObject) {
	row, refusal := o.(*refusalRow), r.rows[id]
	row.when.Text, row.why.Text = i18n.Clock(r.screen.env.Now(), refusal.Time), i18n.Message(refusal.Reason)
	from := i18n.V{"Address": refusal.Remote, "N": refusal.More}
	switch {
	case refusal.More > 0 && refusal.Remote != "":
		row.from.Text = lang.L("from {{.Address}}, and {{.N}} more of this kind", from)
	case refusal.More > 0:
		row.from.Text = lang.L("and {{.N}} more of this kind", from)
	case refusal.Remote != "":
		row.from.Text = lang.L("from {{.Address}}", from)
	default:
		row.from.Text = ""
	}
	row.Shown()
}
