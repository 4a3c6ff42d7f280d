// Package activity is the screen of what happened in the office, in words. Behind it is the technical log, for whoever asks for
// support: every event of the signing service as it came, and samples of the requests that were refused. It reads from the office,
// asks it to handle an event once more, and writes events to a file; it decides nothing itself.
package activity

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
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
	export  *widgets.Button
	stop    context.CancelFunc // ends the export that runs; nil while none does
	body    *fyne.Container    // one of the two lists, or why there is none
	content *fyne.Container
	diary   fyne.CanvasObject // the page of what happened
	log     fyne.CanvasObject // the page of the technical log
	blocked *fyne.Container   // what was refused, below the head of the log

	last     news  // that was shown
	loaded   bool  // the office has told: before, an empty list says nothing
	failure  error // why it has not
	happened *feed[row]
	events   *feed[event]
}

func New(d *env.Env, o Office) *Screen {
	s := &Screen{env: d, office: o, body: container.NewStack(), blocked: widgets.Stack(2)}
	s.reader = async.NewReader(d.Work, s.read, s.fill)
	s.happened = newFeed(lang.L("Activity"), row.is, s.showRow, s.openRow)
	s.events = newFeed(lang.L("All events"), event.is, s.showEvent, s.openEvent)
	s.export = widgets.NewButtonWithIcon("", fynetheme.DocumentSaveIcon(), s.pressExport).Quiet()
	s.offerExport()
	toLog := widgets.NewButton(lang.L("All events"), s.ShowEvents).Quiet()
	s.diary = widgets.PadHV(20, 12, widgets.AtMost(784, widgets.Across(nil, widgets.NewHeading(lang.L("Activity")), toLog)))
	back := widgets.Row(0, widgets.NewLink("‹ "+lang.L("Activity"), s.ShowDiary))
	what := widgets.NewProse(lang.L("What the signing service reported, as it arrived. Support may ask for it."))
	s.log = widgets.PadHV(20, 6, widgets.AtMost(784, widgets.Stack(2, back, widgets.Across(nil, widgets.NewHeading(lang.L("All events")), s.export), what, s.blocked)))
	s.content = container.NewStack()
	s.ShowDiary()
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
	s.fill(old.last, nil)
	s.happened.follow(old.happened)
	s.events.follow(old.events)
	if old.logged() {
		s.ShowEvents()
	}
}

func (s *Screen) ShowDiary() { s.turn(s.diary) }

func (s *Screen) ShowEvents() { s.turn(s.log) }

func (s *Screen) ChooseEvent(row int) { s.openEvent(s.events.rows[row]) }

func (s *Screen) turn(head fyne.CanvasObject) {
	widgets.Remake(s.content, widgets.Frame(head, nil, nil, s.body))
	s.show()
}

// logged says whether the technical log is shown.
func (s *Screen) logged() bool {
	return slices.Contains(s.content.Objects[0].(*fyne.Container).Objects, s.log)
}

type news struct {
	happened []row
	events   []event
	refused  []agent.Refusal
	rejected int
}

func (s *Screen) read(context.Context) (n news, err error) {
	status, err := s.office.Status()
	if err != nil {
		return n, err
	}
	n.refused, n.rejected = s.office.Refused(), status.Events.Rejected
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
	if s.failure = err; err == nil {
		s.loaded, s.last = true, n
		s.happened.fill(n.happened, func(r row) string { return r.day })
		s.events.fill(n.events, func(e event) string { return i18n.NamedDay(s.env.Now(), e.Received) })
		s.showBlocked(n.refused, n.rejected)
	}
	s.show()
}

func (s *Screen) show() {
	var now fyne.CanvasObject = s.happened.page
	empty := len(s.happened.rows) == 0
	if s.logged() {
		now, empty = s.events.page, len(s.events.rows) == 0
	}
	switch {
	case !s.loaded && s.failure != nil:
		now = widgets.Failure(i18n.Error(s.failure), s.Reload)
	case !s.loaded:
		now = container.NewStack()
	case empty && s.logged():
		now = widgets.Empty(theme.MarkLater.Resource(), lang.L("No events yet. One arrives each time someone signs."), "", nil)
	case empty:
		now = widgets.Empty(theme.Icon("activity", theme.Secondary), lang.L("Nothing has happened yet."), "", nil)
	}
	widgets.Remake(s.body, now)
}

// feed is a list of what came, newest first, under the days.
type feed[T any] struct {
	rows []T
	same func(a, b T) bool // whether one is the other, read anew
	list *widgets.List
	page fyne.CanvasObject
}

func newFeed[T any](name string, same func(a, b T) bool, show func(T, *line), open func(T)) *feed[T] {
	f := &feed[T]{same: same}
	f.list = widgets.NewList(func() int { return len(f.rows) }, func() fyne.CanvasObject { return newLine() }, func(id int, o fyne.CanvasObject) {
		l := o.(*line)
		l.press = func() { open(f.rows[id]) }
		show(f.rows[id], l)
		l.Shown()
	})
	f.list.HideSeparators = true
	f.list.Says = func() string { return name }
	f.list.OnEnter = func() { open(f.rows[f.list.At()]) }
	f.page = widgets.PadHV(8, 8, widgets.AtMost(784, f.list))
	return f
}

