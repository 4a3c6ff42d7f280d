package activity

import (
	"context"
	"sync"
	"sync/atomic"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

const (
	pageLength = 200   // events that are read at a time
	maxAnew    = 2_000 // events that are read anew after a change; older ones stay as they were read
	nearTheEnd = 20    // rows before the last that ask for the next page
)

// event is an event with the name of its package.
type event struct {
	office.Event
	name string
}

// mostNames is how many names are remembered.
const mostNames = 10_000

// names finds the names of packages. Safe for concurrent use.
type names struct {
	office env.Office
	mu     sync.Mutex
	known  map[string]string
}

func (n *names) of(id string) string {
	if id == "" {
		return ""
	}
	n.mu.Lock()
	name, known := n.known[id]
	n.mu.Unlock()
	if known {
		return name
	}
	row, found, err := n.office.Package(id)
	if err != nil || !found || row.Name == "" {
		return "" // it may get one later; its id is shown
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.known) >= mostNames {
		clear(n.known)
	}
	n.known[id] = row.Name
	return row.Name
}

// page reads a page of events, newest first; next is empty when it was the last.
func (n *names) page(before office.Cursor, limit int) (page []event, next office.Cursor, err error) {
	list, next, err := n.office.Events(before, limit)
	if err != nil {
		return nil, "", err
	}
	page = make([]event, len(list))
	for i, e := range list {
		page[i] = event{e, n.of(e.PackageID)}
	}
	if len(list) < limit {
		next = ""
	}
	return page, next, nil
}

// events is the tab of the events, newest first, of which as many pages are read as the person has looked at.
type events struct {
	screen      *Screen
	list        *widgets.List
	eventDetail eventDetail // the chosen event
	split       fyne.CanvasObject
	empty       fyne.CanvasObject
	rows        []event
	next        office.Cursor // where the next page begins; empty when there is none
	reading     bool
	chosen      string       // event id
	wanted      atomic.Int32 // how many are to be read anew
}

func (v *events) build(s *Screen) {
	v.screen = s
	v.wanted.Store(pageLength)
	v.list = widgets.NewList(func() int { return len(v.rows) }, newEventRow, v.update)
	v.list.HideSeparators = true
	v.list.Says = func() string { return lang.L("Events") }
	v.list.OnSelected = func(id int) {
		v.list.Chose(id)
		v.choose(id)
	}
	v.list.OnEnter = func() { v.eventDetail.openPackage() }
	v.eventDetail.build(s)
	split := container.NewHSplit(widgets.PadHV(8, 4, v.list), v.eventDetail.content)
	split.SetOffset(0.45)
	v.split = split
	v.empty = widgets.Empty(fynetheme.MailComposeIcon(), lang.L("No events yet. One arrives each time someone signs."), "", nil)
}

func (v *events) content() fyne.CanvasObject {
	if len(v.rows) == 0 {
		return v.empty
	}
	return v.split
}

// fill takes the newest events; those behind them stay.
func (v *events) fill(fresh []event, next office.Cursor) {
	top, hidden := v.list.Top()
	anchor := ""
	if top > 0 && top < len(v.rows) {
		anchor = v.rows[top].ID
	}
	v.rows, v.next = merge(v.rows, v.next, fresh, next)
	if row := v.rowOf(anchor); row >= 0 {
		top = row
	}
	v.list.Renew(v.rowOf(v.chosen), top, hidden)
	if len(v.rows) > 0 {
		v.choose(max(0, v.rowOf(v.chosen)))
	}
}

// merge puts fresh, the newest events, in front of those that were read before. When the two do not meet, because so
// many came meanwhile, the old ones are dropped: a list never has a gap.
func merge(old []event, oldNext office.Cursor, fresh []event, next office.Cursor) ([]event, office.Cursor) {
	if len(fresh) == 0 || next == "" {
		return fresh, next
	}
	last := fresh[len(fresh)-1].ID
	for i := range old {
		if old[i].ID == last {
			return append(fresh, old[i+1:]...), oldNextOr(next, oldNext, len(old)-i-1)
		}
	}
	return fresh, next
}

// oldNextOr is the cursor behind the old events where some of them stay, else that behind the fresh ones.
func oldNextOr(next, oldNext office.Cursor, stay int) office.Cursor {
	if stay > 0 {
		return oldNext
	}
	return next
}

func (v *events) rowOf(id string) int {
	for i := range v.rows {
		if v.rows[i].ID == id {
			return i
		}
	}
	return -1
}

func (v *events) choose(row int) {
	v.chosen = v.rows[row].ID
	v.eventDetail.show(v.rows[row])
}

// more reads the next page, when there is one.
func (v *events) more() {
	if v.reading || v.next == "" {
		return
	}
	v.reading = true
	from := v.next
	type page struct {
		rows []event
		next office.Cursor
	}
	async.Then(v.screen.env.Work, func(context.Context) (p page, err error) {
		p.rows, p.next, err = v.screen.names.page(from, pageLength)
		return p, err
	}, func(p page, err error) {
		v.reading = false
		if err != nil {
			v.screen.env.Notice(i18n.Error(err))
			return // scrolling on asks once more
		}
		if v.next != from {
			return // dropped meanwhile
		}
		v.rows, v.next = append(v.rows, p.rows...), p.next
		v.wanted.Store(int32(min(len(v.rows), maxAnew)))
		v.list.Refresh()
	})
}

// eventRow is one row: kind and time, then the package and what became of the event.
type eventRow struct {
	widgets.ListRow
	kind, when, name, state *widgets.Line
	mark                    *widget.Icon
}

func newEventRow() fyne.CanvasObject {
	r := &eventRow{kind: widgets.NewTitle(""), when: widgets.NewCaption(""), name: widgets.NewCaption(""), state: widgets.NewCaption(""),
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
	if mark == theme.MarkProblem {
		r.state.Colour = theme.Attention
	}
	r.mark.SetResource(mark.Resource())
	r.Shown()
	if id >= len(v.rows)-nearTheEnd {
		v.more()
	}
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
