package packages

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/ui/look"
	"countersign/ui/widgets"
	"countersign/ui/words"
	"countersign/ui/work"
)

// links are the signers' pages that the service gives for a package, by the signer's place in it.
type links map[int]string

// showDetail shows the chosen package on the right; fresh starts at its top.
func (s *Screen) showDetail(fresh bool) {
	row, ok := s.chosenRow()
	if !ok {
		widgets.Remake(s.detail)
		return
	}
	page := widgets.Stack(16, s.headOf(row))
	if trouble := words.Trouble(row); trouble != "" {
		page.Add(warning(trouble))
	}
	page.Add(s.signersOf(row))
	page.Add(s.documentsOf(row))
	if len(row.Files) > 0 {
		page.Add(s.filesOf(row))
	}
	if len(row.Timeline) > 0 {
		page.Add(s.timelineOf(row))
	}
	scroll := container.NewVScroll(widgets.PadHV(20, 16, page))
	if old, ok := s.scrolled(); ok && !fresh {
		scroll.Offset = old
	}
	widgets.Remake(s.detail, scroll)
	s.askForLinks(row)
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

func (s *Screen) headOf(row agent.PackageRow) fyne.CanvasObject {
	standing := words.StandingOf(row)
	state, _ := widgets.MarkLine(standing.Mark(), standing.Word())
	facts := []string{words.Documents(len(row.Documents))}
	if row.FilesTotal > 0 {
		facts = append(facts, lang.L("{{.Done}} of {{.Total}} files saved", words.V{"Done": row.FilesDone, "Total": row.FilesTotal}))
	}
	if !row.Created.IsZero() {
		facts = append(facts, lang.L("sent {{.When}}", words.V{"When": words.Clock(s.desk.Now(), row.Created)}))
	}
	if !row.Due.IsZero() && standing == words.Open {
		facts = append(facts, lang.L("to be signed by {{.When}}", words.V{"When": words.Day(s.desk.Now(), row.Due)}))
	}
	return widgets.Stack(6, widgets.Across(nil, widgets.NewHeading(words.Title(row)), state), widgets.NewCaption(strings.Join(facts, " · ")))
}

func warning(text string) fyne.CanvasObject {
	label := widget.NewLabel(text)
	label.Wrapping = fyne.TextWrapWord
	return widgets.On(look.Wash, widgets.PadHV(12, 0, container.NewBorder(nil, nil, widgets.Centre(widget.NewIcon(look.MarkProblem.Resource())), nil, label)))
}

func (s *Screen) signersOf(row agent.PackageRow) fyne.CanvasObject {
	title := lang.L("Signers")
	if progress := words.Progress(row); progress != "" {
		title += "  ·  " + progress
	}
	list := widgets.Stack(10)
	for i, signer := range row.Signers {
		state := words.StateOf(s.desk.Now(), row, signer)
		when := widgets.NewCaption(state.Text)
		when.Shorten, when.Colour = false, state.Mark.Colour()
		right := widgets.Row(8, when)
		if address := s.links[row.ID][i]; address != "" && state.Mark == look.MarkNext {
			sign := widget.NewButton(lang.L("Sign as {{.Who}}…", words.V{"Who": words.Name(signer)}), func() { s.desk.OpenAddress(address) })
			right = widgets.Row(8, sign)
		}
		who := widgets.Stack(1, widgets.NewLine(words.Name(signer)))
		who.Objects[0].(*widgets.Line).Shorten = true
		if signer.Email != "" && signer.Email != words.Name(signer) {
			who.Add(widgets.NewCaption(signer.Email))
		}
		list.Add(widgets.Across(widget.NewIcon(state.Mark.Resource()), who, right))
	}
	if len(row.Signers) == 0 {
		list.Add(widgets.NewCaption(lang.L("The signing service has not told yet who signs.")))
	}
	return section(title, list)
}

func (s *Screen) documentsOf(row agent.PackageRow) fyne.CanvasObject {
	list := widgets.Stack(8)
	for _, d := range row.Documents {
		name := widgets.NewLine(words.DocumentName(d))
		name.Shorten = true
		state := lang.L("{{.Done}} of {{.Total}} signed", words.V{"Done": len(d.SignedBy), "Total": len(row.Signers)})
		if d.Executed {
			state = lang.L("signed by everyone")
		}
		note := widgets.NewCaption(state)
		note.Shorten = false
		list.Add(widgets.Across(widget.NewIcon(theme.DocumentIcon()), name, note))
	}
	if len(row.Documents) == 0 {
		list.Add(widgets.NewCaption(lang.L("The documents are not known yet.")))
	}
	return section(lang.L("Documents"), list)
}

func (s *Screen) filesOf(row agent.PackageRow) fyne.CanvasObject {
	list := widgets.Stack(4)
	for _, path := range row.Files {
		name := widgets.NewLine(filepath.Base(path))
		name.Shorten = true
		open := widget.NewButton(lang.L("Open"), func() { s.desk.OpenFile(path) })
		show := widget.NewButton(lang.L("Show in folder"), func() { s.desk.ShowInFolder(path) })
		list.Add(widgets.Across(widget.NewIcon(look.MarkSaved.Resource()), name, container.NewHBox(open, show)))
	}
	return section(lang.L("Saved files"), list)
}

func (s *Screen) timelineOf(row agent.PackageRow) fyne.CanvasObject {
	list := widgets.Stack(6)
	for _, m := range slices.Backward(row.Timeline) {
		when := widgets.NewCaption(words.Clock(s.desk.Now(), m.Time))
		text := widgets.NewLine(words.Moment(row, m))
		text.Shorten = true
		list.Add(widgets.Across(widgets.Wide(92, when), text, nil))
	}
	return section(lang.L("What happened"), list)
}

func section(title string, content fyne.CanvasObject) fyne.CanvasObject {
	return widgets.Stack(8, widgets.NewTitle(title), widgets.Card(content))
}

// askForLinks asks once for the pages of those who are to sign, and shows them when the service gives any.
func (s *Screen) askForLinks(row agent.PackageRow) {
	if _, asked := s.links[row.ID]; asked || words.StandingOf(row) != words.Open {
		return
	}
	s.links[row.ID] = links{}
	work.Then(s.desk.Work, func(ctx context.Context) (links, error) {
		found := links{}
		for i, signer := range row.Signers {
			if signer.ID == "" {
				continue
			}
			if address, err := s.desk.Office.SignerPage(ctx, row.ID, signer.ID); err == nil && address != "" {
				found[i] = address
			}
		}
		return found, nil
	}, func(found links, _ error) {
		if len(found) == 0 {
			return
		}
		s.links[row.ID] = found
		if s.chosen == row.ID {
			s.showDetail(false)
		}
	})
}
