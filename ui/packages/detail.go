package packages

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

type packageDetail struct {
	record   record // the chosen package, as far as it is read
	records  *async.Reader[record]
	recordID atomic.Pointer[string] // the one that records is to read
	asking   bool                   // a link to sign is being asked for
	noLinks  bool                   // the service gives none out
	whole    string                 // the package of which all signers are listed
	pictures map[string]image.Image
	leave    []context.CancelFunc // end what is fetched for it
	detail   *fyne.Container
	sheet    *container.Scroll           // what detail shows of the chosen package
	sending  map[string]office.SendState // what is on its way from here, by its row
	upload   *upload                     // of the draft that was shown last
}

// show shows a package on the right; another one than before starts at its top.
func (s *Screen) show(p record) {
	fresh := p.row.ID != s.record.row.ID
	s.record = p
	s.draw(fresh)
	if p.known {
		s.fetch(s.picturesOf(p))
	}
}

func (s *Screen) draw(fresh bool) {
	p := s.record
	if s.loaded && s.chosen == "" && len(s.all.rows)+len(s.drafts) == 0 {
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
	if len(p.missing) > 0 {
		page.Add(warning(lang.N("{{.PluralCount}} saved files cannot be found in their folders. Save them again, unless you moved them yourself.", len(p.missing))))
	}
	parts := []fyne.CanvasObject{s.signersOf(p.row)}
	if len(p.row.Recipients) > 0 {
		parts = append(parts, copiesTo(p.row.Recipients))
	}
	at := len(parts)
	if p.row.FilesTotal > 0 { // what came back is what one looks for
		at = 0
	}
	for _, part := range slices.Insert(parts, at, s.documentsOf(p)) {
		page.Add(part)
	}
	if len(p.row.History) > 0 {
		page.Add(s.timelineOf(p.row))
	}
	s.place(page, fresh)
}

// turnTo shows the list and the chosen package, or what stands in place of both.
func (s *Screen) turnTo(part fyne.CanvasObject) {
	if s.content.Objects[0] != part {
		widgets.Remake(s.content, part)
	}
}

// place shows a page on the right, scrolled as the one before unless it is fresh.
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
	row, standing := p.row, i18n.StandingOf(p.row)
	state := widgets.NewProse(standing.Word())
	if next := namesOfNext(row); standing == i18n.Open && next != "" {
		state.Text = lang.L("Waiting for {{.Who}}", i18n.V{"Who": next})
	}
	if trouble := i18n.Trouble(row); trouble != "" {
		state.Text = trouble
	}
	state.Colour = standing.Mark().Colour()
	state.Most = 3
	var facts []string
	if len(row.Documents) > 0 {
		facts = append(facts, i18n.Documents(len(row.Documents)))
	}
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
	due, colour := i18n.Due(s.env.Now(), row.Due, s.all.days, standing)
	if due != "" && colour == theme.Secondary {
		facts = append(facts, due)
	}
	mark := widgets.Mark(16, widget.NewIcon(standing.Mark().Resource()))
	head := widgets.Stack(6, widgets.NewFullHeading(i18n.Title(row.Name)), widgets.Across(mark, state, nil), widgets.NewFullCaption(strings.Join(facts, " · ")))
	if due != "" && colour != theme.Secondary {
		line := widgets.NewCaption(due)
		line.Colour = colour
		head.Add(line)
	}
	deeds, first := s.deedsOf([]listed{p.listed()}, &p)
	shown := 2
	if first {
		shown++
	}
	head.Add(s.actions(deeds, first, shown))
	return head
}

// namesOfNext are the names of those whose turn it is.
func namesOfNext(row office.PackageRow) string {
	var names []string
	for _, signer := range row.Next() {
		names = append(names, i18n.Name(signer))
	}
	return i18n.Names(names)
}

