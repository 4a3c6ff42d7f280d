package packages

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// What stands above the packages of the list: what is wrong with the office as a whole, and what waits to be sent. Their
// ids tell them from packages.
const (
	issueID = "issue "
	draftID = "draft "
)

func issueRow(i agent.Issue) listed {
	text := i18n.Message(i.Message)
	return listed{line: office.PackageLine{ID: issueID + i.ID, Name: text, Created: i.Since}, sorted: sorted{standing: i18n.Wrong}, text: office.Fold(text), issue: &i}
}

func draftRow(d office.Draft) listed {
	people, files := namesOf(d)
	r := listed{line: office.PackageLine{ID: draftID + d.ID, Name: d.Name, Created: d.Created}, sorted: sorted{standing: i18n.Open},
		text: office.Fold(d.Name + "\n" + people + "\n" + files), draft: &d}
	if !outbox.Waits(d) {
		r.standing = i18n.Wrong
	}
	return r
}

// namesOf are the signers and the documents of a draft.
func namesOf(d office.Draft) (people, files string) {
	var who, what []string
	for _, s := range d.Signers {
		who = append(who, i18n.Name(s)+" "+s.Email)
	}
	for _, f := range d.Files {
		what = append(what, f.Name)
	}
	for _, own := range ownDocuments(d) {
		what = append(what, own.DisplayName())
	}
	return strings.Join(who, "\n"), strings.Join(what, "\n")
}

// ownDocuments are the documents of a draft that its template brings.
func ownDocuments(d office.Draft) []office.TemplateDocument {
	if d.Template == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.Template.Documents), func(own office.TemplateDocument) bool { return own.File != "" })
}

// headsOf are the rows above the packages that match a search, are wanted and belong to a tab. It adds all that match to the counts of
// their tabs: what is wrong with the office is under Problems alone.
func (s *Screen) headsOf(text string, wish func(listed) bool, tab int, counts *counts) (rows []listed) {
	wanted := strings.Fields(office.Fold(text))
	for _, r := range append(slices.Clone(s.issues), s.drafts...) {
		if _, beside := s.draftOf(r); beside || !office.HasWords(r.text, wanted) || !wish(r) {
			continue
		}
		own := tabOf(r.standing)
		counts[own]++
		if r.draft != nil {
			counts[tabAll]++
		}
		if own == tab || tab == tabAll && r.draft != nil {
			rows = append(rows, r)
		}
	}
	return rows
}

// headOfID finds an issue or a draft, also one that the tab does not show.
func (s *Screen) headOfID(id string) (r listed, known bool) {
	for _, r := range append(slices.Clone(s.issues), s.drafts...) {
		if r.line.ID == id {
			return r, true
		}
	}
	return r, false
}

// ShowHealth lists what is wrong with the office as a whole: what the strip shows, and the rest.
func (s *Screen) ShowHealth(issues []agent.Issue) {
	rows := []listed{}
	for _, i := range env.Problems(issues) {
		rows = append(rows, issueRow(i))
	}
	same := slices.EqualFunc(rows, s.issues, func(a, b listed) bool { return *a.issue == *b.issue })
	s.issues = rows
	if !same {
		s.relist()
	}
}

// ShowProblem chooses what is wrong with the office, or the draft that it is about.
func (s *Screen) ShowProblem(id string) {
	id = issueID + id
	if r, known := s.headOfID(id); known {
		if draft, listed := s.draftOf(r); listed {
			id = draft
		}
	}
	s.Show(id)
}

// draftOf is the draft that r, an issue, is about. It is listed in its place: the two are one problem.
func (s *Screen) draftOf(r listed) (id string, listed bool) {
	if r.issue == nil || r.issue.Action != agent.ActReview {
		return "", false
	}
	for _, r := range s.drafts {
		if r.draft.State == office.DraftUnknown {
			return r.line.ID, true
		}
	}
	return "", false
}

// drawHead shows an issue or a draft on the right.
func (s *Screen) drawHead(r listed) fyne.CanvasObject {
	if r.issue != nil {
		return s.issuePage(*r.issue)
	}
	return s.draftPage(*r.draft)
}

