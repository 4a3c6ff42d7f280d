package compose

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/outbox"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// Lists sends documents with one package for each line of a list.
type Lists interface {
	PrepareList(ctx context.Context, path string, common office.NewPackage, order string) (office.BulkList, error)
	SendList(ctx context.Context, l office.BulkList, again bool, undo time.Duration) (id string, err error)
	Lists() ([]office.Bulk, error)
	SentList(id string) (office.BulkProgress, []office.BulkResult, bool, error)
	DecideList(id string, to office.BulkState) error
}

// lists are those that were sent, the one that the form is for, and the one that is shown in place of the form.
type lists struct {
	recent  []office.Bulk
	button  *widgets.Button  // hidden in an office that never sent one
	draft   office.FormFile  // that is not sent yet; empty for none
	row     *fyne.Container  // stands for it in the form
	panel   *listPanel       // nil while the form is shown
	reading *office.FormFile // the file that is being read for a page; nil for none
	halted  string           // why nothing is sent; empty if nothing prevents it
	sent    sentList
}

// sentList is the list that was sent last, with what was typed for it, which is in the form again if that is undone.
type sentList struct {
	id    string
	typed office.Form
	docs  []*document
	taken func() // ends the offer to undo it
}

// mostLists is how many are offered, newest first.
const mostLists = 12

// listAmong separates a list among files, if there is one, from the others. sure says that it can only be a list.
func (s *Screen) listAmong(files []office.FormFile) (list office.FormFile, sure bool, rest []office.FormFile) {
	at := func(ending string) int {
		return slices.IndexFunc(files, func(f office.FormFile) bool { return strings.EqualFold(filepath.Ext(f.Path), ending) })
	}
	i := at(".csv")
	if sure = i >= 0; !sure {
		if i = at(".xlsx"); i < 0 || len(files)+s.documentCount() < 2 {
			return list, false, files
		}
	}
	return files[i], sure, slices.Concat(files[:i], files[i+1:])
}

// offerList adds files of which one is, or may be, a list.
func (s *Screen) offerList(list office.FormFile, sure bool, rest []office.FormFile, all func()) {
	use := func() {
		s.addFiles(rest, atEnd)
		s.openList(list)
	}
	if sure {
		use()
		return
	}
	widgets.Ask(s.env.Window.Canvas(), widgets.Question{Title: lang.L("Use “{{.File}}” as a list?", i18n.V{"File": filepath.Base(list.Path)}),
		Text: lang.L("Each of its lines becomes a package with the other documents."), Safe: lang.L("Add as a document"), OnSafe: all, Do: lang.L("Use as a list"), OnDo: use})
}

// openList shows a list, with what its lines become, in place of the form, which is for that list from now on. Until it is read, no
// other page of a list can be sent, and whoever goes elsewhere stays there.
func (s *Screen) openList(file office.FormFile) {
	if s.busy() {
		return
	}
	if s.documentCount() == 0 {
		s.setList(file)
		s.changed()
		s.env.Notice(lang.L("The list was added. Now add the document to send."))
		return
	}
	this, over, common, kept := &file, s.lists.panel, s.draft(), s.lists.draft == file
	s.showReading(this)
	async.Then(s.env.Work, func(ctx context.Context) (office.BulkList, error) {
		d := common
		d.Signers = slices.DeleteFunc(slices.Clone(d.Signers), func(x office.Signer) bool { return x.FirstName+x.LastName+x.Email == "" })
		return s.office.PrepareList(ctx, file.Path, d, s.days().Order())
	}, func(l office.BulkList, err error) {
		if s.lists.reading != this { // another one is read
			return
		}
		s.showReading(nil)
		switch left := s.lists.panel != over; {
		case err != nil:
			s.env.Notice(i18n.Error(err))
			return
		case kept && (left || s.lists.draft != file): // it was left or removed
			return
		case s.handing != nil: // the form without it is being sent
			s.afterwards(func() { s.openList(file) })
			return
		case !left && !reflect.DeepEqual(common, s.draft()): // it was changed meanwhile
			s.openList(file)
			return
		case kept && over != nil && reflect.DeepEqual(over.list, l):
			return
		}
		s.setList(file)
		if s.changed(); s.lists.panel != over {
			return
		}
		p := s.newListPanel("", nil)
		p.list = l
		for _, c := range l.Columns {
			p.heads = append(p.heads, c.Head)
		}
		p.showPage(s.files())
		p.show()
	})
}