// fill shows other rows. The chosen one and those in sight stay where they are.
func (f *feed[T]) fill(rows []T, day func(T) string) {
	old := f.rows
	now := func(at int) int {
		if at < 0 || at >= len(old) {
			return -1
		}
		return slices.IndexFunc(rows, func(r T) bool { return f.same(old[at], r) })
	}
	top, hidden := f.list.Top()
	chosen := now(f.list.At())
	if top > 0 {
		top = max(0, now(top))
	}
	f.rows = rows
	var heads []widgets.Head
	for i, r := range rows {
		if i == 0 || day(r) != day(rows[i-1]) {
			heads = append(heads, widgets.Head{Row: i, Text: day(r)})
		}
	}
	f.list.Renew(chosen, top, hidden, heads...)
}

// follow has the list stand as another one does.
func (f *feed[T]) follow(old *feed[T]) {
	f.list.Select(old.list.At())
	f.list.ScrollToOffset(old.list.GetScrollOffset())
}

// line shows a row: a shape, what, when, and whether a press leads somewhere.
type line struct {
	widgets.ListRow
	title, below, when *widgets.Line
	mark, leads        *widget.Icon
	press              func()
}

func newLine() *line {
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

// set shows what is said of a row. What leads somewhere stands out.
func (l *line) set(title, below, when string, mark theme.Mark, leads bool) {
	l.title.Text, l.below.Text, l.when.Text = title, below, when
	l.title.Bold, l.title.Colour, l.below.Colour = leads, theme.Text, theme.Secondary
	if !leads && mark != theme.MarkProblem {
		l.title.Colour = theme.Secondary
	}
	if mark == theme.MarkProblem {
		l.below.Colour = theme.Attention
	}
	l.mark.SetResource(mark.Resource())
	l.below.Hidden, l.leads.Hidden = below == "", !leads
}

// row is what happened to a package on a day, newest first, or something that concerns none.
type row struct {
	entries []office.Activity
	name    string // of the package, and who signs it where another one has the same name
	kind    string // the most telling
	day     string
}

// grouped makes rows of what happened, newest first. What concerns no package stands alone.
func grouped(o Office, now time.Time, entries []office.Activity) (rows []row) {
	at, signed := map[string]int{}, map[string]map[string]string{} // of each name, its packages and who signs them
	for _, e := range entries {
		day := e.When().In(now.Location())
		of := e.PackageID + day.Format(time.DateOnly)
		i, known := at[of]
		if !known || e.PackageID == "" {
			i, at[of] = len(rows), len(rows)
			rows = append(rows, row{kind: e.Kind, day: i18n.NamedDay(now, day)})
			if e.PackageID != "" {
				if p, found, err := o.Package(e.PackageID); err == nil && found {
					var who []string
					for _, s := range p.Signers {
						who = append(who, i18n.Name(s))
					}
					if rows[i].name = p.Name; signed[p.Name] == nil {
						signed[p.Name] = map[string]string{}
					}
					signed[p.Name][p.ID] = i18n.Names(who)
				}
			}
		}
		r := &rows[i]
		r.entries = append(r.entries, e)
		if slices.Index(tells, markOf(e.Kind)) < slices.Index(tells, markOf(r.kind)) {
			r.kind = e.Kind
		}
	}
	for i := range rows {
		if r := &rows[i]; len(signed[r.name]) > 1 {
			r.name += " · " + signed[r.name][r.last().PackageID]
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return b.last().When().Time.Compare(a.last().When().Time) })
	return rows
}

func (r row) last() office.Activity { return r.entries[0] }

func (r row) is(x row) bool {
	a, b := r.last(), x.last()
	return a == b || a.PackageID != "" && a.PackageID == b.PackageID && r.day == x.day
}

// mostSaid is how many things a row says of a package: its page has the rest.
const mostSaid = 3

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
	return i18n.Title(r.name), strings.Join(list[:min(len(list), mostSaid)], " · ")
}

func (s *Screen) showRow(r row, l *line) {
	at := r.last().When()
	title, below := r.says()
	l.set(title, below, i18n.When(at.Time, at), markOf(r.kind), r.last().PackageID != "") // the day stands above
}

func (s *Screen) openRow(r row) {
	if id := r.last().PackageID; id != "" {
		s.env.Go.ShowPackage(id)
	}
}

// tells are the marks of what happened, the most telling first.
var tells = []theme.Mark{theme.MarkProblem, theme.MarkEnded, theme.MarkSaved, theme.MarkSigned, theme.MarkLater}

func markOf(kind string) theme.Mark {
	return cmp.Or(map[string]theme.Mark{"saved": theme.MarkSaved, "event": theme.MarkSigned, "signed": theme.MarkSigned, "executed": theme.MarkSigned,
		"withdrawn": theme.MarkEnded, "problem": theme.MarkProblem, "failed": theme.MarkProblem}[kind], theme.MarkLater)
}