// issuePage is one thing that is wrong: what, since when, and what to do about it.
func (s *Screen) issuePage(i agent.Issue) fyne.CanvasObject {
	mark, word := theme.MarkProblem, lang.L("Problem")
	if i.Severity != agent.Problem {
		mark, word = theme.MarkNext, lang.L("Notice")
	}
	state, _ := widgets.MarkLine(mark, word)
	text := widgets.NewParagraph(i18n.Message(i.Message))
	text.Scale = theme.Title
	page := widgets.Stack(12, state, text)
	if !i.Since.IsZero() {
		page.Add(widgets.NewProse(i18n.Since(s.env.Now(), i.Since)))
	}
	buttons := []fyne.CanvasObject{}
	if word := i18n.Action(i.Action); word != "" {
		do := widgets.NewButton(word, nil)
		do.Importance = widget.HighImportance
		do.OnTapped = func() { do.Disable(); s.env.Go.Act(i, do.Enable) }
		buttons = append(buttons, do)
	}
	if i.Action == agent.ActChooseFolder && s.folder != "" {
		buttons = append(buttons, widgets.NewButtonWithIcon(lang.L("Open folder"), fynetheme.FolderOpenIcon(), s.OpenFolder))
	}
	page.Add(widgets.Flow(8, buttons...))
	return page
}

// draftPage is what waits to be sent, with what can be done about it.
func (s *Screen) draftPage(d office.Draft) fyne.CanvasObject {
	mark, text := outbox.State(d)
	state := widgets.NewParagraph(text)
	state.Colour = mark.Colour()
	head := widgets.Stack(6, widgets.NewFullHeading(i18n.Title(d.Name)),
		widgets.Across(widget.NewIcon(mark.Resource()), state, nil))
	if !d.Created.IsZero() {
		head.Add(widgets.NewProse(lang.L("in the outbox") + " · " + i18n.Since(s.env.Now(), d.Created)))
	}
	deeds := outbox.Deeds(s.env, d, func() { s.env.Go.EditDraft(d) }, s.Reload)
	if len(deeds) > 0 {
		head.Add(widgets.PadHV(0, 4, widgets.Flow(8, deeds...)))
	}
	people := widgets.Stack(8)
	for _, signer := range d.Signers {
		people.Add(widgets.Across(widget.NewIcon(theme.MarkLater.Resource()), whoIs(signer), nil))
	}
	files := widgets.Stack(8)
	for _, own := range ownDocuments(d) {
		files.Add(s.fileLine(fileLine{name: own.DisplayName(), note: lang.L("from the template"), mark: theme.MarkLater}, false))
	}
	for _, f := range d.Files {
		files.Add(s.fileLine(fileLine{name: f.Name, note: lang.L("not sent yet"), mark: theme.MarkLater, path: f.Path}, false))
	}
	page := widgets.Stack(16, head)
	if len(d.Signers) > 0 {
		page.Add(widgets.Section(lang.L("Signers"), 0, people))
	}
	if len(d.Recipients) > 0 {
		page.Add(copiesTo(d.Recipients))
	}
	if len(files.Objects) > 0 {
		page.Add(widgets.Section(lang.L("Documents"), 0, files))
	}
	return page
}

// overview is what stands on the right while nothing is chosen: how many packages there are, or how it all goes.
func (s *Screen) overview() fyne.CanvasObject {
	add := widgets.NewButtonWithIcon(lang.L("New package"), fynetheme.ContentAddIcon(), s.env.Go.ShowCompose)
	page := widgets.Stack(12, widgets.NewFullHeading(lang.L("Overview")))
	if len(s.all.rows) == 0 && len(s.drafts) == 0 {
		page.Add(widgets.NewParagraph(lang.L("The signing service e-mails the signers. Packages shows who has signed and who is next.")))
		page.Add(widgets.NewParagraph(lang.L("When everyone has signed, Countersign saves the documents in your folder. Documents signed while it was closed are saved when you start it again.")))
	} else {
		marks := [...]theme.Mark{tabWaiting: theme.MarkNext, tabDue: theme.MarkNext, tabDone: theme.MarkSaved, tabProblems: theme.MarkProblem}
		list := widgets.Stack(2)
		counts := s.all.counts // whatever is searched for
		s.headsOf("", func(listed) bool { return true }, tabAll, &counts)
		for tab, mark := range marks {
			if tab == tabDue && counts[tab] == 0 {
				continue
			}
			count := widgets.NewLine(i18n.Number(counts[tab]))
			count.Bold = true
			list.Add(widgets.NewPress(widgets.PadHV(4, 6, widgets.Across(widget.NewIcon(mark.Resource()), widgets.NewLine(s.tabNames()[tab]), count)),
				func() { s.widen(); s.tabs.Choose(tab) }))
		}
		page.Add(widgets.Card(list))
	}
	page.Add(widgets.Flow(8, add))
	return page
}