func (s *Screen) showReading(file *office.FormFile) {
	if s.lists.reading = file; s.lists.panel != nil {
		s.lists.panel.refresh()
	}
}

// setList has the form be for a list; for an empty one, for those who are typed.
func (s *Screen) setList(file office.FormFile) {
	s.lists.draft = file
	if s.lists.row.Hidden = file.Path == ""; !s.lists.row.Hidden {
		name := i18n.Title(filepath.Base(file.Path))
		open := widgets.NewLink(name, func() { s.openList(s.lists.draft) })
		remove := s.newButton("", fynetheme.DeleteIcon(), func() { s.setList(office.FormFile{}); s.changed(); s.unfocus() }).Quiet()
		remove.Says = func() string { return widgets.Removing(name) }
		card, _ := tightCard(widgets.Across(nil, widgets.Row(0, open), remove))
		widgets.Remake(s.lists.row, widgets.NewField(lang.L("A package for each line of"), card, ""))
	}
	s.layOutAnew()
}

// offerLists shows the menu of the lists that were sent.
func (s *Screen) offerLists() {
	var items []*fyne.MenuItem
	for _, b := range s.lists.recent {
		text := i18n.Title(b.File) + " · " + i18n.Day(s.env.Now(), b.Created.In(s.env.Now().Location()))
		items = append(items, fyne.NewMenuItem(strings.TrimSuffix(text+" · "+stateText(b.State), " · "), func() { s.ShowList(b.ID, "", nil) }))
	}
	widgets.OpenMenu(s.env.Window.Canvas(), fyne.NewMenu("", items...), s.lists.button)
}

// ShowList shows what became of the lines of a list that was sent. back leads back to the screen with that name; without it, the form
// is shown again.
func (s *Screen) ShowList(id, name string, back func()) { s.newListPanel(name, back).follow(id) }

// stateText says that a list waits for a person; nothing where it does not.
func stateText(state office.BulkState) string {
	return map[office.BulkState]string{office.BulkPaused: lang.L("paused"), office.BulkStopped: lang.L("stopped")}[state]
}

// listPanel is a list before it is sent, or what became of its lines.
type listPanel struct {
	screen   *Screen
	back     func() // leaves it
	content  fyne.CanvasObject
	list     office.BulkList // before it is sent
	id       string          // once it is
	reader   *async.Reader[outcome]
	read     bool // at least once
	soon     bool // it is read again soon
	progress office.BulkProgress
	results  []office.BulkResult
	heads    []string
	rows     []int // those lines that are shown

	page       *fyne.Container // the first one that is sent
	title      *widgets.Line
	note       *widgets.Prose
	tabs       *widgets.Tabs // all lines, and those that need somebody
	again      *widgets.Check
	save, stop *widgets.Button
	table      *widgets.Table
	bar        *bar
	said       string // in the bar, of the whole list
}

// outcome is what became of a list and its lines.
type outcome struct {
	progress office.BulkProgress
	results  []office.BulkResult
}

func (s *Screen) newListPanel(name string, back func()) *listPanel {
	p := &listPanel{screen: s, back: func() { s.closeList() }, title: widgets.NewHeading(""), note: widgets.NewFullCaption(""), page: container.NewStack()}
	p.tabs = widgets.NewTabs([]string{"", ""}, func(int) { p.refresh() })
	p.again = widgets.NewCheck("", func(bool) { p.refresh() })
	p.save = widgets.NewButtonWithIcon(lang.L("Export as CSV…"), fynetheme.DocumentSaveIcon(), p.export).Quiet()
	p.stop = widgets.NewButton(lang.L("Stop sending"), p.halt).Quiet()
	p.bar = newBar(widgets.NewButton("", p.send).Primary(), p.stop)
	p.table = widgets.NewTable(func() (int, int) { return len(p.rows), len(p.heads) + ownColumns }, p.newCell, p.cell)
	p.table.OnSelected = p.chosen
	p.table.CreateHeader = func() fyne.CanvasObject { return widgets.PadHV(10, 4, widgets.NewTitle("")) }
	p.table.UpdateHeader = func(at widget.TableCellID, o fyne.CanvasObject) {
		o.(*fyne.Container).Objects[0].(*widgets.Line).Set(p.heading(at.Col - ownColumns))
	}
	p.table.StickyColumnCount, p.table.HideSeparators = 1, true
	if back == nil {
		name = lang.L("Send")
	} else {
		p.back = func() { s.closeList(); back() }
	}
	title := widgets.Across(p.page, widgets.Stack(2, p.title, p.note), p.save)
	head := widgets.Stack(4, widgets.Row(0, widgets.NewLink("‹ "+name, p.back)), title, widgets.PadHV(-5, 0, p.tabs), widgets.Outdent(p.again))
	p.content = widgets.Between(widgets.PadHV(20, 6, head), p.bar.content, widgets.PadHV(20, 4, p.table))
	return p
}

