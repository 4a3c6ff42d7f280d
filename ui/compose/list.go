package compose

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
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

// lists are the lists sent, and the one shown instead of the form.
type lists struct {
	recent []office.Bulk
	button *widgets.Button // hidden until the office has sent a list
	panel  *listPanel      // nil while the form is shown
}

// mostLists is how many are offered, newest first.
const mostLists = 12

// listAmong separates a list among files, if there is one, from the others. sure says that it can only be a list.
func (s *Screen) listAmong(files []office.FormFile) (list string, sure bool, rest []office.FormFile) {
	at := func(ending string) int {
		return slices.IndexFunc(files, func(f office.FormFile) bool { return strings.EqualFold(filepath.Ext(f.Path), ending) })
	}
	i := at(".csv")
	if sure = i >= 0; !sure {
		if i = at(".xlsx"); i < 0 || len(files)+s.documentCount() < 2 {
			return "", false, files
		}
	}
	return files[i].Path, sure, slices.Concat(files[:i], files[i+1:])
}

// offerList adds files of which one is, or may be, a list.
func (s *Screen) offerList(list string, sure bool, rest []office.FormFile, all func()) {
	use := func() {
		s.addFiles(rest, atEnd)
		s.openList(list)
	}
	if sure {
		use()
		return
	}
	widgets.Ask(s.env.Window.Canvas(), widgets.Question{Title: lang.L("Use “{{.File}}” as a list?", i18n.V{"File": filepath.Base(list)}),
		Text: lang.L("Each of its lines becomes a package with the other documents."), Safe: lang.L("Add as a document"), OnSafe: all, Do: lang.L("Use as a list"), OnDo: use})
}

// openList shows a list and the packages its lines become, instead of the form.
func (s *Screen) openList(path string) {
	if s.busy() {
		return
	}
	if s.documentCount() == 0 {
		s.env.Notice(lang.L("Add the document first, then drop the list."))
		return
	}
	common := s.draft()
	common.Signers = slices.DeleteFunc(common.Signers, func(x office.Signer) bool { return x.FirstName+x.LastName+x.Email == "" })
	env.Get(s.env, func(ctx context.Context) (office.BulkList, error) {
		return s.office.PrepareList(ctx, path, common, s.days().Order())
	}, func(l office.BulkList) {
		p := s.newListPanel()
		p.list = l
		for _, c := range l.Columns {
			p.heads = append(p.heads, c.Head)
		}
		p.show()
	})
}

// offerLists shows the menu of lists sent.
func (s *Screen) offerLists() {
	var items []*fyne.MenuItem
	for _, b := range s.lists.recent {
		items = append(items, fyne.NewMenuItem(i18n.Title(b.File)+" · "+i18n.Day(s.env.Now(), b.Created.In(s.env.Now().Location())), func() { s.newListPanel().follow(b.ID) }))
	}
	widgets.OpenMenu(s.env.Window.Canvas(), fyne.NewMenu("", items...), s.lists.button)
}

// listPanel is a list before sending, or the outcome of its lines.
type listPanel struct {
	screen   *Screen
	content  fyne.CanvasObject
	bar      *fyne.Container
	list     office.BulkList // before sending
	id       string          // after sending
	progress office.BulkProgress
	results  []office.BulkResult
	heads    []string
	rows     []int // the visible lines

	title, note             *widgets.Line
	only, again             *widgets.Check
	table                   *widgets.Table
	text                    *widget.Label
	mark                    *widget.Icon
	send, pause, stop, save *widgets.Button
}