func warning(text string) fyne.CanvasObject {
	label := widget.NewLabel(text)
	label.Wrapping = fyne.TextWrapWord
	return widgets.On(theme.Wash, widgets.PadHV(12, 0, container.NewBorder(nil, nil, container.NewCenter(widget.NewIcon(theme.MarkProblem.Resource())), nil, label)))
}

// mostSigners are listed until the person wants to see all: each is laid out anew with the page.
const mostSigners = 20

func (s *Screen) signersOf(row office.PackageRow) fyne.CanvasObject {
	title := lang.L("Signers")
	if progress := i18n.Progress(row.SignersDone, row.SignersTotal); progress != "" {
		title += "  ·  " + progress
	}
	list := widgets.Stack(12)
	links, alone := false, len(row.Next()) == 1
	for i, signer := range row.Signers {
		if i == mostSigners && s.whole != row.ID {
			list.Add(widgets.NewLink(fynetheme.MenuExpandIcon(), lang.N("Show {{.PluralCount}} more signers", len(row.Signers)-i), func() { s.whole = row.ID; s.draw(false) }))
			break
		}
		part, text := i18n.StateOf(s.env.Now(), row, signer)
		when := widgets.NewCaption(text)
		when.Shorten, when.Colour = false, part.Colour()
		avatar := widgets.Avatar(initials(signer), part)
		below := func(o fyne.CanvasObject) {
			list.Add(widgets.Across(widgets.Wide(avatar.MinSize().Width, layout.NewSpacer()), o, nil))
		}
		standing := widgets.Row(6, widgets.Mark(14, widget.NewIcon(part.Resource())), when)
		mayLink := signer.ID != "" && row.StillSigns(signer) && part == theme.MarkNext
		if links = links || mayLink; mayLink && !s.noLinks && !alone {
			name := i18n.Name(signer)
			standing = widgets.Row(6, standing, s.more(lang.L("More for {{.File}}", i18n.V{"File": name}), func() *fyne.Menu { return menu(s.waysOf(row, signer)) }))
		}
		list.Add(widgets.Across(avatar, widgets.Aside(150, whoIs(signer), standing), nil))
		if signer.DeclineReason != "" {
			below(widgets.NewProse(lang.L("Reason: {{.Reason}}", i18n.V{"Reason": signer.DeclineReason})))
		}
		if mayLink && !s.noLinks && alone {
			ways := widgets.Flow(4)
			for _, d := range s.waysOf(row, signer) {
				way := widgets.NewLink(d.Icon, d.Name, d.Do)
				way.Lines[0].Shorten = false // they wrap
				ways.Add(way)
			}
			below(ways)
		}
	}
	if links && s.noLinks {
		list.Add(widgets.NewProse(i18n.Message(message.NoLinks())))
	}
	if len(row.Signers) == 0 {
		list.Add(widgets.NewCaption(lang.L("The signing service has not listed the signers yet.")))
	}
	return widgets.Part(title, 0, list)
}

// initials are the first letters of a signer's names, or that of the address.
func initials(signer office.Signer) string {
	letters := ""
	for _, name := range []string{signer.FirstName, signer.LastName} {
		for _, r := range name {
			letters += string(unicode.ToUpper(r))
			break
		}
	}
	for _, r := range i18n.Name(signer) {
		return cmp.Or(letters, string(unicode.ToUpper(r)))
	}
	return letters
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
	for _, m := range slices.Backward(row.History) {
		when := widgets.NewCaption(i18n.When(s.env.Now(), m.Time)).Whole()
		list.Add(widgets.Across(widgets.Wide(92, when), widgets.NewParagraph(i18n.Message(row.Tell(m))), nil))
	}
	return widgets.Part(lang.L("History"), 0, list)
}