// showPage shows page 1 of the first of the documents, and a sheet in its place until there is a picture of it.
func (p *listPanel) showPage(docs []*document) {
	if len(docs) == 0 {
		return
	}
	page := widgets.DrawnPage(pictureSize)
	if docs[0].sight != nil {
		page = widgets.Sheet(docs[0].sight, pictureSize, theme.Line)
	}
	p.page.Objects = []fyne.CanvasObject{page}
	p.content.Refresh()
}

func (p *listPanel) show() {
	s := p.screen
	s.lists.panel = p
	p.refresh()
	for i := range len(p.heads) + ownColumns {
		p.table.SetColumnWidth(i, p.width(i-ownColumns))
	}
	widgets.Remake(s.content, p.content)
	s.unfocus()
}

// Leave goes back from a list to where it was opened, and says whether one was shown.
func (s *Screen) Leave() (left bool) {
	if left = s.lists.panel != nil; left {
		s.lists.panel.back()
	}
	return left
}

// Enter is called when the screen is opened. It shows the form in place of a list that was sent, which is no draft any more, and reads
// one that is a draft again: people correct the file meanwhile.
func (s *Screen) Enter() {
	switch p := s.lists.panel; {
	case p == nil:
	case p.id != "":
		s.closeList()
	case s.handing == nil && s.lists.reading == nil:
		s.openList(s.lists.draft)
	}
}

// closeList shows the form again, if a list covers it, and says whether one did.
func (s *Screen) closeList() (closed bool) {
	if closed = s.lists.panel != nil; closed {
		s.lists.panel = nil
		widgets.Remake(s.content, s.sheet)
		s.Focus()
	}
	return closed
}

// follow shows what became of a list, and goes on while it changes. What was typed for one that is undone is in the form again.
func (p *listPanel) follow(id string) {
	if p.reader == nil {
		p.id, p.rows = id, nil
		p.reader = async.NewReader(p.screen.env.Work, func(context.Context) (o outcome, err error) {
			o.progress, o.results, _, err = p.screen.office.SentList(id)
			return o, err
		}, p.became)
	}
	p.reader.Ask()
}

// became shows what was read of a list that was sent.
func (p *listPanel) became(o outcome, err error) {
	s, first := p.screen, !p.read
	if err != nil {
		s.env.Notice(i18n.Error(err))
		return
	}
	sent := s.lists.sent
	switch p.read = true; {
	case o.progress.Undone && sent.id == p.id:
		s.lists.sent = sentList{}
		s.closeList()
		s.afterwards(func() {
			s.replace(func() { s.begin(sent.typed, sent.docs...); s.openList(sent.typed.List) })
			s.env.Go.ShowCompose()
		})
		s.Reload() // it is not among those that were sent
		return
	case !first && s.lists.panel != p:
		return // it was left
	case o.progress.Undone: // by somebody else
		s.closeList()
		s.env.Notice(i18n.Message(message.ListStopped(o.progress.File)))
		return
	}
	p.progress, p.results, p.heads = o.progress, o.results, o.progress.Heads
	if first {
		if sent.id == p.id {
			p.showPage(sent.docs)
		}
		p.show()
	} else {
		p.refresh()
	}
	if more := !o.progress.Over() || slices.ContainsFunc(o.results, onItsWay); more && !p.soon {
		p.soon = true
		s.env.Later(3*time.Second, func() { // thousands of lines take a moment to read
			if p.soon = false; s.lists.panel == p {
				p.reader.Ask()
			}
		})
	}
}

