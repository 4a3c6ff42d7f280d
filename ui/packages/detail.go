package packages

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/keys"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type packageDetail struct {
	record   record // what has been read of the chosen package
	records  *async.Reader[record]
	recordID atomic.Pointer[string] // the package for records to read
	asking   bool                   // a signing link is being requested
	whole    string                 // the package whose signers are all listed
	unfolded string                 // the package or draft whose documents are all shown
	drawn    string                 // what was drawn last time
	pictures map[string]image.Image
	leave    []context.CancelFunc // cancel its pending fetches
	detail   *fyne.Container
	sheet    *container.Scroll           // the chosen package's page in detail
	sending  map[string]office.SendState // drafts being sent, by row id
	upload   *upload                     // of the draft shown last
}

// show shows a package on the right.
func (s *Screen) show(p record) {
	s.record = p
	s.draw(false)
	if p.known {
		s.fetch(s.picturesOf(p))
	}
}

// draw redraws the right side. The scroll offset stays, unless fresh or another package is shown.
func (s *Screen) draw(fresh bool) {
	p := s.record
	fresh, s.drawn = fresh || s.drawn != s.chosen, s.chosen
	if s.loaded && s.wanted == "" && len(s.all.rows)+len(s.drafts) == 0 {
		s.turnTo(s.first)
		return
	}
	s.turnTo(s.both)
	if several := s.several(); len(several) > 0 {
		s.place(s.severalPage(several), fresh)
		return
	}
	if r, isHead := s.headOfID(s.chosen); isHead {
		s.place(s.draftPage(r), fresh)
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
	page := widgets.Stack(24, s.headOf(p))
	if note := s.withdrawalOf(p); note != nil {
		page.Add(note)
	}
	page.Add(s.documentsOf(p))
	if seals := s.sealsOf(p); seals != nil {
		page.Add(seals)
	}
	page.Add(s.signersOf(p))
	if len(p.row.Recipients) > 0 {
		page.Add(copiesTo(p.row.Recipients))
	}
	if p.draft.Message != "" {
		page.Add(widgets.Part(lang.L("Message to the signers"), 0, widgets.NewParagraph(p.draft.Message)))
	}
	if len(p.row.History) > 0 {
		page.Add(s.timelineOf(p.row))
	}
	s.place(page, fresh)
}

// turnTo shows either the pair of list and package, or what replaces both.
func (s *Screen) turnTo(part fyne.CanvasObject) {
	if s.content.Objects[0] != part {
		widgets.Remake(s.content, part)
	}
}

// place shows a page on the right, keeping the scroll offset unless fresh.
func (s *Screen) place(page fyne.CanvasObject, fresh bool) {
	shown := len(s.detail.Objects) > 0 && s.detail.Objects[0] == s.sheet
	at := s.sheet.Offset
	if fresh || !shown {
		at = fyne.Position{}
	}
	widgets.Turn(s.sheet, widgets.PadHV(24, 20, widgets.AtMost(760, page)), at)
	if !shown {
		widgets.Remake(s.detail, s.sheet)
	}
}

func (s *Screen) headOf(p record) fyne.CanvasObject {
	shown, row, stage := s.listed(p), p.row, i18n.StageOf(p.row)
	state := widgets.NewProse(stage.Word())
	if shown.stage != stage {
		stage = shown.stage
		state.Text = sentence(i18n.Line(shown.line)) + ". " + s.all.unsaved.why
	}
	if stage == i18n.Saved {
		line := row.Line()
		line.Saved = true // the files are known to be saved before the record says so
		state.Text = sentence(i18n.Line(line))
	}
	if next := named(row.Next()); stage == i18n.Open && next != "" {
		state.Text = lang.L("Waiting for {{.Who}}", i18n.V{"Who": next})
	}
	if stage == i18n.Open && row.Withdrawal.Pending() {
		state.Text = sentence(lang.L("being withdrawn"))
	}
	switch trouble := i18n.Trouble(row); {
	case trouble != "" && stage == i18n.Ended:
		state.Text = stage.Word() + " · " + trouble
	case trouble != "":
		state.Text = trouble
	}
	mark := shown.mark()
	state.Colour = stage.Mark().Colour()
	if n, unread := p.strays(); n > 0 {
		state.Text = lang.N("{{.PluralCount}} saved files are missing or were changed. Save them again, unless you moved them yourself.", n)
		if mark = theme.MarkEnded; unread {
			mark = theme.MarkProblem
		}
		state.Colour = mark.Colour()
	}
	state.Most = 3
	var facts []string
	if len(row.Documents) > 0 {
		facts = append(facts, i18n.Documents(len(row.Documents)))
	}
	switch folder := p.folder(); {
	case len(p.missing) > 0:
	case folder != "" && row.FilesDone == row.FilesTotal:
		facts = append(facts, lang.L("saved in {{.Folder}}", i18n.V{"Folder": filepath.Base(folder)}))
	case row.FilesTotal > 0:
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
	due, colour := i18n.Due(s.env.Now(), row.Due, s.all.days, stage)
	if due != "" && colour == theme.Secondary {
		facts = append(facts, due)
	}
	icon := widgets.Mark(16, widget.NewIcon(mark.Resource()))
	head := widgets.Stack(6, widgets.NewFullHeading(i18n.Title(row.Name)), widgets.Across(icon, state, nil), widgets.NewFullCaption(strings.Join(facts, " · ")))
	if due != "" && colour != theme.Secondary {
		line := widgets.NewCaption(due)
		line.Colour = colour
		head.Add(line)
	}
	if old := p.draft.Corrects; old != "" {
		head.Add(widgets.Row(0, widgets.NewLink(lang.L("Replaces a withdrawn package"), func() { s.Show(old) })))
	}
	actions, first := s.actionsOf([]listed{shown}, &p)
	head.Add(s.actions(actions, first, 2))
	return head
}

func named(signers []office.Signer) string {
	var names []string
	for _, signer := range signers {
		names = append(names, i18n.Name(signer))
	}
	return i18n.Names(names)
}

func warning(text string) fyne.CanvasObject {
	label := widget.NewLabel(text)
	label.Wrapping = fyne.TextWrapWord
	return widgets.On(theme.Wash, widgets.PadHV(12, 0, container.NewBorder(nil, nil, container.NewCenter(widget.NewIcon(theme.MarkProblem.Resource())), nil, label)))
}

// mostSigners are listed until the person asks for all, because every layout of the page lays out each.
const mostSigners = 20

func (s *Screen) signersOf(p record) fyne.CanvasObject {
	row, title := p.row, lang.L("Signers")
	if progress := i18n.Progress(row.SignersDone, row.SignersTotal); row.SignersTotal > 1 {
		title += "  ·  " + progress
	}
	list := widgets.Stack(12)
	links, offered, alone := false, s.office.LinksOffered(), len(row.Next()) == 1
	for i, signer := range row.Signers {
		if i == mostSigners && s.whole != row.ID {
			list.Add(widgets.NewLink(lang.N("Show {{.PluralCount}} more signers", len(row.Signers)-i), func() { s.whole = row.ID; s.draw(false) }))
			break
		}
		part, text := i18n.StateOf(s.env.Now(), row, signer)
		when := widgets.NewCaption(text)
		when.Shorten, when.Colour = false, part.Colour()
		avatar := widgets.NewAvatar(i18n.Name(signer), part)
		person := widgets.Stack(0)
		list.Add(person)
		below := func(o fyne.CanvasObject) {
			person.Add(widgets.Across(widgets.Wide(avatar.MinSize().Width, layout.NewSpacer()), o, nil))
		}
		stage := widgets.Row(6, widgets.Mark(14, widget.NewIcon(part.Resource())), when)
		widgets.Show(stage, part != theme.MarkNext || len(row.Signers) > 1) // the head says whose turn it is
		mayLink := signer.ID != "" && row.StillSigns(signer) && part == theme.MarkNext
		if links = links || mayLink; mayLink && offered && !alone {
			name := i18n.Name(signer)
			stage = widgets.Row(6, stage, widgets.NewMore(lang.L("More for {{.File}}", i18n.V{"File": name}), func() *fyne.Menu { return menu(s.waysOf(row, signer)) }))
		}
		person.Add(widgets.Across(avatar, widgets.Aside(150, whoIs(signer, p.role(signer)), stage), nil))
		if signer.DeclineReason != "" {
			below(widgets.NewProse(lang.L("Reason: {{.Reason}}", i18n.V{"Reason": signer.DeclineReason})))
		}
		if mayLink && offered && alone {
			ways := widgets.Flow(12)
			for _, d := range s.waysOf(row, signer) {
				ways.Add(widgets.NewLink(d.Name, d.Do))
			}
			below(ways)
		}
	}
	if links && !offered {
		list.Add(widgets.NewProse(i18n.Message(message.NoLinks())))
	}
	if len(row.Signers) == 0 {
		list.Add(widgets.NewCaption(lang.L("The signing service has not listed the signers yet.")))
	}
	return widgets.Part(title, 0, widgets.AtMost(rowWidth, list))
}

// rowWidth is how wide a person's row is at most: the state is read beside the name.
const rowWidth = 560

// whoIs shows a signer's name, the role in the template if there is one, and the address unless it serves as the name.
func whoIs(signer office.Signer, role string) *fyne.Container {
	who, facts := widgets.Stack(1, widgets.NewFullName(i18n.Name(signer))), []string{role}
	if signer.Email != i18n.Name(signer) {
		facts = append(facts, signer.Email)
	}
	if text := strings.Trim(strings.Join(facts, " · "), " ·"); text != "" {
		who.Add(widgets.NewFullCaption(text))
	}
	return who
}

func (s *Screen) timelineOf(row office.PackageRow) fyne.CanvasObject {
	list, history := widgets.Stack(6), row.Timeline()
	saved := 1
	for i, m := range slices.Backward(history) {
		text := i18n.Brief(row.Tell(m))
		if m.What == office.EntrySaved || m.What == office.EntryAgain {
			if i > 0 && history[i-1].What == m.What && m.Time.Sub(history[i-1].Time.Time) < time.Minute { // they share a line
				saved++
				continue
			}
			switch {
			case saved > 1 && m.What == office.EntryAgain:
				text = lang.N("{{.PluralCount}} files saved again", saved)
			case saved > 1:
				text = lang.N("{{.PluralCount}} files saved", saved)
			}
			saved = 1
		}
		when := widgets.NewCaption(i18n.When(s.env.Now(), m.Time)).Whole()
		what := widgets.NewProse(text)
		what.Colour = theme.Text
		list.Add(widgets.Across(widgets.Column(92, when), what, nil))
	}
	return widgets.Part(lang.L("History"), 0, list)
}

func draftRow(d office.Draft) listed {
	people, files := namesOf(d)
	r := listed{line: office.PackageLine{ID: outbox.RowID(d.ID), Name: d.Name, Words: office.ReferenceIn(d.ExternalData), Created: d.Created}, sorted: sorted{stage: i18n.Open},
		text: office.Fold(d.Name + "\n" + people + "\n" + files + "\n" + office.ReferenceIn(d.ExternalData)), draft: &d}
	if !outbox.Waits(d) {
		r.stage = i18n.Wrong
	}
	return r
}

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

func ownDocuments(d office.Draft) []office.TemplateDocument {
	if d.Template == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.Template.Documents), func(own office.TemplateDocument) bool { return own.File != "" })
}

