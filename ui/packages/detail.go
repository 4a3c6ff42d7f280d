package packages

import (
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// show shows a package on the right; another one than before starts at its top.
func (s *Screen) show(p record) {
	fresh := p.row.ID != s.record.row.ID
	s.record = p
	s.draw(fresh)
	if p.known {
		s.fetch(p)
	}
}

func (s *Screen) draw(fresh bool) {
	p := s.record
	if several := s.several(); len(several) > 0 {
		s.place(s.severalPage(several), fresh)
		return
	}
	if r, isHead := s.headOfID(s.chosen); isHead {
		s.place(s.drawHead(r), fresh)
		return
	}
	if !p.known {
		switch {
		case p.failure != nil:
			widgets.Remake(s.detail, widgets.Failure(i18n.Error(p.failure), s.readRecord))
		case !s.loaded:
			widgets.Remake(s.detail)
		case p.row.Name != "":
			s.place(widgets.NewFullHeading(i18n.Title(p.row.Name)), fresh)
		default:
			s.place(s.overview(), true)
		}
		return
	}
	page := widgets.Stack(16, s.headOf(p))
	if note := s.withdrawalOf(p); note != nil {
		page.Add(note)
	}
	if trouble := i18n.Trouble(p.row); trouble != "" {
		page.Add(warning(trouble))
	}
	if len(p.missing) > 0 {
		page.Add(warning(lang.N("{{.PluralCount}} saved files cannot be found in their folders. Save them again, unless you moved them yourself.", len(p.missing))))
	}
	signers, documents := s.signersOf(p.row), s.documentsOf(p)
	if p.row.FilesTotal > 0 { // what came back is what one looks for
		signers, documents = documents, signers
	}
	page.Add(signers)
	if len(p.row.Recipients) > 0 && p.row.FilesTotal == 0 {
		page.Add(copiesTo(p.row.Recipients))
	}
	page.Add(documents)
	if len(p.row.Recipients) > 0 && p.row.FilesTotal > 0 {
		page.Add(copiesTo(p.row.Recipients))
	}
	if len(p.row.Timeline) > 0 {
		page.Add(s.timelineOf(p.row))
	}
	s.place(page, fresh)
}

// place shows a page on the right, scrolled as the one before unless it is fresh.
func (s *Screen) place(page fyne.CanvasObject, fresh bool) {
	shown := len(s.detail.Objects) > 0 && s.detail.Objects[0] == s.sheet
	at := s.sheet.Offset
	if fresh || !shown {
		at = fyne.Position{}
	}
	widgets.Turn(s.sheet, widgets.PadHV(20, 16, page), at)
	if !shown {
		widgets.Remake(s.detail, s.sheet)
	}
}

func (s *Screen) headOf(p record) fyne.CanvasObject {
	row, standing := p.row, i18n.StandingOf(p.row)
	state, _ := widgets.MarkLine(standing.Mark(), standing.Word())
	facts := []string{i18n.Documents(len(row.Documents))}
	if row.FilesTotal > 0 {
		facts = append(facts, lang.L("{{.Done}} of {{.Total}} files saved", i18n.V{"Done": row.FilesDone, "Total": row.FilesTotal}))
	}
	if at := row.Sent(); !at.IsZero() && !row.State.Unsent() {
		facts = append(facts, lang.L("sent {{.When}}", i18n.V{"When": i18n.When(s.env.Now(), at)}))
	}
	if row.Reference != "" {
		facts = append(facts, lang.L("reference {{.Reference}}", i18n.V{"Reference": row.Reference}))
	}
	if row.Origin == office.MadeElsewhere {
		facts = append(facts, lang.L("created elsewhere in your organization"))
	}
	head := widgets.Stack(6, widgets.NewFullHeading(i18n.Title(row.Name)), state, widgets.NewProse(strings.Join(facts, " · ")))
	if due, colour := i18n.Due(s.env.Now(), row.Due, s.all.days, standing); due != "" {
		line := widgets.NewCaption(due)
		line.Colour = colour
		head.Add(line)
	}
	if actions := s.actionsOf(p); len(actions) > 0 {
		head.Add(widgets.PadHV(0, 4, widgets.Flow(8, actions...)))
	}
	return head
}

func warning(text string) fyne.CanvasObject {
	label := widget.NewLabel(text)
	label.Wrapping = fyne.TextWrapWord
	return widgets.On(theme.Wash, widgets.PadHV(12, 0, container.NewBorder(nil, nil, container.NewCenter(widget.NewIcon(theme.MarkProblem.Resource())), nil, label)))
}

func (s *Screen) signersOf(row office.PackageRow) fyne.CanvasObject {
	title := lang.L("Signers")
	if progress := i18n.Progress(row.SignersDone, row.SignersTotal); progress != "" {
		title += "  ·  " + progress
	}
	list := widgets.Stack(8)
	links := false
	for _, signer := range row.Signers {
		state := i18n.StateOf(s.env.Now(), row, signer)
		when := widgets.NewCaption(state.Text)
		when.Shorten, when.Colour = false, state.Mark.Colour()
		who := whoIs(signer)
		if signer.DeclineReason != "" {
			who.Add(widgets.NewProse(lang.L("Reason: {{.Reason}}", i18n.V{"Reason": signer.DeclineReason})))
		}
		mark := widget.NewIcon(state.Mark.Resource())
		list.Add(widgets.Across(mark, widgets.Aside(150, who, when), nil))
		if signer.ID != "" && row.StillSigns(signer) {
			links = true
			if !s.noLinks {
				list.Add(widgets.Across(widgets.Wide(mark.MinSize().Width, layout.NewSpacer()), s.waysOf(row, signer), nil))
			}
		}
	}
	if links && s.noLinks {
		list.Add(widgets.NewProse(i18n.Message(message.NoLinks())))
	}
	if len(row.Signers) == 0 {
		list.Add(widgets.NewCaption(lang.L("The signing service has not listed the signers yet.")))
	}
	return widgets.Section(title, 0, list)
}

// whoIs is a signer's name, and the address where that is not the name.
func whoIs(signer office.Signer) *fyne.Container {
	who := widgets.Stack(1, widgets.NewFullName(i18n.Name(signer)))
	if signer.Email != "" && signer.Email != i18n.Name(signer) {
		who.Add(widgets.NewFullCaption(signer.Email))
	}
	return who
}

func (s *Screen) timelineOf(row office.PackageRow) fyne.CanvasObject {
	list := widgets.Stack(6)
	for _, m := range slices.Backward(row.Timeline) {
		when := widgets.NewCaption(i18n.When(s.env.Now(), m.Time))
		when.Shorten = false
		list.Add(widgets.Across(widgets.Wide(92, when), widgets.NewParagraph(i18n.Moment(row, m)), nil))
	}
	return widgets.Section(lang.L("What happened"), 0, list)
}
