package activity

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

// pageLength is how many events are read at a time.
const pageLength = 200

type event struct {
	office.Event
	name string
}

// readPage reads a page of events, newest first, with the names of their packages as far as they have one; next is empty when it
// was the last.
func readPage(o Office, before office.Cursor, limit int) (page []event, next office.Cursor, err error) {
	list, next, err := o.Events(before, limit)
	if err != nil {
		return nil, "", err
	}
	page = make([]event, len(list))
	names := map[string]string{"": ""}
	for i, e := range list {
		name, known := names[e.PackageID]
		if !known {
			if row, found, err := o.Package(e.PackageID); err == nil && found {
				name = row.Name
			}
			names[e.PackageID] = name // empty where its id is shown
		}
		page[i] = event{e, name}
	}
	if len(list) < limit {
		next = ""
	}
	return page, next, nil
}

// events is the tab of the newest events. The export has all of them.
type events struct {
	screen      *Screen
	list        *widgets.List
	eventDetail eventDetail // the chosen event
	page        fyne.CanvasObject
	empty       fyne.CanvasObject
	rows        []event
	chosen      string // event id
}

func (v *events) build(s *Screen) {
	v.screen = s
	v.list = widgets.NewList(func() int { return len(v.rows) }, newEventRow, v.update)
	v.list.HideSeparators = true
	v.list.Says = func() string { return lang.L("Events") }
	v.list.OnSelected = v.choose
	v.list.OnEnter = func() { v.eventDetail.openPackage() }
	v.eventDetail.build(s)
	split := container.NewHSplit(widgets.PadHV(8, 4, v.list), v.eventDetail.content)
	split.SetOffset(0.45)
	v.page = split
	v.empty = widgets.Empty(fynetheme.MailComposeIcon(), lang.L("No events yet. One arrives each time someone signs."), "", nil)
}

// fill shows other events. The row at the upper edge stays there, unless it is the first.
func (v *events) fill(rows []event) {
	top, hidden := v.list.Top()
	anchor := ""
	if top > 0 && top < len(v.rows) {
		anchor = v.rows[top].ID
	}
	v.rows = rows
	if row := v.rowOf(anchor); row >= 0 {
		top = row
	}
	v.list.Renew(v.rowOf(v.chosen), top, hidden)
	if len(v.rows) > 0 {
		v.choose(max(0, v.rowOf(v.chosen)))
	}
}

func (v *events) rowOf(id string) int {
	return slices.IndexFunc(v.rows, func(e event) bool { return e.ID == id })
}

func (v *events) choose(row int) {
	v.chosen = v.rows[row].ID
	v.eventDetail.show(v.rows[row])
}

// eventRow is one row: kind and time, then the package and what became of the event.
type eventRow struct {
	widgets.ListRow
	kind, when, name, state *widgets.Line
	mark                    *widget.Icon
}

func newEventRow() fyne.CanvasObject {
	r := &eventRow{kind: widgets.NewName(""), when: widgets.NewCaption(""), name: widgets.NewCaption(""), state: widgets.NewCaption(""),
		mark: widget.NewIcon(theme.MarkLater.Resource())}
	r.when.Shorten, r.state.Shorten = false, false
	mark := widgets.Mark(15, r.mark)
	r.Lines, r.Content = []*widgets.Line{r.kind, r.name}, widgets.PadHV(12, 6, widgets.Stack(4, widgets.Across(nil, r.kind, r.when), widgets.Across(mark, r.name, r.state)))
	r.ExtendBaseWidget(r)
	return r
}

func (v *events) update(id int, o fyne.CanvasObject) {
	r, e := o.(*eventRow), v.rows[id]
	mark, state := i18n.EventState(e.Event)
	r.kind.Text, r.when.Text = i18n.EventKind(e.Event), i18n.Clock(v.screen.env.Now(), e.Received)
	r.name.Text = nameOf(e)
	r.state.Text, r.state.Colour = state, theme.Secondary
	switch mark {
	case theme.MarkProblem:
		r.state.Colour = theme.Attention
	case theme.MarkSigned: // the shape says it
		r.state.Text = ""
	}
	r.mark.SetResource(mark.Resource())
	r.Shown()
}

func nameOf(e event) string {
	switch {
	case e.name != "":
		return e.name
	case e.PackageID != "":
		return e.PackageID
	}
	return lang.L("no package")
}