// inPlace says which of the template's documents a file replaces; empty for none.
func inPlace(d office.Draft, f office.DraftFile) string {
	if d.Template == nil || f.Original < 1 || f.Original > len(d.Template.Documents) {
		return ""
	}
	return lang.L("In place of “{{.Document}}”", i18n.V{"Document": d.Template.Documents[f.Original-1].DisplayName()})
}

// headsOf returns the rows above the packages that match the search, the filter and the tab, and adds all that match the first two
// to their tabs' counts.
func (l *packageList) headsOf(text string, wish func(listed) bool, tab int, counts *counts) (rows []listed) {
	wanted := strings.Fields(office.Fold(text))
	for _, r := range l.drafts {
		if !office.HasWords(r.text, wanted) || !wish(r) {
			continue
		}
		own := tabOf(r.stage)
		counts[own]++
		counts[tabAll]++
		if own == tab || tab == tabAll {
			rows = append(rows, r)
		}
	}
	return rows
}

// headOfID finds a draft, whether or not the tab shows it.
func (l *packageList) headOfID(id string) (r listed, known bool) {
	for _, r := range l.drafts {
		if r.line.ID == id {
			return r, true
		}
	}
	return r, false
}

func (s *Screen) draftPage(r listed) fyne.CanvasObject {
	d := *r.draft
	s.fetchDraft(d, s.unfoldedOf(r.line.ID, len(d.Files)))
	mark, text := outbox.State(d)
	if d.State == office.DraftQueued && d.Problem.IsZero() {
		text = cmp.Or(s.halted, text)
	}
	s.upload = newUpload(sentence(cmp.Or(text, lang.L("Not sent yet"))), mark)
	if state := s.sending[r.line.ID]; d.State == office.DraftQueued && d.Problem.IsZero() {
		s.upload.show(state)
	} else { // the last state is outdated
		s.upload.show(office.SendState{})
	}
	head := widgets.Stack(6, widgets.NewFullHeading(i18n.Title(d.Name)),
		widgets.Across(s.upload.arc, s.upload.text, nil))
	facts := []string{i18n.Since(s.env.Now(), d.Created)}
	if folder := s.folders[d.Folder]; folder != "" {
		facts = append(facts, lang.L("from the folder “{{.Folder}}”", i18n.V{"Folder": filepath.Base(folder)}))
	}
	if !d.Due.IsZero() {
		facts = append(facts, i18n.DueDate(s.env.Now(), d.Due))
	}
	head.Add(widgets.NewProse(strings.Join(facts, " · ")))
	if actions, first := s.actionsOf([]listed{r}, nil); len(actions) > 0 {
		head.Add(s.actions(actions, first && d.State == office.DraftHeld, len(actions)))
	} else { // they are back once it is undone
		head.Add(widgets.PadHV(0, 4, widgets.AtLeast(fyne.NewSize(0, widgets.NewButton("", nil).MinSize().Height), layout.NewSpacer())))
	}
	people := widgets.Stack(12)
	for _, signer := range d.Signers {
		people.Add(widgets.Across(widgets.NewAvatar(i18n.Name(signer), theme.MarkLater), whoIs(signer, signer.Role), nil))
	}
	var files []fyne.CanvasObject
	size, about := pageSize(d.DocumentCount()), office.PackageRow{Package: office.Package{Name: d.Name, Signers: d.Signers, Recipients: d.Recipients}}
	given := func(original int) {
		for i, f := range d.Files {
			if f.Original == original {
				files = append(files, s.tile(about, leaf{name: f.Name, note: inPlace(d, f), path: f.Path, picture: pictureOf(d, i), given: &f}, size))
			}
		}
	}
	if d.Template != nil { // as in the form
		for i, own := range d.Template.Documents {
			if given(i + 1); own.File == "" {
				files = append(files, s.tile(about, leaf{name: own.DisplayName(), note: lang.L("from the template")}, size))
			}
		}
	}
	given(0)
	page := widgets.Stack(24, head)
	if len(files) > 0 {
		page.Add(s.fold(r.line.ID, files))
	}
	if title := lang.L("Signers"); len(d.Signers) > 0 {
		if d.Sequential && len(d.Signers) > 1 {
			title += "  ·  " + lang.L("in this order")
		}
		page.Add(widgets.Part(title, 0, people))
	}
	if len(d.Recipients) > 0 {
		page.Add(copiesTo(d.Recipients))
	}
	if d.Message != "" {
		page.Add(widgets.Part(lang.L("Message to the signers"), 0, widgets.NewParagraph(d.Message)))
	}
	return page
}

