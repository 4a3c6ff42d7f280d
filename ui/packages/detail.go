package packages

import (
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/store"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
)

// show shows a package on the right; another one than before starts at its top.
func (s *Screen) show(p paper) {
	fresh := p.row.ID != s.paper.row.ID
	s.paper = p
	s.draw(fresh)
	if p.known {
		s.fetch(p)
	}
}

func (s *Screen) draw(fresh bool) {
	p := s.paper
	if !p.known {
		widgets.Remake(s.detail)
		if p.row.Name != "" {
			widgets.Remake(s.detail, container.NewVScroll(widgets.PadHV(20, 16, widgets.NewHeading(words.Title(p.row.Name)))))
		}
		return
	}
	page := widgets.Stack(16, s.headOf(p))
	if trouble := words.Trouble(p.row); trouble != "" {
		page.Add(warning(trouble))
	}
	if len(p.missing) > 0 {
		page.Add(warning(lang.N("{{.PluralCount}} saved files cannot be found in their folders. Save them again, unless you moved them yourself.", len(p.missing))))
	}
	page.Add(s.signersOf(p.row))
	page.Add(s.documentsOf(p))
	if len(p.row.Files) > 0 {
		page.Add(s.filesOf(p))
	}
	if len(p.row.Timeline) > 0 {
		page.Add(s.timelineOf(p.row))
	}
	scroll := container.NewVScroll(widgets.PadHV(20, 16, page))
	if old, ok := s.scrolled(); ok && !fresh {
		scroll.Offset = old
	}
	widgets.Remake(s.detail, scroll)
}

func (s *Screen) scrolled() (fyne.Position, bool) {
	if len(s.detail.Objects) == 0 {
		return fyne.Position{}, false
	}
	scroll, ok := s.detail.Objects[0].(*container.Scroll)
	if !ok {
		return fyne.Position{}, false
	}
	return scroll.Offset, true
}

func isOpen(row agent.PackageRow) bool { return words.StandingOf(row) == words.Open }

func (s *Screen) headOf(p paper) fyne.CanvasObject {
	row, standing := p.row, words.StandingOf(p.row)
	state, _ := widgets.MarkLine(standing.Mark(), standing.Word())
	facts := []string{words.Documents(len(row.Documents))}
	if row.FilesTotal > 0 {
		facts = append(facts, lang.L("{{.Done}} of {{.Total}} files saved", words.V{"Done": row.FilesDone, "Total": row.FilesTotal}))
	}
	if !row.Created.IsZero() && !words.IsDraft(row.State) {
		facts = append(facts, lang.L("sent {{.When}}", words.V{"When": words.Clock(s.desk.Now(), row.Created)}))
	}
	if row.Reference != "" {
		facts = append(facts, lang.L("reference {{.Reference}}", words.V{"Reference": row.Reference}))
	}
	if row.Origin == store.MadeElsewhere {
		facts = append(facts, lang.L("created elsewhere in your organization"))
	}
	head := widgets.Stack(6, widgets.Across(nil, widgets.NewHeading(words.Title(row.Name)), state), widgets.NewCaption(strings.Join(facts, " · ")))
	if due, colour := words.Due(s.desk.Now(), row.Due, standing); due != "" {
		line := widgets.NewCaption(due)
		line.Colour = colour
		head.Add(line)
	}
	if actions := s.actionsOf(p); len(actions) > 0 {
		head.Add(widgets.PadHV(0, 4, widgets.Row(8, actions...)))
	}
	return head
}

func warning(text string) fyne.CanvasObject {
	label := widget.NewLabel(text)
	label.Wrapping = fyne.TextWrapWord
	return widgets.On(look.Wash, widgets.PadHV(12, 0, container.NewBorder(nil, nil, widgets.Centre(widget.NewIcon(look.MarkProblem.Resource())), nil, label)))
}