func draftRow(d office.Draft) listed {
	people, files := namesOf(d)
	r := listed{line: office.PackageLine{ID: outbox.RowID(d.ID), Name: d.Name, Words: office.ReferenceIn(d.ExternalData), Created: d.Created}, sorted: sorted{standing: i18n.Open},
		text: office.Fold(d.Name + "\n" + people + "\n" + files + "\n" + office.ReferenceIn(d.ExternalData)), draft: &d}
	if !outbox.Waits(d) {
		r.standing = i18n.Wrong
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

// headsOf are the rows above the packages that match a search, are wanted and belong to a tab. It adds all that match to the counts of
// their tabs.
func (l *packageList) headsOf(text string, wish func(listed) bool, tab int, counts *counts) (rows []listed) {
	wanted := strings.Fields(office.Fold(text))
	for _, r := range l.drafts {
		if !office.HasWords(r.text, wanted) || !wish(r) {
			continue
		}
		own := tabOf(r.standing)
		counts[own]++
		counts[tabAll]++
		if own == tab || tab == tabAll {
			rows = append(rows, r)
		}
	}
	return rows
}

// headOfID finds a draft, also one that the tab does not show.
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
	s.fetchDraft(d, maxPictures)
	mark, text := outbox.State(d)
	s.upload = newUpload(text, mark.Colour())
	if state := s.sending[r.line.ID]; d.State == office.DraftQueued && d.Problem.IsZero() {
		s.upload.show(state)
	} else { // that is what was told before this
		s.upload.show(office.SendState{})
	}
	head := widgets.Stack(6, widgets.NewFullHeading(i18n.Title(d.Name)),
		widgets.Across(widget.NewIcon(mark.Resource()), s.upload.text, nil), s.upload.content)
	facts := []string{lang.L("in the outbox") + " · " + i18n.Since(s.env.Now(), d.Created)}
	if d.Folder != "" && s.folders[d.Folder] != "" {
		facts = append(facts, lang.L("from the folder “{{.Folder}}”", i18n.V{"Folder": s.folders[d.Folder]}))
	}
	head.Add(widgets.NewProse(strings.Join(facts, " · ")))
	if deeds, first := s.deedsOf([]listed{r}, nil); len(deeds) > 0 {
		head.Add(s.actions(deeds, first && outbox.Waits(d), len(deeds)))
	}
	people := widgets.Stack(12)
	for _, signer := range d.Signers {
		people.Add(widgets.Across(widgets.Avatar(initials(signer), theme.MarkLater), whoIs(signer), nil))
	}
	files := widgets.Stack(8)
	for _, own := range ownDocuments(d) {
		files.Add(s.fileLine(fileLine{name: own.DisplayName(), note: lang.L("from the template"), mark: theme.MarkLater}, false))
	}
	for i, f := range d.Files {
		files.Add(s.fileLine(fileLine{name: f.Name, note: lang.L("not sent yet"), mark: theme.MarkLater, path: f.Path, picture: pictureOf(d, i)}, true))
	}
	page := widgets.Stack(24, head)
	if len(d.Signers) > 0 {
		page.Add(widgets.Part(lang.L("Signers"), 0, people))
	}
	if len(d.Recipients) > 0 {
		page.Add(copiesTo(d.Recipients))
	}
	if len(files.Objects) > 0 {
		page.Add(widgets.Part(lang.L("Documents"), 0, files))
	}
	return page
}

// Follow shows how far a draft is that is sent from here, and the package that it has become to whoever looks at it.
func (s *Screen) Follow(state office.SendState) {
	id := outbox.RowID(state.DraftID)
	if s.sending[id] = state; state.State != office.DraftQueued {
		delete(s.sending, id)
	}
	switch looked := s.chosen == id || s.left == id; {
	case looked && state.State == office.DraftSent:
		s.Show(state.PackageID)
	case looked && s.upload != nil:
		s.upload.show(state)
	}
}

// upload is where a draft stands, with a thin bar that fills from the left while its documents are on their way.
type upload struct {
	says    string // while nothing is
	text    *widgets.Prose
	content *fyne.Container
	part    float32
}

func newUpload(text string, colour fyne.ThemeColorName) *upload {
	u := &upload{says: text, text: widgets.NewParagraph(text)}
	u.text.Colour = colour
	u.content = container.New(u, widgets.NewBack(fynetheme.ColorNameButton), widgets.NewBack(theme.Ink))
	return u
}

func (u *upload) show(state office.SendState) {
	under := state.State == office.DraftQueued && state.Sent > 0 && state.Problem.IsZero()
	if u.content.Hidden = !under; !under {
		u.text.Set(u.says)
	} else {
		u.text.Set(fmt.Sprintf("%s %s / %s", lang.L("Uploading…"), i18n.Size(state.Sent), i18n.Size(state.Total)))
		u.part = min(1, float32(state.Sent)/float32(max(1, state.Total)))
	}
	u.content.Refresh()
}

func (u *upload) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	objects[0].Resize(size)
	objects[1].Resize(fyne.NewSize(size.Width*u.part, size.Height))
}