// Follow shows the progress of a draft being sent from here, and to a person viewing it, the resulting package.
func (s *Screen) Follow(state office.SendState) {
	id := outbox.RowID(state.DraftID)
	if s.sending[id] = state; state.State != office.DraftQueued {
		delete(s.sending, id)
	}
	switch looked := s.chosen == id; {
	case looked && state.State == office.DraftSent:
		r, _ := s.headOfID(id)
		s.Show(state.PackageID)
		if s.record.row.Name = cmp.Or(s.record.row.Name, r.line.Name); s.record.row.Name != "" {
			s.draw(true) // at once: what was sent can no longer be cancelled
		}
	case looked && s.upload != nil:
		s.upload.show(state)
	}
}

// upload shows a draft's state, with an arc for the uploaded share of its documents.
type upload struct {
	says string // shown while nothing is being uploaded
	text *widgets.Prose
	arc  *widgets.Avatar
}

func newUpload(text string, mark theme.Mark) *upload {
	u := &upload{says: text, text: widgets.NewParagraph(text), arc: widgets.NewAvatar("", mark)}
	u.text.Colour = mark.Colour()
	return u
}

func (u *upload) show(state office.SendState) {
	text := u.says
	if u.arc.Done = 0; state.State == office.DraftQueued && state.Sent > 0 && state.Problem.IsZero() {
		text = fmt.Sprintf("%s %s / %s", lang.L("Uploading…"), i18n.Size(state.Sent), i18n.Size(state.Total))
		u.arc.Done = min(1, float32(state.Sent)/float32(max(1, state.Total)))
	}
	u.text.Set(text)
	u.arc.Refresh()
}