func (s *Screen) newListPanel() *listPanel {
	p := &listPanel{screen: s, title: widgets.NewHeading(""), note: widgets.NewCaption(""), text: widget.NewLabel(""), mark: widget.NewIcon(theme.MarkProblem.Resource())}
	p.text.Wrapping = fyne.TextWrapWord
	p.only = widgets.NewCheck(lang.L("Only lines with mistakes"), func(bool) { p.refresh() })
	p.again = widgets.NewCheck("", func(bool) { p.refresh() })
	p.send = widgets.NewButton("", p.hand).Primary()
	p.pause = widgets.NewButton("", p.turn).Quiet()
	p.stop = widgets.NewButton(lang.L("Stop sending"), p.askToStop).Quiet()
	p.save = widgets.NewButtonWithIcon(lang.L("Export as CSV…"), fynetheme.DocumentSaveIcon(), p.export).Quiet()
	back := widgets.NewLink("‹ "+lang.L("Send"), s.closeList)
	for _, b := range []*widgets.Button{p.send, p.pause, p.stop, p.save} {
		b.OnEscape = s.closeList
	}
	p.table = widgets.NewTable(func() (int, int) { return len(p.rows), len(p.heads) + 1 }, p.newCell, p.cell)
	p.table.OnSelected = p.chosen
	p.table.CreateHeader, p.table.UpdateHeader = newListHead, p.head
	p.table.StickyColumnCount = 1
	head := widgets.PadHV(20, 6, widgets.Stack(2, widgets.Row(0, back), widgets.Across(nil, widgets.Stack(2, p.title, p.note), p.save)))
	p.bar = widgets.On(theme.Paper, widgets.Stack(0, widget.NewSeparator(), widgets.PadHV(20, 8, widgets.Across(p.mark, p.text, widgets.Row(8, p.stop, p.pause, p.send)))))
	p.content = widgets.Between(widgets.Stack(0, head, widgets.PadHV(20, 0, widgets.Flow(16, p.only, p.again))), p.bar, widgets.PadHV(20, 4, p.table))
	return p
}

func (p *listPanel) show() {
	s := p.screen
	s.lists.panel = p
	p.refresh()
	for i := range len(p.heads) + 1 {
		p.table.SetColumnWidth(i, p.width(i-1))
	}
	s.content.Objects = []fyne.CanvasObject{p.content}
	s.content.Refresh()
	s.env.Window.Canvas().Unfocus()
}

func (s *Screen) closeList() {
	s.lists.panel = nil
	s.content.Objects = []fyne.CanvasObject{s.sheet}
	s.content.Refresh()
	s.Focus()
}

// follow shows a list's outcome, and updates it while it changes.
func (p *listPanel) follow(id string) {
	env.Get(p.screen.env, func(context.Context) (r []office.BulkResult, err error) {
		p.progress, r, _, err = p.screen.office.SentList(id)
		return r, err
	}, func(r []office.BulkResult) {
		first := p.screen.lists.panel != p
		if p.id != "" && first {
			return // no longer shown
		}
		p.id, p.results, p.heads = id, r, p.progress.Heads
		if first {
			p.show()
		} else {
			p.refresh()
		}
		if !p.progress.Over() {
			p.screen.env.Later(3*time.Second, func() { // reading thousands of lines takes a moment
				if p.screen.lists.panel == p {
					p.follow(id)
				}
			})
		}
	})
}

