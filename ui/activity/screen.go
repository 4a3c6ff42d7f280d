// Package activity is the screen of what happened: the office's own diary in words, every event of the signing service
// as it came, and samples of the requests that were refused. It reads from the office page by page, asks it to handle
// an event once more, and writes events to a file; it decides nothing itself.
package activity

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
	"fyne.io/fyne/v2/widget"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/theme"
	"countersign/ui/widgets"
)

const (
	tabHappened = iota
	tabEvents
	tabRefused
)

// most is how many lines of the diary, and how many events, are listed.
const most = 500

type Office interface {
	Package(id string) (row office.PackageRow, known bool, err error)
	Events(before office.Cursor, limit int) (page []office.Event, next office.Cursor, err error)
	Refused() []agent.Refusal
	RetryEvent(eventID string) error
	Activity(limit int) ([]office.Activity, error)
	Status() (agent.Status, error)
}

// Screen is the activity screen. All methods belong to the window's goroutine.
type Screen struct {
	env     *env.Env
	office  Office
	reader  *async.Reader[news]
	tabs    *widgets.Tabs
	export  *widgets.Button
	stop    context.CancelFunc // ends the export that runs; nil while none does
	body    *fyne.Container
	content fyne.CanvasObject

	last     news  // that was shown
	loaded   bool  // the office has told: before, an empty list says nothing
	failure  error // why it has not
	happened diary
	events   events
	refused  refusals
}

func New(d *env.Env, o Office) *Screen {
	s := &Screen{env: d, office: o, body: container.NewStack()}
	s.reader = async.NewReader(d.Work, s.read, s.fill)
	s.happened.build(s)
	s.events.build(s)
	s.refused.build(s)
	s.tabs = widgets.NewTabs(tabTexts(agent.EventCounts{}), func(int) { s.show() })
	s.export = widgets.NewButtonWithIcon(lang.L("Export as CSV…"), fynetheme.DocumentSaveIcon(), s.pressExport)
	head := widgets.PadHV(20, 12, widgets.Across(nil, widgets.NewHeading(lang.L("Activity")), s.export))
	s.content = widgets.Frame(container.NewVBox(head, widgets.PadHV(14, 0, s.tabs)), nil, nil, s.body)
	s.show()
	return s
}

func (s *Screen) Content() fyne.CanvasObject { return s.content }

// Reload reads everything anew, beside the window's goroutine. Choices and views stay where they are.
func (s *Screen) Reload() { s.reader.Ask() }

// Continue shows what another screen of the same office showed, in the same place: the window was given another language.
func (s *Screen) Continue(old *Screen) {
	if !old.loaded {
		return
	}
	s.events.chosen = old.events.chosen
	s.fill(old.last, nil)
	s.tabs.Choose(old.tabs.Chosen())
	for list, before := range map[*widgets.List]*widgets.List{s.happened.list: old.happened.list, s.events.list: old.events.list, s.refused.list: old.refused.list} {
		top, hidden := before.Top()
		list.Renew(before.At(), top, hidden)
	}
}

func (s *Screen) ShowEvents() { s.tabs.Choose(tabEvents) }

func (s *Screen) ChooseEvent(row int) { s.events.list.Select(row) }

func (s *Screen) ShowRefused() { s.tabs.Choose(tabRefused) }

type news struct {
	happened []row
	events   []event
	refused  []agent.Refusal
	counts   agent.EventCounts
}

func (s *Screen) read(context.Context) (n news, err error) {
	status, err := s.office.Status()
	if err != nil {
		return n, err
	}
	n.refused, n.counts = s.office.Refused(), status.Events
	happened, err := s.office.Activity(most)
	if err != nil {
		return n, err
	}
	n.happened = grouped(s.office, s.env.Now(), happened)
	n.events, _, err = readPage(s.office, "", most)
	return n, err
}