// draftTile shows what one must know of a draft among several before approving it: its first page, its source, its signers and state.
func (s *Screen) draftTile(r listed) fyne.CanvasObject {
	d := *r.draft
	s.fetchDraft(d, 1)
	note := widgets.Stack(1, widgets.NewFullCaption(textOf(s.env.Now(), s.all.days, r)))
	if folder := s.folders[d.Folder]; folder != "" {
		note.Add(widgets.NewProse(lang.L("from the folder “{{.Folder}}”", i18n.V{"Folder": filepath.Base(folder)})))
	}
	if !d.Due.IsZero() {
		note.Add(widgets.NewProse(i18n.DueDate(s.env.Now(), d.Due)))
	}
	return newTile(s.page(pictureOf(d, 0), pageSize(3)), i18n.Title(d.Name), note, func() { s.Show(r.line.ID) })
}

// brief shows a package in a few lines, enough to tell it from others of the same name.
func (s *Screen) brief(r listed) fyne.CanvasObject {
	now := s.env.Now()
	facts := []string{textOf(now, s.all.days, r), lang.L("sent {{.When}}", i18n.V{"When": i18n.Clock(now, r.line.Created)})}
	if due, _ := i18n.Due(now, r.line.Due, s.all.days, r.stage); due != "" {
		facts = append(facts, due)
	}
	if reference := r.line.Reference(); reference != "" {
		facts = append(facts, lang.L("reference {{.Reference}}", i18n.V{"Reference": reference}))
	}
	avatar := widgets.NewAvatar(r.who(), r.mark())
	avatar.Done = r.done()
	return widgets.Across(avatar, widgets.Stack(1, widgets.NewName(i18n.Title(r.line.Name)), widgets.NewFullCaption(strings.Join(facts, " · "))), nil)
}

// briefly lists at most most packages.
func (s *Screen) briefly(list []listed, most int) *fyne.Container {
	box := widgets.Stack(10)
	for _, r := range list[:min(len(list), most)] {
		box.Add(s.brief(r))
	}
	if more := len(list) - most; more > 0 {
		box.Add(widgets.NewCaption(lang.N("and {{.PluralCount}} more", more)))
	}
	return box
}