// refresh redraws everything.
func (p *listPanel) refresh() {
	p.rows = nil
	wrong, before := len(p.list.Faulty()), 0
	for i, x := range p.list.Lines {
		if x.Before != "" {
			before++
		}
		if !p.only.Checked || len(x.Wrong) > 0 {
			p.rows = append(p.rows, i)
		}
	}
	if p.id != "" {
		p.rows = nil
		for i, x := range p.results {
			if !p.only.Checked || x.State != office.DraftSent {
				p.rows = append(p.rows, i)
			}
		}
		wrong = p.progress.Wrong + p.progress.Unknown
	}
	if p.only.Text = lang.L("Only lines with mistakes"); p.id != "" {
		p.only.Text = lang.L("Only lines that were not sent")
	}
	p.title.Set(i18n.Title(cmp.Or(p.progress.File, p.list.File)))
	p.only.Hidden = wrong == 0 && !p.only.Checked
	p.again.Hidden, p.again.Text = before == 0 || p.id != "", lang.N("Send the {{.PluralCount}} lines again that were sent before", before)
	running := p.id != "" && (p.progress.State == office.BulkRunning || p.progress.State == office.BulkPaused)
	p.pause.Hidden, p.stop.Hidden, p.save.Hidden, p.send.Hidden = !running, !running, p.id == "", p.id != "" || len(p.list.Left(p.again.Checked)) == 0
	said, grave := "", false
	if p.id == "" {
		left := len(p.list.Left(p.again.Checked))
		p.note.Set(lang.N("{{.PluralCount}} lines", len(p.list.Lines)))
		p.send.SetText(lang.L("Send {{.Packages}}", i18n.V{"Packages": packages(left)}))
		widgets.Enable(p.send, left > 0 && len(p.list.Wrong) == 0)
		switch {
		case len(p.list.Wrong) > 0:
			said, grave = i18n.Message(p.list.Wrong[0]), true
		case wrong > 0:
			said, grave = lang.N("{{.PluralCount}} lines have mistakes and are not sent.", wrong), true
		case left == 0:
			said = lang.L("Every line was sent before.")
		}
	} else {
		p.note.Set(p.standing())
		said, grave = i18n.Message(p.progress.Problem), true
		p.pause.SetText(lang.L("Pause"))
		if p.progress.State == office.BulkPaused {
			p.pause.SetText(lang.L("Resume"))
		}
	}
	p.say(said, grave)
	p.only.Refresh()
	p.again.Refresh()
	p.content.Refresh()
	p.table.Refresh()
}

// standing returns the list's progress: "12 of 300 sent · 2 not sent · Paused".
func (p *listPanel) standing() string {
	parts := []string{lang.L("{{.Sent}} of {{.Packages}} sent", i18n.V{"Sent": p.progress.Sent, "Packages": packages(p.progress.Lines - p.progress.Faulty)})}
	if p.progress.Wrong > 0 {
		parts = append(parts, lang.N("{{.PluralCount}} not sent", p.progress.Wrong))
	}
	if p.progress.Unknown > 0 {
		parts = append(parts, lang.N("{{.PluralCount}} unconfirmed", p.progress.Unknown))
	}
	switch p.progress.State {
	case office.BulkPaused:
		parts = append(parts, lang.L("paused"))
	case office.BulkStopped:
		parts = append(parts, lang.L("stopped"))
	}
	return strings.Join(parts, " · ")
}

func bad(x office.BulkResult) bool {
	return x.State == office.DraftFailed || x.State == office.DraftUnknown || x.State == office.DraftCancelled
}

// listCell shows shortened text, and what is wrong, as a tooltip.
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
	c.Content = widgets.PadHV(4, 2, widgets.Across(c.mark, c.line, nil))
	c.Lines, c.line.Begins = []*widgets.Line{c.line}, true
	c.ExtendBaseWidget(c)
	return c
}

// show shows a text with the mark for its meaning; none for plain text.
func (c *listCell) show(text string, mark theme.Mark, more string) {
	c.line.Colour = theme.Text
	if widgets.Show(c.mark, mark != ""); mark != "" {
		c.icon.SetResource(mark.Resource())
		c.line.Colour = mark.Colour()
	}
	c.line.Set(text)
	c.More = more
	c.Shown()
}

// Tapped chooses the cell.
func (c *listCell) Tapped(*fyne.PointEvent) { c.panel.table.Select(c.at) }

// chosen shows at the bottom the chosen cell's content and what is wrong with it.
func (p *listPanel) chosen(at widget.TableCellID) {
	if at.Row < 0 || at.Row >= len(p.rows) || at.Col < 0 {
		return
	}
	c := p.newCell().(*listCell)
	p.cell(at, c)
	p.say(strings.TrimSpace(c.line.Text+"\n"+c.More), c.line.Colour == theme.Attention)
}