// fill shows what was read. When it could not be read, what was there stays, and health says why; before, the screen does.
func (s *Screen) fill(n news, err error) {
	if err != nil {
		s.failure = err
		s.show()
		return
	}
	s.loaded, s.last = true, n
	s.happened.fill(n.happened)
	s.events.fill(n.events)
	s.refused.fill(n.refused, n.counts.Rejected)
	s.tabs.Label(tabTexts(n.counts))
	s.show()
}

func tabTexts(counts agent.EventCounts) []string {
	texts := []string{lang.L("History"), lang.L("Events"), lang.L("Blocked")}
	for i, n := range []int{0, counts.Received, counts.Rejected} {
		if n > 0 {
			texts[i] = fmt.Sprintf("%s %d", texts[i], n)
		}
	}
	return texts
}

var nothing = layout.NewSpacer()

func (s *Screen) show() {
	tab := s.tabs.Chosen()
	now := [...]fyne.CanvasObject{s.happened.page, s.events.page, s.refused.page}[tab]
	switch {
	case !s.loaded && s.failure != nil:
		now = widgets.Failure(i18n.Error(s.failure), s.Reload)
	case !s.loaded:
		now = nothing
	case [...]int{len(s.happened.rows), len(s.events.rows), len(s.refused.rows)}[tab] == 0:
		now = [...]fyne.CanvasObject{s.happened.empty, s.events.empty, s.refused.empty}[tab]
	}
	if len(s.body.Objects) == 0 || s.body.Objects[0] != now {
		widgets.Remake(s.body, now)
	}
	s.export.Hidden = tab != tabEvents
	s.export.Refresh()
}

// diary is the tab of what happened, newest first, under the day: what happened to a package on a day is one row.
type diary struct {
	screen *Screen
	rows   []row
	list   *widgets.List
	page   fyne.CanvasObject
	empty  fyne.CanvasObject
}

// row is what happened to a package on a day, newest first, or something that concerns none.
type row struct {
	entries []office.Activity
	name    string // of the package
	kind    string // the most telling
	day     string
}

// grouped makes rows of what happened, newest first. What concerns no package stands alone.
func grouped(o Office, now time.Time, entries []office.Activity) (rows []row) {
	at := map[string]int{}
	for _, e := range entries {
		day := e.When().In(now.Location())
		of := e.PackageID + day.Format(time.DateOnly)
		i, known := at[of]
		if !known || e.PackageID == "" {
			i, at[of] = len(rows), len(rows)
			rows = append(rows, row{kind: e.Kind, day: i18n.NamedDay(now, day)})
			if e.PackageID != "" {
				if p, found, err := o.Package(e.PackageID); err == nil && found {
					rows[i].name = p.Name
				}
			}
		}
		r := &rows[i]
		r.entries = append(r.entries, e)
		if slices.Index(tells, markOf(e.Kind)) < slices.Index(tells, markOf(r.kind)) {
			r.kind = e.Kind
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return b.last().When().Time.Compare(a.last().When().Time) })
	return rows
}

func (r row) last() office.Activity { return r.entries[0] }

// is says whether x is the same row, read anew.
func (r row) is(x row) bool {
	a, b := r.last(), x.last()
	return a == b || a.PackageID != "" && a.PackageID == b.PackageID && r.day == x.day
}

// says is a row in words: the package or what happened, and below it what there is to say about that.
func (r row) says() (title, below string) {
	e := r.last()
	if e.PackageID == "" {
		return i18n.Words().Lines(e.Text)
	}
	saved := 0
	var list []string
	for _, e := range r.entries {
		text := i18n.Brief(e.Text)
		switch {
		case e.Kind == "saved":
			saved++
		case markOf(e.Kind) == theme.MarkProblem:
			list = slices.Insert(list, 0, text)
		case !slices.Contains(list, text):
			list = append(list, text)
		}
	}
	if saved > 0 {
		list = slices.Insert(list, 0, lang.N("{{.PluralCount}} files saved", saved))
	}
	return i18n.Title(r.name), strings.Join(list, " · ")
}