// overview fills the right side while nothing is chosen: what is due soon, and what was saved last.
func (s *Screen) overview() fyne.CanvasObject {
	page, due := widgets.Stack(32), widgets.Stack(2)
	for _, place := range s.all.best(func(r row) bool { return r.in(tabDue) }, func(p int32) int64 { return -s.all.line(p).Due.Unix() }) {
		r := s.all.listed(place)
		due.Add(widgets.NewTappable(widgets.Pad(tileRoom, s.brief(r)), func() { s.Show(r.line.ID) }))
	}
	if len(due.Objects) > 0 {
		page.Add(widgets.Stack(12, widgets.NewHeading(lang.L("Due soon")), due))
	}
	var saved []fyne.CanvasObject
	var pages []picture
	last := s.all.best(func(r row) bool { return r.stage == i18n.Saved && !r.archived }, func(p int32) int64 { return s.all.rows[p].packed.Executed().Unix() })
	for _, place := range last {
		l := s.all.line(place)
		key := "package " + l.ID
		pages = append(pages, picture{key, func(ctx context.Context) (image.Image, error) { return s.firstPage(ctx, l.ID) }})
		note := widgets.NewFullCaption(i18n.Clock(s.env.Now(), l.Executed) + " · " + i18n.Names(i18n.PeopleOf(l)))
		saved = append(saved, newTile(s.page(key, pageSize(len(last))), i18n.Title(l.Name), note, func() { s.Show(l.ID) }))
	}
	if len(saved) > 0 {
		page.Add(widgets.Stack(16, widgets.NewHeading(lang.L("Recently saved")), tiles(saved...)))
	}
	s.fetch(pages)
	return page
}

// firstPage draws the first page of a package's first saved file. It runs off the UI goroutine.
func (s *Screen) firstPage(ctx context.Context, id string) (image.Image, error) {
	p := s.recordOf(id)
	if saved := p.saved(); len(saved) > 0 {
		return s.office.Preview(ctx, saved[0].Path, pictureWidth)
	}
	return nil, p.failure
}

// welcome replaces the whole screen while there are no packages: where to drop documents, and what happens to them.
func (s *Screen) welcome() fyne.CanvasObject {
	title, or := widgets.NewFullHeading(lang.L("Drop a document to send it for signature")), widgets.NewProse(lang.L("or choose one from a folder"))
	title.Centred, or.Centred = true, true
	add := widgets.NewButtonWithIcon(lang.L("New package"), fynetheme.ContentAddIcon(), s.env.Go.ShowCompose).Primary()
	steps := container.NewGridWithColumns(3)
	for _, step := range [][2]string{
		{lang.L("1. Send"), lang.L("Signers get an e-mail from the signing service.")},
		{lang.L("2. Follow"), lang.L("You are notified when someone signs.")},
		{lang.L("3. Keep"), lang.L("The signed PDFs are saved in your folder.")},
	} {
		head, text := widgets.NewProse(step[0]), widgets.NewProse(step[1])
		head.Bold, head.Colour, head.Centred, text.Centred = true, theme.Text, true, true
		steps.Add(widgets.PadHV(4, 0, widgets.Stack(2, head, text)))
	}
	edge := widgets.NewBack(theme.Surface)
	edge.Outline(theme.Line)
	drop := container.NewStack(edge, widgets.Pad(32, widgets.Stack(12, container.NewCenter(widgets.Sheets()), title, or, container.NewCenter(add))))
	return widgets.NewVScroll(widgets.Middle(600, widgets.Pad(24, widgets.Stack(32, drop, steps))))
}

// record is everything known about the chosen package, read off the UI goroutine.
type record struct {
	row       office.PackageRow
	known     bool
	failure   error           // why it could not be read
	draft     office.Draft    // the draft it was sent from
	sentHere  bool            // whether draft is known
	originals map[int]string  // the draft's files that still exist, by index
	missing   map[string]bool // saved files that are gone from their place
	kept      []string        // changed files that others replace, in the same folder
}

// role returns a signer's role in the template from which the package was made, which the service does not tell.
func (p record) role(signer office.Signer) string {
	for _, own := range p.draft.Signers {
		if strings.EqualFold(own.Email, signer.Email) {
			return own.Role
		}
	}
	return ""
}

// nameAfter is how long the previous package stays on screen before the name alone of a package still being read replaces it.
const nameAfter = 100 * time.Millisecond

// readRecord reads the chosen package. Only one read runs at a time, so that holding an arrow key does not pile them up.
func (s *Screen) readRecord() {
	id := s.chosen
	if id != s.record.row.ID {
		for _, stop := range s.leave {
			stop()
		}
		s.leave, s.record = nil, s.known(id)
		s.env.Later(nameAfter, func() { // usually it has been read by then
			if !s.record.known {
				s.redraw(id)
			}
		})
	}
	if _, isHead := s.headOfID(id); isHead || id == "" { // there is nothing to read
		s.draw(false)
		return
	}
	s.recordID.Store(&id)
	s.records.Ask()
}

// known returns what the list knows of a package, its name, until the rest is read.
func (l *packageList) known(id string) (p record) {
	p.row.ID = id
	if place, listed := l.all.places[id]; listed {
		p.row.Name = l.all.line(place).Name
	}
	return p
}