// ShowStatus shows on the page of a list what keeps it from being sent.
func (s *Screen) ShowStatus(status agent.Status) {
	halted := outbox.Halted(status.Health)
	if halted == s.lists.halted {
		return
	}
	if s.lists.halted = halted; s.lists.panel != nil {
		s.lists.panel.refresh()
	}
}

func onItsWay(x office.BulkResult) bool {
	return x.State == office.DraftQueued || x.State == office.DraftAdding
}

// refresh shows all of it anew.
func (p *listPanel) refresh() {
	lines, need, before, waiting := p.lines(), 0, 0, 0
	p.rows = nil
	for i := range lines {
		needs := p.needs(i)
		if needs {
			need++
		}
		if needs || p.tabs.Chosen() == 0 {
			p.rows = append(p.rows, i)
		}
		if p.id == "" && p.list.Lines[i].Left(true) && !p.list.Lines[i].Left(false) {
			before++
		} else if p.id != "" && p.results[i].State == "" {
			waiting++
		}
	}
	titles, file, needing := p.list.Common.Titles(), p.list.File, lang.L("With errors")
	if p.id != "" {
		titles, file, needing = p.progress.Documents, p.progress.File, lang.L("Not sent")
	}
	p.title.Set(i18n.Title(cmp.Or(strings.Join(titles, ", "), file)))
	p.tabs.Label([]string{fmt.Sprint(lang.L("All"), " ", lines), fmt.Sprint(needing, " ", need)})
	widgets.Show(p.tabs, need > 0 || p.tabs.Chosen() == 1)
	p.again.Hidden, p.again.Text = before == 0, lang.N("Resend the {{.PluralCount}} lines already sent", before)
	state := p.progress.State
	halted := state == office.BulkPaused || state == office.BulkStopped
	undoable := p.screen.env.Now().Sub(p.progress.Created) <= widgets.UndoTime // until then, the undo bar offers it
	p.stop.Hidden, p.save.Hidden, p.bar.send.Hidden = undoable || state != office.BulkRunning && state != office.BulkPaused, p.id == "", p.id != "" && (!halted || waiting == 0 || p.progress.Forgotten)
	p.note.Set(file + " · " + p.standing())
	said, wrong, ready := i18n.Message(p.progress.Problem), true, true
	if p.progress.Forgotten {
		said, wrong = i18n.Message(message.ListForgotten(file)), false
	}
	if p.id == "" {
		waiting = len(p.list.Left(p.again.Checked))
		docs := p.screen.files()
		bad := slices.IndexFunc(docs, (*document).unsendable)
		warned := slices.IndexFunc(docs, func(d *document) bool { return !d.info.Warning.IsZero() })
		loading := slices.ContainsFunc(docs, func(d *document) bool { return !d.looked })
		switch ready = waiting > 0 && len(p.list.Wrong) == 0 && bad < 0 && !loading && !p.screen.Busy() && p.screen.lists.reading == nil; {
		case p.screen.Busy():
			said, wrong = lang.L("Sending…"), false
		case p.screen.lists.reading != nil:
			said, wrong = lang.L("Loading…"), false
		case len(p.list.Wrong) > 0:
			said = i18n.Message(p.list.Wrong[0])
		case bad >= 0:
			said = i18n.Message(docs[bad].info.Problem)
		case warned >= 0 || need > 0:
			var notes []string
			if warned >= 0 {
				notes = append(notes, i18n.Title(filepath.Base(docs[warned].path))+" · "+i18n.Message(docs[warned].info.Warning))
			}
			if need > 0 {
				notes = append(notes, lang.N("{{.PluralCount}} lines contain errors and will not be sent. Correct the file and add it again.", need))
			}
			said = strings.Join(notes, " ")
		case waiting == 0 && slices.ContainsFunc(p.list.Lines, func(l office.BulkLine) bool { return l.Before == office.BeforeWaiting }):
			wrong, said = false, lang.L("All lines are waiting in another list or have already been sent.")
		case waiting == 0:
			wrong, said = false, lang.L("All lines have already been sent. To send them again, tick the box above.")
		}
	}
	if said == "" && state == office.BulkRunning && p.progress.Open > 0 {
		said, wrong = p.screen.lists.halted, false
	}
	p.bar.send.SetText(lang.L("Send"))
	if waiting > 0 {
		p.bar.send.SetText(lang.L("Send {{.Packages}}", i18n.V{"Packages": packages(waiting)}))
	}
	widgets.Enable(p.bar.send, ready)
	p.said = said
	p.bar.tell(said, wrong)
	widgets.Show(p.bar.content, said != "" || !p.bar.send.Hidden || !p.stop.Hidden)
	p.again.Refresh()
	p.content.Refresh()
	p.table.SetColumnWidth(ownColumns-1, p.width(-1)) // what became of a line may be longer than what was known before
	p.table.Refresh()
}