func (u *upload) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(0, 3) }

// draftLine is what one has to know of a draft among several before one says yes: its first page, from where it is, and who signs.
func (s *Screen) draftLine(r listed) fyne.CanvasObject {
	d := *r.draft
	s.fetchDraft(d, 1)
	text := widgets.Stack(2, widgets.NewFullName(i18n.Title(d.Name)))
	if folder := s.folders[d.Folder]; folder != "" {
		text.Add(widgets.NewProse(lang.L("from the folder “{{.Folder}}”", i18n.V{"Folder": folder})))
	}
	var names []string
	for _, signer := range d.Signers {
		names = append(names, i18n.Name(signer))
	}
	text.Add(widgets.NewFullCaption(i18n.Names(names)))
	l := fileLine{name: d.Name, picture: pictureOf(d, 0)}
	if len(d.Files) > 0 {
		l.path = d.Files[0].Path
	}
	return widgets.Across(s.page(l, true), text, nil)
}

// overview is what stands on the right while nothing is chosen: what is due soon, and what was saved last.
func (s *Screen) overview() fyne.CanvasObject {
	page := widgets.Stack(24)
	part := func(title string, places []int32, says func(office.PackageLine) (text, when string, colour fyne.ThemeColorName)) {
		list := widgets.Stack(2)
		for _, place := range places {
			l := s.all.line(place)
			text, when, colour := says(l)
			name, note := widgets.NewName(i18n.Title(l.Name)), widgets.NewCaption(when).Whole()
			note.Colour = colour
			row := widgets.NewTappable(widgets.PadHV(8, 6, widgets.Across(widget.NewIcon(s.all.rows[place].standing.Mark().Resource()),
				widgets.Stack(1, name, widgets.NewCaption(text)), note)), func() { s.Show(l.ID) })
			row.Lines = []*widgets.Line{name}
			list.Add(row)
		}
		if len(places) > 0 {
			page.Add(widgets.Part(title, 0, list))
		}
	}
	now := s.env.Now()
	part(lang.L("Due soon"), s.all.best(func(r row) bool { return r.in(tabDue) }, func(p int32) int64 { return -s.all.line(p).Due.Unix() }),
		func(l office.PackageLine) (string, string, fyne.ThemeColorName) {
			when, colour := i18n.Due(now, l.Due, s.all.days, i18n.Open)
			return i18n.Line(l), when, colour
		})
	part(lang.L("Recently saved"), s.all.best(func(r row) bool { return r.standing == i18n.Saved && !r.archived }, func(p int32) int64 { return s.all.rows[p].packed.Executed().Unix() }),
		func(l office.PackageLine) (string, string, fyne.ThemeColorName) {
			return i18n.Names(i18n.PeopleOf(l)), i18n.Clock(now, l.Executed), theme.Secondary
		})
	return page
}