func (s *Screen) signersOf(row agent.PackageRow) fyne.CanvasObject {
	title := lang.L("Signers")
	if progress := words.Progress(row.SignersDone, row.SignersTotal); progress != "" {
		title += "  ·  " + progress
	}
	list := widgets.Stack(10)
	addresses := s.links[paper{row: row}.linksKey()]
	for i, signer := range row.Signers {
		state := words.StateOf(s.desk.Now(), row, signer)
		when := widgets.NewCaption(state.Text)
		when.Shorten, when.Colour = false, state.Mark.Colour()
		right := widgets.Row(8, when)
		if address := addresses[i]; address != "" && state.Mark == look.MarkNext {
			sign := widgets.NewButton(lang.L("Sign as {{.Who}}…", words.V{"Who": words.Name(signer)}), func() { s.desk.OpenAddress(address) })
			right = widgets.Row(8, sign)
		}
		who := widgets.Stack(1, shortLine(words.Name(signer)))
		if signer.Email != "" && signer.Email != words.Name(signer) {
			who.Add(widgets.NewCaption(signer.Email))
		}
		if signer.DeclineReason != "" {
			who.Add(widgets.NewCaption(lang.L("Reason: {{.Reason}}", words.V{"Reason": signer.DeclineReason})))
		}
		list.Add(widgets.Across(widget.NewIcon(state.Mark.Resource()), who, right))
	}
	if len(row.Signers) == 0 {
		list.Add(widgets.NewCaption(lang.L("The signing service has not listed the signers yet.")))
	}
	return section(title, list)
}

func (s *Screen) documentsOf(p paper) fyne.CanvasObject {
	list := widgets.Stack(8)
	if pages := s.picturesOf(p); pages != nil {
		list.Add(pages)
	}
	for _, d := range p.row.Documents {
		state := words.Progress(len(d.SignedBy), len(p.row.Signers))
		if d.Executed {
			state = lang.L("fully signed")
		}
		note := widgets.NewCaption(state)
		note.Shorten = false
		list.Add(widgets.Across(widget.NewIcon(theme.DocumentIcon()), shortLine(words.DocumentName(d)), note))
	}
	if len(p.row.Documents) == 0 {
		list.Add(widgets.NewCaption(lang.L("The signing service has not listed the documents yet.")))
	}
	return section(lang.L("Documents"), list)
}

func (s *Screen) filesOf(p paper) fyne.CanvasObject {
	list := widgets.Stack(8)
	for _, path := range p.row.Files {
		mark, place := look.MarkSaved, filepath.Dir(path)
		if p.missing[path] {
			mark, place = look.MarkProblem, lang.L("no longer in {{.Folder}}", words.V{"Folder": filepath.Dir(path)})
		}
		open := widgets.NewButton(lang.L("Open"), func() { s.desk.OpenFile(path) })
		show := widgets.NewButton(lang.L("Show in folder"), func() { s.desk.ShowInFolder(path) })
		if p.missing[path] {
			open.Disable()
			show.Disable()
		}
		name := widgets.Stack(1, shortLine(filepath.Base(path)), widgets.NewCaption(place))
		list.Add(widgets.Across(widget.NewIcon(mark.Resource()), name, widgets.Row(4, open, show)))
	}
	return section(lang.L("Saved files"), list)
}

func (s *Screen) timelineOf(row agent.PackageRow) fyne.CanvasObject {
	list := widgets.Stack(6)
	for _, m := range slices.Backward(row.Timeline) {
		when := widgets.NewCaption(words.Clock(s.desk.Now(), m.Time))
		list.Add(widgets.Across(widgets.Wide(92, when), shortLine(words.Moment(row, m)), nil))
	}
	return section(lang.L("What happened"), list)
}

func section(title string, content fyne.CanvasObject) fyne.CanvasObject {
	return widgets.Stack(8, widgets.NewTitle(title), widgets.Card(content))
}

func shortLine(text string) *widgets.Line {
	line := widgets.NewLine(text)
	line.Shorten = true
	return line
}
