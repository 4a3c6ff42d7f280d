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

// outboxList is the drafts of the office that wait.
type outboxList struct {
	undecided   bool                           // drafts of the office wait for a decision
	drafts      []office.Draft                 // as the outbox shows them
	draftDeeds  map[string][]fyne.CanvasObject // their buttons, by id
	shownEdited []string                       // those that it shows as being changed
	wanted      string                         // the one that somebody wants to see; empty for none
	outbox      *fyne.Container
}

// showOutbox lists the drafts that are not packages yet, each with what can be done about it.
func (s *Screen) showOutbox(drafts []office.Draft) {
	list := widgets.Stack(12)
	focused, at := widgets.FocusedIn(s.env.Window.Canvas(), s.draftDeeds)
	s.drafts, s.draftDeeds, s.shownEdited = drafts, map[string][]fyne.CanvasObject{}, s.edited()
	s.undecided = slices.ContainsFunc(drafts, undecided)
	s.tellWaiting()
	for _, d := range drafts {
		if s.run.owns(d) { // the bar tells about it
			if d.State == office.DraftQueued && !d.Problem.IsZero() && !s.run.stopping {
				s.bar.progress(-1, outbox.HeldUp(d))
			}
			continue
		}
		list.Add(s.draftRow(d))
	}
	if len(list.Objects) == 0 {
		widgets.Remake(s.outbox)
		return
	}
	widgets.Remake(s.outbox, widgets.Stack(8, widgets.NewTitle(lang.L("Outbox")), widgets.Card(list)))
	s.layOutAnew()
	if deeds := s.draftDeeds[focused]; at < len(deeds) {
		s.focusDeed(deeds[at])
	}
	s.chooseWanted()
}

// ShowDraft leads to a draft that waits for a person, with the cursor on what sends it.
func (s *Screen) ShowDraft(id string) {
	s.wanted = id
	s.Reload()
}

// chooseWanted goes to the draft that somebody wants to see, once it is there; the one after it takes its place when it is not.
func (s *Screen) chooseWanted() {
	if s.wanted == "" {
		return
	}
	deeds := s.draftDeeds[s.wanted]
	if len(deeds) == 0 {
		for _, d := range s.drafts {
			if deeds = s.draftDeeds[d.ID]; d.State == office.DraftHeld && len(deeds) > 0 {
				break
			}
		}
	}
	s.wanted = ""
	if len(deeds) > 0 {
		s.focusDeed(deeds[len(deeds)-1])
	}
}

func (s *Screen) focusDeed(deed fyne.CanvasObject) {
	if button, is := deed.(fyne.Focusable); is {
		s.env.Window.Canvas().Focus(button)
	}
}

// edited are the drafts that the form takes the place of.
func (s *Screen) edited() (ids []string) {
	for _, doc := range s.docs {
		if doc.draft != "" && !slices.Contains(ids, doc.draft) {
			ids = append(ids, doc.draft)
		}
	}
	if s.basis != nil && s.basis.refused != "" {
		ids = append(ids, s.basis.refused)
	}
	return ids
}

// markEdited shows which drafts are being changed, when those are others than before.
func (s *Screen) markEdited() {
	if s.loaded && s.run == nil && !slices.Equal(s.shownEdited, s.edited()) {
		s.showOutbox(s.drafts)
	}
}

// undecided says that nothing happens to a draft until the person decides.
func undecided(d office.Draft) bool {
	return d.State == office.DraftHeld || d.State == office.DraftFailed
}

func (s *Screen) draftRow(d office.Draft) fyne.CanvasObject {
	mark, text := outbox.State(d)
	name := widgets.NewFullName(d.Name)
	note := widget.NewLabel(text)
	note.Wrapping, note.SizeName = fyne.TextWrapWord, theme.Caption
	row := widgets.Stack(2, widgets.Across(widget.NewIcon(mark.Resource()), name, nil), note)
	if slices.Contains(s.edited(), d.ID) { // sent from here, it would go out without what was changed
		note.SetText(lang.L("You are changing it in this form."))
		return row
	}
	if deeds := outbox.Deeds(s.env, s.office, d, func() { s.Edit(d) }, s.Reload); len(deeds) > 0 {
		s.draftDeeds[d.ID] = deeds
		row.Add(widgets.Flow(4, deeds...))
	}
	return row
}