// recordOf reads a package. It runs off the UI goroutine.
func (s *Screen) recordOf(id string) (p record) {
	if p.row, p.known, p.failure = s.office.Package(id); p.known {
		p.draft, p.sentHere, p.failure = s.office.DraftOf(id)
	}
	if p.failure != nil || !p.known {
		return record{row: office.PackageRow{Package: office.Package{ID: id}}, failure: p.failure}
	}
	p.originals = map[int]string{}
	for i, f := range p.draft.Files {
		if s.env.System.Exists(f.Path) {
			p.originals[i] = f.Path
		}
	}
	p.missing = map[string]bool{}
	for _, f := range p.row.Files {
		if f.State == office.JobDone && !s.env.System.Exists(f.Path) {
			p.missing[f.Path] = true
		}
	}
	for _, m := range p.row.History {
		at, name := filepath.Join(p.folder(), path.Base(m.Ref)), path.Base(m.Ref)
		present := slices.ContainsFunc(p.row.Files, func(f office.File) bool { return f.Path == at })
		if (m.What == office.EntrySaved || m.What == office.EntryAgain) && p.folder() != "" && !present && !slices.Contains(p.kept, name) && s.env.System.Exists(at) {
			p.kept = append(p.kept, name)
		}
	}
	return p
}

// astray reports whether a saved file is missing or was changed.
func (p record) astray(f office.File) bool {
	return f.State == office.JobDone && (p.missing[f.Path] || !f.Problem.IsZero())
}

// strays returns how many files are astray, and whether somebody does not know it of one of them.
func (p record) strays() (n int, unread bool) {
	for _, f := range p.row.Files {
		if p.astray(f) {
			n, unread = n+1, unread || !f.Read
		}
	}
	return n, unread
}

// saved returns the files in the folder, signed documents first.
func (p record) saved() (files []office.File) {
	for _, f := range p.row.Files {
		if f.State == office.JobDone && !p.missing[f.Path] {
			files = append(files, f)
		}
	}
	return files
}

// folder returns the folder that holds all saved files; empty if there is no single one.
func (p record) folder() (folder string) {
	for i, f := range p.saved() {
		in := filepath.Dir(f.Path)
		if i > 0 && in != folder {
			return ""
		}
		folder = in
	}
	return folder
}

// signed returns the file that "Open signed document" opens; empty if none is saved that may be relied on, or several, which their
// folder shows.
func (p record) signed() (path string) {
	if saved := p.saved(); len(saved) > 0 && saved[0].Kind == office.FileSigned && !saved[0].Wrong() && !p.several() {
		return saved[0].Path
	}
	return ""
}

// altered returns the first saved file that is not what was sent, which the head tells of; none if i is negative.
func (p record) altered() (f office.File, i int) {
	i = slices.IndexFunc(p.row.Files, func(f office.File) bool { return f.Match.State == office.MatchChanged && !p.astray(f) })
	if i >= 0 {
		f = p.row.Files[i]
	}
	return f, i
}

// several reports whether more than one signed document is saved.
func (p record) several() bool {
	saved := p.saved()
	return len(saved) > 1 && saved[1].Kind == office.FileSigned
}

// picture is a first page worth showing, with its cache key.
type picture struct {
	key  string
	draw func(ctx context.Context) (image.Image, error)
}

func (s *Screen) picturesOf(p record) (pages []picture) {
	files := p.files()
	for _, l := range files[:s.unfoldedOf(p.row.ID, len(files))] {
		if l.given != nil {
			pages = append(pages, s.givenPage(l.picture, *l.given))
		} else if strings.EqualFold(filepath.Ext(l.path), ".pdf") {
			pages = append(pages, picture{l.path, func(ctx context.Context) (image.Image, error) { return s.office.Preview(ctx, l.path, pictureWidth) }})
		}
	}
	return pages
}

// pictureOf returns the key of a draft's file: its picture shows the copy that is or was sent.
func pictureOf(d office.Draft, file int) string {
	return fmt.Sprintf("%s/%d", outbox.RowID(d.ID), file)
}

func (s *Screen) givenPage(key string, f office.DraftFile) picture {
	return picture{key, func(ctx context.Context) (image.Image, error) { return s.office.DraftPage(ctx, f, pictureWidth) }}
}

const (
	maxPictures  = 12  // drawn before any is shown
	keepPictures = 64  // in memory, and at most per package
	pictureWidth = 336 // pixels: enough for double density
)

// fetch draws the pictures, each once, some at a time. It stops when another package is chosen, and the next call draws those still
// missing.
func (s *Screen) fetch(wanted []picture) {
	wanted = wanted[:min(len(wanted), keepPictures)]
	pages := slices.DeleteFunc(slices.Clone(wanted), func(p picture) bool { _, asked := s.pictures[p.key]; return asked })
	if len(pages) == 0 {
		return
	}
	if len(s.pictures) > keepPictures {
		clear(s.pictures)
	}
	pages = pages[:min(len(pages), maxPictures)]
	for _, p := range pages {
		s.pictures[p.key] = nil // requested
	}
	id := s.chosen
	type pictures map[string]image.Image
	s.leave = append(s.leave, async.Then(s.env.Work, func(ctx context.Context) (pictures, error) {
		found := pictures{}
		for _, p := range pages {
			picture, err := p.draw(ctx)
			if ctx.Err() != nil {
				return found, nil
			}
			if err != nil {
				picture = image.Rectangle{} // none
			}
			found[p.key] = picture
		}
		return found, nil
	}, func(found pictures, _ error) {
		fresh := false
		for _, p := range pages {
			picture, tried := found[p.key]
			if !tried {
				delete(s.pictures, p.key)
				continue
			}
			s.pictures[p.key] = picture
			fresh = fresh || picture != nil
		}
		if fresh {
			s.redraw(id)
		}
		if s.chosen == id { // the next ones, or the same if it was chosen again meanwhile
			s.fetch(wanted)
		}
	}))
}