// welcome is what the screen shows as a whole while there is nothing: where documents are dropped, and what becomes of them.
func (s *Screen) welcome() fyne.CanvasObject {
	title, or := widgets.NewFullHeading(lang.L("Drop a document to send it for signature")), widgets.NewProse(lang.L("or choose one from a folder"))
	title.Centred, or.Centred = true, true
	add := widgets.NewButtonWithIcon(lang.L("New package"), fynetheme.ContentAddIcon(), s.env.Go.ShowCompose).Primary()
	steps := container.NewGridWithColumns(3)
	for _, step := range [][2]string{
		{lang.L("1. Send"), lang.L("Signers get an e-mail from the signing service.")},
		{lang.L("2. Follow"), lang.L("You are told when somebody signs.")},
		{lang.L("3. Keep"), lang.L("The signed PDFs are saved in your folder.")},
	} {
		head, text := widgets.NewProse(step[0]), widgets.NewProse(step[1])
		head.Bold, head.Colour, head.Centred, text.Centred = true, theme.Text, true, true
		steps.Add(widgets.PadHV(4, 0, widgets.Stack(2, head, text)))
	}
	edge := widgets.NewBack(theme.Surface)
	edge.Outline(theme.Line)
	drop := container.NewStack(edge, widgets.Pad(32, widgets.Stack(12, container.NewCenter(sheets()), title, or, container.NewCenter(add))))
	return widgets.NewVScroll(widgets.Middle(600, widgets.Pad(24, widgets.Stack(32, drop, steps))))
}

// sheets are three drawn pages, one before the others, with the seal.
func sheets() fyne.CanvasObject {
	picture := container.NewWithoutLayout()
	draw := func(o fyne.CanvasObject, x, y, width, height float32) {
		o.Move(fyne.NewPos(x, y))
		o.Resize(fyne.NewSize(width, height))
		picture.Add(o)
	}
	for _, at := range []fyne.Position{{X: 0, Y: 14}, {X: 128, Y: 14}, {X: 64, Y: 0}} {
		page := widgets.NewBack(theme.Paper)
		page.Outline(theme.Line)
		draw(page, at.X, at.Y, 92, 124)
		for i, width := range []float32{44, 68, 68, 50, 0, 32} {
			colour := theme.Line
			switch i {
			case 0:
				colour = theme.Secondary
			case 5:
				colour = theme.Attention
			}
			draw(widgets.NewBack(colour), at.X+12, at.Y+14+float32(i)*13, width, 3)
		}
	}
	draw(widget.NewIcon(fynetheme.NewColoredResource(theme.MarkSigned.Resource(), theme.Attention)), 134, 96, 36, 36)
	return container.NewGridWrap(fyne.NewSize(220, 138), picture)
}

// record is all that is known about the chosen package, read beside the window's goroutine.
type record struct {
	row       office.PackageRow
	known     bool
	failure   error           // why it could not be read
	draft     office.Draft    // what it was sent from
	sentHere  bool            // draft is known
	originals map[int]string  // by its place in the draft, each file that is still there
	missing   map[string]bool // saved files that are no longer where they were saved
}

// readRecord reads the chosen package, one reading at a time, so that holding an arrow key does not pile them up.
func (s *Screen) readRecord() {
	id := s.chosen
	if id != s.record.row.ID {
		for _, stop := range s.leave {
			stop()
		}
		s.leave = nil
		s.show(s.known(id)) // never what belongs to another one
	}
	if id == "" {
		s.show(record{})
		return
	}
	if _, isHead := s.headOfID(id); isHead { // all of it is known
		s.draw(s.record.row.ID != id)
		return
	}
	s.recordID.Store(&id)
	s.records.Ask()
}

// known is as much of a package as the list knows: its name, until the rest is read.
func (l *packageList) known(id string) (p record) {
	p.row.ID = id
	if place, listed := l.all.places[id]; listed {
		p.row.Name = l.all.line(place).Name
	}
	return p
}

// recordOf reads a package. It runs beside the window's goroutine.
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
	return p
}