// say shows a text at the bottom, which takes no space while there is nothing to say or do.
func (p *listPanel) say(text string, grave bool) {
	p.mark.Hidden, p.text.Importance = !grave || text == "", widget.MediumImportance
	if grave {
		p.text.Importance = widget.DangerImportance
	}
	p.text.SetText(text)
	widgets.Show(p.bar, text != "" || !p.send.Hidden || !p.stop.Hidden)
	p.bar.Refresh()
}

func (p *listPanel) cell(at widget.TableCellID, o fyne.CanvasObject) {
	c := o.(*listCell)
	c.at = at
	if at.Row >= len(p.rows) {
		return
	}
	n := p.rows[at.Row]
	if at.Col == 0 {
		c.show(p.state(n))
		return
	}
	column, row := at.Col-1, office.ListRow{}
	if p.id != "" {
		row = p.results[n].ListRow
	} else {
		row = p.list.Lines[n].ListRow
		for _, x := range p.list.Lines[n].Wrong {
			if x.Column == column {
				text := i18n.Message(x.Text)
				c.show(cmp.Or(row.Cells[column], "—"), theme.MarkProblem, text)
				return
			}
		}
	}
	text := ""
	if column < len(row.Cells) {
		text = row.Cells[column]
	}
	c.show(text, "", "")
}

// state returns a line's number, and its error or outcome.
func (p *listPanel) state(n int) (text string, mark theme.Mark, more string) {
	said := func(number int, mark theme.Mark, words ...string) (string, theme.Mark, string) {
		return strconv.Itoa(number) + "  " + words[0], mark, strings.Join(words[1:], "\n")
	}
	if p.id != "" {
		switch x := p.results[n]; {
		case bad(x):
			word := map[office.DraftState]string{office.DraftFailed: lang.L("not sent"), office.DraftUnknown: lang.L("unconfirmed")}[x.State]
			return said(x.Line, theme.MarkProblem, cmp.Or(word, lang.L("cancelled")), i18n.Message(x.Problem))
		case x.State == office.DraftSent:
			return said(x.Line, theme.MarkSigned, lang.L("sent"))
		case x.State == "" && p.progress.State == office.BulkStopped:
			return said(x.Line, theme.MarkLater, lang.L("stopped"))
		default:
			return said(x.Line, theme.MarkLater, lang.L("not sent yet"))
		}
	}
	x := p.list.Lines[n]
	words := []string{lang.L("not sent")}
	for _, w := range x.Wrong {
		words = append(words, i18n.Message(w.Text))
	}
	switch {
	case len(words) > 1:
		return said(x.Line, theme.MarkProblem, words...)
	case x.Before == office.BeforeSame:
		return said(x.Line, theme.MarkSigned, lang.L("sent before"))
	case x.Before == office.BeforeWaiting:
		return said(x.Line, theme.MarkNext, lang.L("waiting in another list"))
	case x.Before == office.BeforeChanged:
		return said(x.Line, theme.MarkNext, lang.L("changed since"))
	}
	return said(x.Line, theme.MarkLater, lang.L("ready"))
}

// newListHead is a column's head, with the column's use below.
func newListHead() fyne.CanvasObject {
	head, means := widgets.NewName(""), widgets.NewCaption("")
	head.Bold, means.Shorten = true, true
	return widgets.PadHV(4, 2, widgets.Stack(0, head, means))
}

func (p *listPanel) head(at widget.TableCellID, o fyne.CanvasObject) {
	parts := o.(*fyne.Container).Objects[0].(*fyne.Container).Objects
	head, means := parts[0].(*widgets.Line), parts[1].(*widgets.Line)
	if at.Col == 0 {
		head.Set(lang.L("Line"))
		means.Set("")
		return
	}
	head.Set(cmp.Or(p.heads[at.Col-1], "—"))
	means.Set("")
	if p.id == "" {
		if kind := meaning(p.list.Columns[at.Col-1]); !strings.EqualFold(kind, head.Text) {
			means.Set(kind)
		}
	}
}