func (s *Screen) fetchDraft(d office.Draft, most int) {
	var pages []picture
	for i, f := range d.Files[:min(len(d.Files), most)] {
		pages = append(pages, s.givenPage(pictureOf(d, i), f))
	}
	s.fetch(pages)
}

func (s *Screen) redraw(id string) {
	if s.chosen == id {
		s.draw(false)
	}
}

// pageSize is the picture size for one of n pages, in A4 proportions.
func pageSize(n int) fyne.Size {
	if n <= 2 {
		return fyne.NewSize(168, 238)
	}
	return fyne.NewSize(132, 187)
}

// leaf is one of a package's documents or files: its name, its state and the file to open.
type leaf struct {
	name, note string
	mark       theme.Mark
	path       string            // the file to open; empty if there is none on this computer
	picture    string            // the key of its picture, if not path
	given      *office.DraftFile // what is or was sent, if path is only its original
}

// page shows the picture of a first page, a drawn page of the same size until it is there, or that there is none.
func (s *Screen) page(key string, size fyne.Size) fyne.CanvasObject {
	switch picture := s.pictures[key]; {
	case key == "", picture != nil && picture.Bounds().Empty():
		return widgets.NoPage(size, lang.L("No preview"))
	case picture == nil:
		return widgets.DrawnPage(size)
	default:
		return widgets.Sheet(picture, size, theme.Line)
	}
}

// tileRoom is the padding of a tile.
const tileRoom = 6

// tiles puts tiles side by side, their pages aligned with the text above.
func tiles(list ...fyne.CanvasObject) fyne.CanvasObject {
	return container.New(layout.NewCustomPaddedLayout(-tileRoom, -tileRoom, -tileRoom, -tileRoom), widgets.Flow(8, list...))
}

// Of more than mostPages documents, firstPages are shown until the person asks for all: the signers are to be in sight.
const mostPages, firstPages = 6, 3

// unfoldedOf is how many of n documents of a package or draft are shown.
func (s *Screen) unfoldedOf(id string, n int) int {
	if s.unfolded == id || n <= mostPages {
		return n
	}
	return firstPages
}

// fold shows the tiles of a package or draft, of many only the first.
func (s *Screen) fold(id string, list []fyne.CanvasObject) fyne.CanvasObject {
	n := s.unfoldedOf(id, len(list))
	if n == len(list) {
		return tiles(list...)
	}
	return widgets.Stack(8, tiles(list[:n]...), widgets.Row(0, widgets.NewLink(lang.N("Show {{.PluralCount}} more documents", len(list)-n), func() {
		s.unfolded = id
		s.show(s.record)
	})))
}

// tile is a page with its name and state below. A press opens it; a secondary click or the menu key opens its menu.
type tile struct {
	widgets.Tappable
	menu func(open func(*fyne.Menu)) // nil for none
}

func newTile(page fyne.CanvasObject, name string, note fyne.CanvasObject, open func()) *tile {
	t, title := &tile{}, widgets.NewParagraph(name)
	title.Most = 3
	t.Content = widgets.Pad(tileRoom, widgets.Column(page.MinSize().Width, widgets.Stack(8, page, widgets.Stack(2, title, note))))
	t.OnPress = open
	t.ExtendBaseWidget(t)
	return t
}

func (t *tile) TappedSecondary(e *fyne.PointEvent) { t.openMenu(e.AbsolutePosition) }

func (t *tile) TypedKey(e *fyne.KeyEvent) {
	if keys.Menu.Is(e) {
		t.openMenu(fyne.CurrentApp().Driver().AbsolutePositionForObject(t))
		return
	}
	t.Tappable.TypedKey(e)
}

func (t *tile) openMenu(at fyne.Position) {
	if t.menu != nil {
		canvas := fyne.CurrentApp().Driver().CanvasForObject(t)
		t.menu(func(m *fyne.Menu) { widgets.OpenMenuAt(canvas, m, at) })
	}
}