// refusals is the tab of what was refused: how many, and samples.
type refusals struct {
	screen *Screen
	rows   []agent.Refusal
	total  *widgets.Line
	list   *widgets.List
	page   fyne.CanvasObject
	empty  fyne.CanvasObject
}

func (r *refusals) build(s *Screen) {
	r.screen = s
	r.total = widgets.NewCaption("")
	r.list = widgets.NewList(func() int { return len(r.rows) }, newRefusalRow, r.update)
	r.list.HideSeparators = true
	r.list.Says = func() string { return lang.L("Blocked") }
	r.page = widgets.Frame(widgets.PadHV(24, 10, r.total), nil, nil, widgets.PadHV(12, 0, r.list))
	r.empty = widgets.Empty(theme.MarkSigned.Resource(), lang.L("Nothing has been blocked. Requests without a valid event signature are listed here."), "", nil)
}

func (r *refusals) fill(rows []agent.Refusal, total int) {
	r.rows = rows
	for _, row := range rows {
		total = max(total, 1+row.More)
	}
	r.total.Set(lang.N("{{.PluralCount}} requests were blocked. None of them changed anything. Examples:", total))
	top, hidden := r.list.Top()
	r.list.Renew(-1, top, hidden)
}

// refusalRow is one row: when, why, and from where with how many more like it.
type refusalRow struct {
	widgets.ListRow
	when, why, from *widgets.Line
}

func newRefusalRow() fyne.CanvasObject {
	r := &refusalRow{when: widgets.NewCaption(""), why: widgets.NewLine(""), from: widgets.NewCaption("")}
	r.why.Shorten, r.why.Begins = true, true
	icon := widget.NewIcon(theme.MarkEnded.Resource())
	r.Lines, r.Content = []*widgets.Line{r.why, r.from}, widgets.PadHV(12, 4, widgets.Across(widgets.Row(8, widgets.Wide(92, r.when), icon), widgets.Stack(1, r.why, r.from), nil))
	r.ExtendBaseWidget(r)
	return r
}

func (r *refusals) update(id int, o fyne.CanvasObject) {
	row, refusal := o.(*refusalRow), r.rows[id]
	row.when.Text, row.why.Text = i18n.Clock(r.screen.env.Now(), refusal.Time), i18n.Message(refusal.Reason)
	from := i18n.V{"Address": refusal.Remote, "N": refusal.More}
	switch {
	case refusal.More > 0 && refusal.Remote != "":
		row.from.Text = lang.L("from {{.Address}}, and {{.N}} more of this kind", from)
	case refusal.More > 0:
		row.from.Text = lang.L("and {{.N}} more of this kind", from)
	case refusal.Remote != "":
		row.from.Text = lang.L("from {{.Address}}", from)
	default:
		row.from.Text = ""
	}
	row.Shown()
}

// maxShown is how many bytes of a body are shown: laying out more would hold up the window. Copy takes all.
const maxShown = 16 << 10

// eventDetail shows one event whole: what is known about it, and its body as it came.
type eventDetail struct {
	screen  *Screen
	event   event
	content *fyne.Container
	page    *container.Scroll // what content shows of an event
	body    *widgets.Selectable
	note    *widgets.Line
	ids     *fyne.Container   // what only somebody technical asks for
	details fyne.CanvasObject // with the body
}

func (l *eventDetail) build(s *Screen) {
	l.screen = s
	l.content, l.page = container.NewStack(), widgets.NewVScroll(layout.NewSpacer())
	l.body = widgets.NewSelectable("")
	l.body.TextStyle = fyne.TextStyle{Monospace: true}
	l.note = widgets.NewCaption(lang.L("Only the beginning is shown. Copy includes everything."))
	l.ids = widgets.Stack(0)
	l.details = widgets.NewFold(lang.L("Technical details"), false, widgets.Stack(14, l.ids, l.paper()))
}

// show shows an event; the same one again keeps the view.
func (l *eventDetail) show(e event) {
	var old fyne.Position
	if len(l.content.Objects) > 0 && l.event.ID == e.ID {
		if same(l.event, e) {
			return
		}
		old = l.page.Offset
	}
	l.event = e
	page := widgets.Stack(16, l.head(), l.facts(), l.buttons(), l.details)
	widgets.Turn(l.page, widgets.PadHV(16, 12, page), old)
	if len(l.content.Objects) == 0 {
		widgets.Remake(l.content, l.page)
	}
	l.showBody()
}