func (d *diary) build(s *Screen) {
	d.screen = s
	d.list = widgets.NewList(func() int { return len(d.rows) }, func() fyne.CanvasObject { return d.newLine() }, d.update)
	d.list.HideSeparators = true
	d.list.Says = func() string { return lang.L("Activity") }
	d.list.OnEnter = func() { d.open(d.list.At()) }
	d.page = widgets.PadHV(8, 8, widgets.AtMost(784, d.list))
	d.empty = widgets.Empty(fynetheme.HistoryIcon(), lang.L("Nothing has happened yet."), "", nil)
}

// fill shows other rows. The chosen one and those in sight stay where they are.
func (d *diary) fill(rows []row) {
	old := d.rows
	now := func(at int) int {
		if at < 0 || at >= len(old) {
			return -1
		}
		return slices.IndexFunc(rows, old[at].is)
	}
	top, hidden := d.list.Top()
	chosen := now(d.list.At())
	if top > 0 {
		top = max(0, now(top))
	}
	d.rows = rows
	var heads []widgets.Head
	for i, r := range rows {
		if i == 0 || r.day != rows[i-1].day {
			heads = append(heads, widgets.Head{Row: i, Text: r.day})
		}
	}
	d.list.Renew(chosen, top, hidden, heads...)
}

func (d *diary) open(at int) {
	if at >= 0 && at < len(d.rows) && d.rows[at].last().PackageID != "" {
		d.screen.env.Go.ShowPackage(d.rows[at].last().PackageID)
	}
}

// line shows a row: a shape, what, when, and for a package that a press leads to it.
type line struct {
	widgets.ListRow
	title, below, when *widgets.Line
	mark, leads        *widget.Icon
	press              func()
}

func (d *diary) newLine() *line {
	l := &line{title: widgets.NewName(""), below: widgets.NewCaption(""), when: widgets.NewCaption("").Whole(), mark: widget.NewIcon(theme.MarkLater.Resource()),
		leads: widget.NewIcon(fynetheme.NewColoredResource(fynetheme.MenuExpandIcon(), theme.Secondary))}
	l.title.Begins, l.below.Begins = true, true
	l.Lines, l.Content = []*widgets.Line{l.title, l.below}, widgets.PadHV(12, 8, widgets.Across(widgets.Row(0, widgets.Mark(20, l.mark)),
		widgets.Stack(3, l.title, l.below), widgets.Row(4, l.when, widgets.Mark(18, l.leads))))
	l.ExtendBaseWidget(l)
	return l
}

func (l *line) Tapped(e *fyne.PointEvent) {
	l.ListRow.Tapped(e)
	l.press()
}

func (d *diary) update(id int, o fyne.CanvasObject) {
	l, x := o.(*line), d.rows[id]
	at, wrong := x.last().When(), markOf(x.kind) == theme.MarkProblem
	l.title.Text, l.below.Text = x.says()
	l.title.Bold, l.below.Hidden = x.last().PackageID != "", l.below.Text == ""
	l.when.Text = i18n.When(at.Time, at) // the day stands above
	l.below.Colour = theme.Secondary
	if wrong {
		l.below.Colour = theme.Attention
	}
	l.mark.SetResource(markOf(x.kind).Resource())
	l.leads.Hidden = x.last().PackageID == ""
	l.press = func() { d.open(id) }
	l.Shown()
}

// tells are the marks of what happened, the most telling first.
var tells = []theme.Mark{theme.MarkProblem, theme.MarkEnded, theme.MarkSaved, theme.MarkSigned, theme.MarkLater}

func markOf(kind string) theme.Mark {
	return cmp.Or(map[string]theme.Mark{"saved": theme.MarkSaved, "event": theme.MarkSigned, "signed": theme.MarkSigned, "executed": theme.MarkSigned,
		"withdrawn": theme.MarkEnded, "problem": theme.MarkProblem, "failed": theme.MarkProblem}[kind], theme.MarkLater)
}
