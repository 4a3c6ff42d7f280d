package activity

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// diary is the tab of what happened, in words, newest first.
type diary struct {
	screen  *Screen
	entries []office.Activity
	list    *widgets.List
	inset   fyne.CanvasObject // the list with room around it
	empty   fyne.CanvasObject
}

func (d *diary) build(s *Screen) {
	d.screen = s
	d.list = widgets.NewList(func() int { return len(d.entries) }, newLine, d.update)
	d.list.HideSeparators = true
	d.list.Says = func() string { return lang.L("Activity") }

	d.list.OnSelected = d.list.Chose
	d.list.OnEnter = d.openChosen
	d.inset = widgets.PadHV(12, 4, d.list)
	d.empty = widgets.Empty(fynetheme.HistoryIcon(), lang.L("Nothing has happened yet."), "", nil)
}

func (d *diary) content() fyne.CanvasObject {
	if len(d.entries) == 0 {
		return d.empty
	}
	return d.inset
}

func (d *diary) fill(entries []office.Activity) {
	top, hidden := d.list.Top()
	// Lines are only ever added in front, so the ones there were are found by counting from the end of the old list.
	added := addedInFront(d.entries, entries)
	chosen := d.list.At()
	if chosen >= 0 {
		chosen = min(chosen+added, len(entries)-1)
	}
	if top > 0 {
		top += added
	}
	d.entries = entries
	d.list.Renew(chosen, top, hidden)
}

// addedInFront is how many lines are newer than the newest of the old ones.
func addedInFront(old, now []office.Activity) int {
	if len(old) == 0 {
		return 0
	}
	for i, a := range now {
		if a == old[0] {
			return i
		}
	}
	return 0
}

func (d *diary) openChosen() {
	if at := d.list.At(); at >= 0 && at < len(d.entries) && d.entries[at].PackageID != "" {
		d.screen.env.Go.ShowPackage(d.entries[at].PackageID)
	}
}

// line is one row: when, a shape, what, and a way to the package.
type line struct {
	widgets.ListRow
	when, text *widgets.Line
	mark       *widget.Icon
	open       *widgets.Button
}

func newLine() fyne.CanvasObject {
	l := &line{when: widgets.NewCaption(""), text: widgets.NewLine(""), mark: widget.NewIcon(theme.MarkLater.Resource())}
	l.text.Shorten = true
	l.open = widgets.NewButtonWithIcon("", fynetheme.NavigateNextIcon(), nil)
	l.open.Importance = widget.LowImportance
	l.open.Says = func() string { return widgets.Said(lang.L("Show the package"), l.text.Text) }
	l.Lines, l.Content = []*widgets.Line{l.text}, widgets.PadHV(8, 0, widgets.Across(widgets.Row(8, widgets.Wide(92, l.when), l.mark), l.text, l.open))
	l.ExtendBaseWidget(l)
	return l
}

func (d *diary) update(id int, o fyne.CanvasObject) {
	l, entry := o.(*line), d.entries[id]
	l.text.Begins = markOf(entry.Kind) == theme.MarkProblem // what went wrong with what; then why
	l.when.Set(i18n.When(d.screen.env.Now(), entry.When()))
	l.text.Set(i18n.Message(entry.Text))
	l.mark.SetResource(markOf(entry.Kind).Resource())
	l.open.OnTapped = func() { d.screen.env.Go.ShowPackage(entry.PackageID) }
	l.open.Hidden = entry.PackageID == ""
	l.Shown()
}

func markOf(kind string) theme.Mark {
	switch kind {
	case "saved":
		return theme.MarkSaved
	case "event", "signed", "executed":
		return theme.MarkSigned
	case "withdrawn":
		return theme.MarkEnded
	case "problem", "failed":
		return theme.MarkProblem
	default:
		return theme.MarkLater
	}
}