// saved are the files that are in the folder, the signed documents first.
func (p record) saved() (files []office.File) {
	for _, f := range p.row.Files {
		if f.State == office.JobDone && !p.missing[f.Path] {
			files = append(files, f)
		}
	}
	return files
}

// signed is the signed document that "Open signed document" opens, empty when none is saved.
func (p record) signed() (path string) {
	if saved := p.saved(); len(saved) > 0 && saved[0].Kind == office.FileSigned {
		return saved[0].Path
	}
	return ""
}

// picture is a first page that is worth showing, by the key under which it is kept.
type picture struct {
	key  string
	draw func(ctx context.Context) (image.Image, error)
}

// pictures are those of the files of a package.
func (s *Screen) picturesOf(p record) (pages []picture) {
	for _, l := range p.files() {
		if strings.EqualFold(filepath.Ext(l.path), ".pdf") {
			pages = append(pages, picture{l.path, func(ctx context.Context) (image.Image, error) { return s.office.Preview(ctx, l.path, pictureWidth) }})
		}
	}
	return pages[:min(len(pages), maxPictures)]
}

// pictureOf is the key of a file of a draft: what is shown of it is the copy that is sent.
func pictureOf(d office.Draft, file int) string {
	return fmt.Sprintf("%s/%d", outbox.RowID(d.ID), file)
}

const (
	maxPictures  = 12  // of one package
	keepPictures = 64  // in memory
	pictureWidth = 336 // pixels: enough for twice the density
)

// fetch asks, once for each, for the pictures, which takes a moment. It stops when another package is chosen, and what had
// not come by then is asked for again next time.
func (s *Screen) fetch(pages []picture) {
	pages = slices.DeleteFunc(pages, func(p picture) bool { _, asked := s.pictures[p.key]; return asked })
	if len(pages) == 0 {
		return
	}
	if len(s.pictures) > keepPictures {
		clear(s.pictures)
	}
	for _, p := range pages {
		s.pictures[p.key] = nil // asked
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
				picture = nil // no picture: the name says enough
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
	}))
}

func (s *Screen) fetchDraft(d office.Draft, most int) {
	var pages []picture
	for i := range d.Files[:min(len(d.Files), most)] {
		pages = append(pages, picture{pictureOf(d, i), func(ctx context.Context) (image.Image, error) { return s.office.DraftPage(ctx, d, i, pictureWidth) }})
	}
	s.fetch(pages)
}

func (s *Screen) redraw(id string) {
	if s.chosen == id {
		s.draw(false)
	}
}

// pageSize is the room of the picture of a page, in the proportions of A4.
var pageSize = fyne.NewSize(84, 119)

// page is the first page of what a line can open: a click opens it. Until the picture comes, and where there is none, an
// icon stands in its room.
func (s *Screen) page(l fileLine, pictured bool) fyne.CanvasObject {
	icon := widget.NewIcon(fynetheme.NewColoredResource(fynetheme.DocumentIcon(), theme.Secondary))
	page := fyne.CanvasObject(container.NewGridWrap(pageSize, container.NewStack(widgets.NewBack(theme.Line), widgets.Pad(1, widgets.On(theme.Surface, container.NewCenter(icon))))))
	if picture := s.pictures[cmp.Or(l.picture, l.path)]; pictured && picture != nil && !picture.Bounds().Empty() {
		page = widgets.Sheet(picture, pageSize, theme.Line)
	}
	if l.path == "" {
		return page
	}
	open := widgets.NewTappable(page, func() { s.env.OpenFile(l.path) })
	open.Says = func() string { return lang.L("Open {{.File}}", i18n.V{"File": l.name}) }
	return open
}

// fileLine is one line of a package's documents and files: what it is called, where it stands, and the file to open.
type fileLine struct {
	name, note string
	mark       theme.Mark
	path       string // of what can be opened, empty when there is nothing on this computer
	picture    string // the key of its picture, where that is not the path
}