func (p *listPanel) lines() int {
	if p.id != "" {
		return len(p.results)
	}
	return len(p.list.Lines)
}

// standing is how far the list is: "9 lines", "12 of 300 sent · 2 not sent · stopped".
func (p *listPanel) standing() string {
	if p.id == "" {
		return lang.N("{{.PluralCount}} lines", len(p.list.Lines))
	}
	parts := []string{lang.L("{{.Sent}} of {{.Packages}} sent", i18n.V{"Sent": p.progress.Sent, "Packages": packages(p.progress.Lines - p.progress.Faulty)})}
	if p.progress.Wrong > 0 {
		parts = append(parts, lang.N("{{.PluralCount}} not sent", p.progress.Wrong))
	}
	if p.progress.Unknown > 0 {
		parts = append(parts, lang.N("{{.PluralCount}} unconfirmed", p.progress.Unknown))
	}
	return strings.TrimSuffix(strings.Join(append(parts, stateText(p.progress.State)), " · "), " · ")
}

// needs says that somebody has to look at a line.
func (p *listPanel) needs(n int) bool {
	if p.id == "" {
		return len(p.list.Lines[n].Wrong) > 0
	}
	switch p.results[n].State {
	case office.DraftFailed, office.DraftUnknown, office.DraftCancelled, office.DraftHeld:
		return true
	}
	return p.progress.State == office.BulkStopped && p.results[n].State == ""
}

// stand is what is wrong with a line or became of it, in few words and, where there is more to say, as a whole.
func (p *listPanel) stand(n int) (says string, mark theme.Mark, whole string) {
	if p.id == "" {
		var wrong []string
		for _, w := range p.list.Lines[n].Wrong {
			wrong = append(wrong, i18n.Message(w.Text))
		}
		switch before := p.list.Lines[n].Before; {
		case len(wrong) > 0:
			return wrong[0], theme.MarkProblem, strings.Join(wrong, "\n")
		case before == "":
			return lang.L("Ready"), theme.MarkLater, ""
		case before == office.BeforeWaiting:
			return lang.L("In another list"), theme.MarkLater, lang.L("This line is waiting in another list that is being sent.")
		case p.again.Checked:
			return lang.L("Will be sent again"), theme.MarkNext, ""
		case before == office.BeforeSame:
			return lang.L("Already sent"), theme.MarkSigned, ""
		default:
			return lang.L("Already sent, changed since"), theme.MarkNext, ""
		}
	}
	whole = i18n.Message(p.results[n].Problem)
	switch x := p.results[n]; x.State {
	case office.DraftSent:
		return lang.L("Sent"), theme.MarkSigned, lang.L("Show the package")
	case office.DraftFailed:
		return cmp.Or(whole, lang.L("Not sent")), theme.MarkProblem, whole
	case office.DraftUnknown:
		return lang.L("Unconfirmed"), theme.MarkProblem, whole
	case office.DraftCancelled:
		return lang.L("Cancelled"), theme.MarkProblem, whole
	case office.DraftHeld:
		return cmp.Or(whole, lang.L("Not sent")), theme.MarkNext, whole
	case "":
		if p.progress.State == office.BulkStopped {
			return lang.L("Not sent"), theme.MarkLater, ""
		}
		return lang.L("Waiting"), theme.MarkLater, ""
	case office.DraftQueued:
		if p.screen.lists.halted != "" {
			return lang.L("Waiting"), theme.MarkLater, ""
		}
		fallthrough
	default:
		return lang.L("Sending…"), theme.MarkNext, whole
	}
}