// meaning says what a column is used for.
func meaning(c office.Column) string {
	kind := map[office.ColumnKind]string{
		office.ColumnName: lang.L("Name"), office.ColumnFirst: lang.L("First name"), office.ColumnLast: lang.L("Last name"), office.ColumnEmail: lang.L("E-mail"),
		office.ColumnRole: lang.L("Role"), office.ColumnField: lang.L("Field of the template"), office.ColumnPackage: lang.L("Package name"),
		office.ColumnMessage: lang.L("Message to the signers"), office.ColumnDue: lang.L("Due date"), office.ColumnReference: lang.L("Reference"),
		office.ColumnCC: lang.L("CC"), office.ColumnBCC: lang.L("BCC"), office.ColumnOther: "{" + c.Head + "}",
	}[c.Kind]
	if c.Person != "" {
		kind += " · " + c.Person
	}
	return kind
}

// width returns a column's width, fitting its longest cells within limits; column -1 shows the lines' states.
func (p *listPanel) width(column int) float32 {
	if column < 0 {
		return widgets.Scaled(220)
	}
	longest := 0
	note := func(text string) { longest = max(longest, len([]rune(text))) }
	note(p.heads[column])
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

// hand passes the list to the office, which starts some seconds later unless that is undone.
func (p *listPanel) hand() {
	s, again := p.screen, p.again.Checked
	typed, pressed := s.form(), s.env.Now()
	widgets.Enable(p.send, false)
	async.Then(s.env.Work, func(ctx context.Context) (string, error) {
		return s.office.SendList(ctx, p.list, again, widgets.UndoTime)
	}, func(id string, err error) {
		widgets.Enable(p.send, true)
		if err != nil {
			s.env.Notice(i18n.Error(err))
			return
		}
		s.clear()
		s.changed()
		p.only.Checked = false
		p.follow(id)
		s.env.Soon(env.Undoable{Says: i18n.Message(message.ListBegun(len(p.list.Left(again)), p.list.File)), Pressed: pressed, Undone: func() {
			p.decide(office.BulkStopped, func() {
				s.closeList()
				s.replace(func() { s.begin(typed) })
			})
		}})
	})
}

func (p *listPanel) decide(to office.BulkState, then func()) {
	id := p.id
	p.screen.env.Attempt(func(context.Context) error { return p.screen.office.DecideList(id, to) }, then)
}

// turn pauses or continues the list.
func (p *listPanel) turn() {
	to := office.BulkPaused
	if p.progress.State == office.BulkPaused {
		to = office.BulkRunning
	}
	p.decide(to, func() { p.follow(p.id) })
}

func (p *listPanel) askToStop() {
	widgets.Ask(p.screen.env.Window.Canvas(), widgets.Question{Title: lang.L("Stop sending this list?"), Text: lang.L("What was not sent by now stays unsent. Drop the list again to send the rest."),
		Safe: lang.L("Keep sending"), Do: lang.L("Stop sending"), OnDo: func() { p.decide(office.BulkStopped, func() { p.follow(p.id) }) }})
}

// export writes the outcome of the lines for Excel in the window's language.
func (p *listPanel) export() {
	name := strings.TrimSuffix(p.progress.File, filepath.Ext(p.progress.File)) + " " + p.screen.env.Now().Format(time.DateOnly) + ".csv"
	browse.Save(p.screen.env, lang.L("Export as CSV…"), office.FileName(name), func(path string, replace bool) {
		table := office.BulkTable(p.progress.Bulk, p.results, i18n.Message)
		async.Try(p.screen.env.Work, func(context.Context) error {
			return system.WriteFile(path, replace, func(w io.Writer) error {
				return office.WriteCSV(w, table, office.Comma(cmp.Or(i18n.Code(), "en")))
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