// files are everything that belongs to a package: its files, the signed documents first, and the documents of which
// there is no signed file yet.
func (p record) files() (list []fileLine) {
	filed := map[string]bool{} // documents of which the signed file is saved or planned
	for _, f := range p.row.Files {
		if f.Kind == office.FileSigned {
			filed[f.DocumentID] = true
		}
		list = append(list, p.file(f))
	}
	var open []fileLine
	for i, d := range p.row.Documents {
		if d.ID == "" || !filed[d.ID] {
			open = append(open, p.document(i, d))
		}
	}
	return append(open, list...)
}

// file is the line of a file in the folder, or on its way there.
func (p record) file(f office.File) fileLine {
	folder := i18n.V{"Folder": filepath.Base(filepath.Dir(f.Path))}
	l := fileLine{name: filepath.Base(f.Path), mark: theme.MarkSaved, path: f.Path}
	kind := map[office.FileKind]string{office.FileSigned: lang.L("Signed document"), office.FileCertificate: lang.L("Certificate"),
		office.FileMaster: lang.L("Master file")}[f.Kind]
	where := lang.L("saved in {{.Folder}}", folder)
	switch {
	case p.missing[f.Path]:
		l.mark, l.path, where = theme.MarkProblem, "", lang.L("no longer in {{.Folder}}", folder)
	case f.State == office.JobFailed:
		l.mark, l.path, where = theme.MarkProblem, "", lang.L("could not be saved")
	case f.State != office.JobDone:
		l.mark, l.path, where = theme.MarkNext, "", lang.L("waiting to be saved")
	}
	l.note = where
	if kind != "" {
		l.note = kind + " · " + where
	}
	return l
}

// document is the line of a document that has no signed file yet. What it was sent from can be looked at.
func (p record) document(i int, d office.Document) fileLine {
	l := fileLine{name: i18n.DocumentName(d), mark: theme.MarkNext, note: i18n.Progress(len(d.SignedBy), len(p.row.Signers))}
	switch p.row.Status() {
	case office.StatusWithdrawn, office.StatusExpired, office.StatusDeclined: // nobody is waited for any more
		l.mark = theme.MarkEnded
	}
	if d.Executed {
		l.mark, l.note = theme.MarkSigned, lang.L("fully signed")
	}
	if len(p.draft.Files) == len(p.row.Documents) { // in the order they were added
		l.path = p.originals[i]
	}
	return l
}

func (s *Screen) documentsOf(p record) fyne.CanvasObject {
	list := widgets.Stack(16)
	for i, l := range p.files() {
		list.Add(s.fileLine(l, i < maxPictures))
	}
	if len(list.Objects) == 0 {
		list.Add(widgets.NewProse(lang.L("The signing service has not listed the documents yet.")))
	}
	return widgets.Part(lang.L("Documents"), 0, list)
}

// fileLine shows one of them. Its picture has its place before it comes.
func (s *Screen) fileLine(l fileLine, pictured bool) fyne.CanvasObject {
	name := widgets.NewFullName(l.name)
	note := widgets.NewProse(l.note)
	if l.mark == theme.MarkProblem {
		note.Colour = theme.Attention
	}
	text := widgets.Stack(2, name, widgets.Across(widgets.Mark(15, widget.NewIcon(l.mark.Resource())), note, nil))
	if l.path == "" {
		return widgets.Across(s.page(l, pictured), text, nil)
	}
	open := widgets.NewButton(lang.L("Open"), func() { s.env.OpenFile(l.path) })
	open.Importance = widget.LowImportance
	row := s.record.row // the path of a package's file is that of the one shown
	menu := func() *fyne.Menu { return s.menuOfFile(row, l.path) }
	buttons := widgets.Row(0, open, s.more(lang.L("More for {{.File}}", i18n.V{"File": l.name}), menu))
	return s.newFileRow(widgets.Across(s.page(l, pictured), widgets.Aside(110, text, buttons), nil), menu)
}