// ownColumns are those before the columns of the list: the number of a line, and how it stands.
const ownColumns = 2

// listCell shows whole, near the mouse, what is cut, and what is wrong.
type listCell struct {
	widgets.ListRow
	panel *listPanel
	at    widget.TableCellID
	icon  *widget.Icon
	mark  fyne.CanvasObject
	line  *widgets.Line
}

func (p *listPanel) newCell() fyne.CanvasObject {
	c := &listCell{panel: p, icon: widget.NewIcon(theme.MarkProblem.Resource()), line: widgets.NewName("")}
	c.mark = widgets.Mark(14, c.icon)
	c.Content = widgets.PadHV(4, 6, widgets.Across(c.mark, c.line, nil))
	c.Lines, c.line.Begins = []*widgets.Line{c.line}, true
	c.ExtendBaseWidget(c)
	return c
}

// Tapped chooses the cell.
func (c *listCell) Tapped(*fyne.PointEvent) { c.panel.table.Select(c.at) }

// chosen shows the package that became of the line, or at the bottom the chosen cell's content and what is wrong with it, below what
// is said of the list.
func (p *listPanel) chosen(at widget.TableCellID) {
	if at.Row < 0 || at.Row >= len(p.rows) || at.Col < 0 {
		return
	}
	if n := p.rows[at.Row]; p.id != "" && p.results[n].State == office.DraftSent {
		p.screen.env.Go.ShowPackage(p.results[n].PackageID)
		return
	}
	c := p.newCell().(*listCell)
	if p.cell(at, c); at.Col < ownColumns && c.More == "" {
		return
	}
	p.bar.tell(strings.TrimSpace(p.said+"\n"+cmp.Or(c.More, c.line.Text)), p.bar.text.Colour == theme.Attention && p.said != "" || c.line.Colour == theme.Attention)
	widgets.Show(p.bar.content, true)
}

func (p *listPanel) cell(at widget.TableCellID, o fyne.CanvasObject) {
	c := o.(*listCell)
	c.at = at
	if at.Row >= len(p.rows) {
		return
	}
	n, column := p.rows[at.Row], at.Col-ownColumns
	var row office.ListRow
	if p.id != "" {
		row = p.results[n].ListRow
	} else {
		row = p.list.Lines[n].ListRow
	}
	text, mark, more := "", theme.Mark(""), ""
	c.line.Scale, c.line.Most = theme.Body, 1
	switch c.line.Colour = theme.Text; {
	case at.Col == 0:
		text, c.line.Colour = strconv.Itoa(row.Line), theme.Secondary
	case column < 0:
		c.line.Scale, c.line.Most = theme.Caption, 2
		text, mark, more = p.stand(n)
	case column < len(row.Cells):
		text = row.Cells[column]
		if p.id != "" {
			break
		}
		for _, x := range p.list.Lines[n].Wrong {
			if x.Column == column && mark == "" {
				text, mark, more = cmp.Or(text, "—"), theme.MarkProblem, i18n.Message(x.Text)
			}
		}
	}
	if widgets.Show(c.mark, mark != ""); mark != "" {
		c.icon.SetResource(mark.Resource())
		c.line.Colour = mark.Colour()
	}
	c.line.Set(text)
	c.More = more
	c.Content.Refresh() // a second line needs room
	c.Shown()
}

// heading is the head of a column and, before the list is sent, what it is for where that is called otherwise: "Frist (Due date)".
func (p *listPanel) heading(column int) string {
	switch {
	case column == -ownColumns:
		return lang.L("Line")
	case column < 0:
		return lang.L("Status")
	}
	head := cmp.Or(p.heads[column], "—")
	if p.id != "" {
		return head
	}
	c := p.list.Columns[column]
	kind := map[office.ColumnKind]string{
		office.ColumnName: lang.L("Name"), office.ColumnFirst: lang.L("First name"), office.ColumnLast: lang.L("Last name"), office.ColumnEmail: lang.L("E-mail"),
		office.ColumnRole: lang.L("Role"), office.ColumnField: lang.L("Field of the template"), office.ColumnPackage: lang.L("Package name"),
		office.ColumnMessage: lang.L("Message to the signers"), office.ColumnDue: lang.L("Due date"), office.ColumnReference: lang.L("Reference"),
		office.ColumnCC: lang.L("CC"), office.ColumnBCC: lang.L("BCC"), office.ColumnOther: "{" + c.Head + "}",
	}[c.Kind]
	if c.Person != "" {
		kind += " · " + c.Person
	}
	switch {
	case strings.EqualFold(kind, head):
		return head
	case c.Kind != "":
		kind = "(" + kind + ")"
	}
	return head + " " + kind
}