// tile makes the tile of a leaf of a package, with space reserved for the picture.
func (s *Screen) tile(row office.PackageRow, l leaf, size fyne.Size) fyne.CanvasObject {
	note := widgets.NewProse(l.note)
	if l.mark == theme.MarkProblem {
		note.Colour = theme.Attention
	}
	var mark fyne.CanvasObject
	if l.mark != "" {
		mark = widgets.Mark(14, widget.NewIcon(l.mark.Resource()))
	}
	below := widgets.Across(mark, note, nil)
	widgets.Show(below, l.note != "")
	t := newTile(s.page(cmp.Or(l.picture, l.path), size), l.name, below, nil)
	if l.path == "" {
		return t.Content
	}
	with := func(use func(path string)) { use(l.path) }
	if l.given != nil { // another document may have taken its place
		with = func(use func(path string)) {
			env.Get(s.env, func(context.Context) (string, error) { return s.office.Original(*l.given) }, use)
		}
	}
	t.OnPress = func() { with(s.env.OpenFile) }
	t.menu = func(open func(*fyne.Menu)) {
		wanted := s.last()
		with(func(path string) {
			if wanted() {
				open(s.menuOfFile(row, path))
			}
		})
	}
	t.Says = func() string { return widgets.Said(lang.L("Open {{.File}}", i18n.V{"File": l.name}), l.note) }
	return t
}

// files returns everything that belongs to a package: its files, signed documents first, then the documents without a signed file
// yet.
func (p record) files() (list []leaf) {
	filed := map[string]bool{} // documents whose signed file is saved or planned
	for _, f := range p.row.Files {
		if f.Kind == office.FileSigned {
			filed[f.DocumentID] = true
		}
		list = append(list, p.file(f))
	}
	var open []leaf
	for i, d := range p.row.Documents {
		if d.ID == "" || !filed[d.ID] {
			open = append(open, p.document(i, d))
		}
	}
	return append(open, list...)
}

// file describes a file that is, or will be, in the folder.
func (p record) file(f office.File) leaf {
	folder := i18n.V{"Folder": filepath.Base(filepath.Dir(f.Path))}
	l := leaf{name: filepath.Base(f.Path), mark: theme.MarkSaved, path: f.Path}
	if f.Seal.State == office.SealIntact {
		l.mark = sealMark(f.Seal)
	}
	kind := map[office.FileKind]string{office.FileSigned: lang.L("Signed document"), office.FileCertificate: lang.L("Certificate"),
		office.FileMaster: lang.L("Combined PDF")}[f.Kind]
	if f.Wrong() {
		l.mark, kind = theme.MarkProblem, sentence(lang.L("not what was sealed or sent"))
	}
	where := ""
	if kind == "" || p.folder() == "" { // otherwise the page's head names the folder
		where = lang.L("saved in {{.Folder}}", folder)
	}
	wrong := theme.MarkProblem
	if f.Read {
		wrong = theme.MarkEnded
	}
	switch {
	case p.missing[f.Path]:
		l.mark, l.path, where = wrong, "", lang.L("no longer in {{.Folder}}", folder)
	case f.State == office.JobFailed:
		l.mark, l.path, where = theme.MarkProblem, "", lang.L("could not be saved")
	case f.State != office.JobDone:
		l.mark, l.picture, l.path, where = theme.MarkNext, f.Path, "", lang.L("waiting to be saved")
	case !f.Problem.IsZero():
		l.mark, where = wrong, lang.L("changed since it was saved")
	}
	l.note = strings.Trim(kind+" · "+where, " ·")
	return l
}

// document describes a document without a signed file yet; its original can be opened.
func (p record) document(i int, d office.Document) leaf {
	l := leaf{name: i18n.DocumentName(d), mark: theme.MarkNext}
	if len(d.SignedBy) > 0 {
		l.note = i18n.Progress(len(d.SignedBy), cmp.Or(len(d.Signers), len(p.row.Signers)))
	}
	switch p.row.Status() {
	case office.StatusWithdrawn, office.StatusExpired, office.StatusDeclined: // nobody has to sign any more
		l.mark = theme.MarkEnded
	}
	if d.Executed {
		l.mark, l.note = theme.MarkSigned, lang.L("completed")
	}
	at := slices.IndexFunc(p.draft.Files, func(f office.DraftFile) bool { return f.ExternalID != "" && f.ExternalID == d.ExternalID })
	if at < 0 && len(p.draft.Files) == len(p.row.Documents) { // both lists are in the order of adding
		at = i
	}
	if at >= 0 {
		l.path, l.picture, l.given = p.originals[at], pictureOf(p.draft, at), &p.draft.Files[at]
		if place := inPlace(p.draft, *l.given); place != "" {
			if l.note == "" { // the mark belongs to a state
				l.mark = ""
			}
			l.name, l.note = l.given.Name, strings.Trim(place+" · "+l.note, " ·")
		}
	}
	return l
}

func (s *Screen) documentsOf(p record) fyne.CanvasObject {
	var list []fyne.CanvasObject
	files := p.files()
	for _, l := range files {
		list = append(list, s.tile(p.row, l, pageSize(len(files))))
	}
	if len(list) == 0 {
		return widgets.NewProse(lang.L("The signing service has not listed the documents yet."))
	}
	if len(p.kept) > 0 {
		return widgets.Stack(8, s.fold(p.row.ID, list), widgets.NewProse(lang.L("The files above are the originals. Changed files in the same folder: {{.Files}}", i18n.V{"Files": strings.Join(p.kept, ", ")})))
	}
	return s.fold(p.row.ID, list)
}
