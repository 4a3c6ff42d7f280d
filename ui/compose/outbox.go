package compose

import (
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// showOutbox lists the drafts that are not packages yet, each with what can be done about it.
func (s *Screen) showOutbox(drafts []office.Draft) {
	list := widgets.Stack(12)
	s.undecided = slices.ContainsFunc(drafts, undecided)
	s.tellWaiting()
	for _, d := range drafts {
		if s.run.owns(d) { // the bar tells about it
			s.hintOf(d)
			continue
		}
		list.Add(s.draftRow(d))
	}
	if len(list.Objects) == 0 {
		widgets.Remake(s.outbox)
		return
	}
	widgets.Remake(s.outbox, widgets.Stack(8, widgets.NewTitle(lang.L("Outbox")), widgets.Card(list)))
}

// undecided says that nothing happens to a draft until the person decides.
func undecided(d office.Draft) bool {
	return d.State == office.DraftHeld || d.State == office.DraftFailed
}

// hintOf says what keeps a draft that is being sent.
func (s *Screen) hintOf(d office.Draft) {
	if d.State == office.DraftQueued && !d.Problem.IsZero() && !s.run.stopping {
		s.bar.progress(-1, outbox.HeldUp(d))
	}
}

func (s *Screen) draftRow(d office.Draft) fyne.CanvasObject {
	mark, text := outbox.State(d)
	name := widgets.NewFullName(d.Name)
	note := widget.NewLabel(text)
	note.Wrapping, note.SizeName = fyne.TextWrapWord, theme.Caption
	row := widgets.Stack(2, widgets.Across(widget.NewIcon(mark.Resource()), name, nil), note)
	if deeds := outbox.Deeds(s.env, d, func() { s.Edit(d) }, s.Reload); len(deeds) > 0 {
		row.Add(widgets.Flow(4, deeds...))
	}
	return row
}