// width is that of a column of the list, by its longest cells within reason; columns below 0 are those before.
func (p *listPanel) width(column int) float32 {
	longest := 0
	note := func(text string) { longest = max(longest, len([]rune(text))) }
	switch column {
	case -ownColumns:
		return widgets.Scaled(28 + 9*float32(len([]rune(p.heading(column)))))
	case -1:
		for i := range p.lines() {
			says, _, _ := p.stand(i)
			note(says)
		}
		return widgets.Scaled(min(max(140, 44+8*float32(longest)), 270))
	}
	note(p.heading(column))
	for _, row := range p.list.Lines {
		note(row.Cells[column])
	}
	for _, x := range p.results {
		if column < len(x.Cells) {
			note(x.Cells[column])
		}
	}
	return widgets.Scaled(min(max(96, 36+8*float32(longest)), 250))
}

// send gives the list to the office, which begins with it some seconds later if nobody takes it back; or has it go on.
func (p *listPanel) send() {
	if p.id != "" {
		p.decide(office.BulkRunning)
		return
	}
	s, again := p.screen, p.again.Checked
	sent := sentList{typed: s.form(), docs: slices.Clone(s.docs)}
	s.handing = &handing{passed: true, parcels: []*parcel{{}}}
	s.enable(false)
	p.refresh()
	async.Then(s.env.Work, func(ctx context.Context) (string, error) {
		return s.office.SendList(ctx, p.list, again, widgets.UndoTime)
	}, func(id string, err error) {
		defer s.free()()
		if err != nil {
			p.refresh()
			s.changed()
			s.env.Notice(i18n.Error(err))
			return
		}
		dropped := slices.DeleteFunc(s.docs, func(d *document) bool { return slices.Contains(sent.docs, d) })
		s.clear()
		s.docs = dropped
		s.filesChanged()
		sent.id, sent.taken = id, s.env.Soon(env.Undoable{Says: i18n.Message(message.ListBegun(len(p.list.Left(again)), p.list.File)), Undone: p.halt})
		s.lists.sent = sent
		p.follow(id)
	})
}

// halt stops the list, which is undone if it has not begun.
func (p *listPanel) halt() {
	if sent := p.screen.lists.sent; sent.id == p.id {
		sent.taken()
	}
	p.decide(office.BulkStopped)
}

func (p *listPanel) decide(to office.BulkState) {
	p.screen.env.Attempt(func(context.Context) error { return p.screen.office.DecideList(p.id, to) }, func() { p.follow(p.id) })
}

// export writes the outcome of the lines for Excel in the window's language.
func (p *listPanel) export() {
	name := strings.TrimSuffix(p.progress.File, filepath.Ext(p.progress.File)) + " " + p.screen.env.Now().Format(time.DateOnly) + ".csv"
	browse.Save(p.screen.env, lang.L("Export as CSV…"), office.FileName(name), func(path string, replace bool) {
		table := office.BulkTable(p.progress.Bulk, p.results, i18n.Message)
		async.Try(p.screen.env.Work, func(context.Context) error {
			return system.WriteFile(path, replace, func(w io.Writer) error {
				return office.WriteCSV(w, slices.Values(table), office.Comma(cmp.Or(i18n.Code(), "en")))
			})
		}, func(err error) {
			text := lang.L("“{{.File}}” was written.", i18n.V{"File": filepath.Base(path)})
			if err != nil {
				text = lang.L("“{{.File}}” cannot be written there. Choose another folder.", i18n.V{"File": filepath.Base(path)})
			}
			p.screen.env.Notice(text)
		})
	})
}