func same(a, b event) bool {
	return a.ID == b.ID && a.Outcome == b.Outcome && a.Reason == b.Reason && a.Copies == b.Copies && a.name == b.name
}

func (l *eventDetail) head() fyne.CanvasObject {
	mark, word := i18n.EventState(l.event.Event)
	state, _ := widgets.MarkLine(mark, word)
	title := widgets.NewFullName(i18n.EventKind(l.event.Event))
	title.Bold, title.Scale = true, theme.Title
	head := widgets.Stack(6, widgets.Aside(240, title, state))
	if !l.event.Reason.IsZero() {
		why := widget.NewLabel(i18n.Message(l.event.Reason))
		why.Wrapping = fyne.TextWrapWord
		head.Add(widgets.On(theme.Wash, why))
	}
	return head
}

// facts are what is known about an event, as lines of a name and a value that can be selected.
func (l *eventDetail) facts() fyne.CanvasObject {
	e, now := l.event, l.screen.env.Now()
	list := widgets.Stack(0)
	add := func(to *fyne.Container, name, value string) {
		if value != "" {
			to.Add(widgets.Across(widgets.Wide(96, widgets.NewCaption(name)), widgets.NewSelectable(value), nil))
		}
	}
	add(list, lang.L("Package"), nameOf(e))
	add(list, lang.L("Occurred"), i18n.Exactly(now, e.Time))
	add(list, lang.L("Received"), i18n.Exactly(now, e.Received))
	if e.Copies > 0 {
		add(list, lang.L("Received again"), lang.N("{{.PluralCount}} times", e.Copies))
	}
	widgets.Remake(l.ids)
	add(l.ids, lang.L("Processed"), i18n.Exactly(now, e.Handled))
	add(l.ids, lang.L("Verified"), lang.L("Event signature valid for {{.Address}}", i18n.V{"Address": e.URL}))
	add(l.ids, lang.L("Event ID"), e.ID)
	return list
}

func (l *eventDetail) buttons() fyne.CanvasObject {
	var buttons []fyne.CanvasObject
	if l.event.Outcome == office.EventUnprocessable {
		again := widgets.NewButtonWithIcon(lang.L("Try again"), fynetheme.ViewRefreshIcon(), nil)
		again.OnTapped = func() { again.Disable(); l.retry(again.Enable) }
		buttons = append(buttons, again)
	}
	if l.event.name != "" {
		buttons = append(buttons, widgets.NewButtonWithIcon(lang.L("Show the package"), fynetheme.StorageIcon(), l.openPackage))
	}
	return widgets.Row(8, buttons...)
}

func (l *eventDetail) openPackage() {
	if l.event.name != "" {
		l.screen.env.Go.ShowPackage(l.event.PackageID)
	}
}

// retry has the event handled once more; failed is called when that cannot be.
func (l *eventDetail) retry(failed func()) {
	id := l.event.ID
	async.Try(l.screen.env.Work, func(context.Context) error { return l.screen.office.RetryEvent(id) }, func(err error) {
		if err != nil {
			failed()
			l.screen.env.Notice(i18n.Error(err))
		}
		l.screen.Reload()
	})
}

func (l *eventDetail) paper() fyne.CanvasObject {
	copyAll := widgets.NewButtonWithIcon(lang.L("Copy"), fynetheme.ContentCopyIcon(), func() {
		l.screen.env.Copy(text(l.event.Body))
		l.screen.env.Notice(lang.L("The event was copied."))
	})
	return widgets.Stack(6, widgets.Card(widgets.Small(l.body)), l.note, widgets.Row(0, copyAll))
}

func text(body []byte) string { return strings.ToValidUTF8(string(body), "\uFFFD") }

// showBody shows the body with its lines set in, or as it is where it is no JSON.
func (l *eventDetail) showBody() {
	shown := text(l.event.Body)
	var pretty bytes.Buffer
	if json.Indent(&pretty, l.event.Body, "", "  ") == nil {
		shown = text(pretty.Bytes())
	}
	l.note.Hidden = len(shown) <= maxShown
	if len(shown) > maxShown {
		shown = strings.ToValidUTF8(shown[:maxShown], "") + "…"
	}
	l.body.SetText(shown)
	l.note.Refresh()
}
