// Package activity is the screen of what happened in the office, in words. Behind it, for support, is the technical log: every event
// of the signing service as received, and samples of refused requests. It reads from the office, asks it to process an event again,
// and writes events to a file; it decides nothing itself.
package activity

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/ui/async"
	"countersign/ui/browse"
	"countersign/ui/env"
	"countersign/ui/i18n"
	"countersign/ui/system"
	"countersign/ui/theme"
	"countersign/ui/widgets"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"
	fynetheme "fyne.io/fyne/v2/theme"
)

// most is how many diary lines, and how many events, are listed.
const most = 500

type Office interface {
	Package(id string) (row office.PackageRow, known bool, err error)
	Events(before office.Cursor, limit int) (page []office.EventRow, next office.Cursor, err error) // next is empty for the last page
	Refused() []agent.Refusal
	RetryEvent(eventID string) error
	Activity(limit int) ([]office.Activity, error)
	Lists() ([]office.Bulk, error)
	SentList(id string) (office.BulkProgress, []office.BulkResult, bool, error)
	Status() (agent.Status, error)
}

// Screen is the activity screen. Only the UI goroutine may call its methods.
type Screen struct {
	env     *env.Env
	office  Office
	reader  *async.Reader[news]
	export  *widgets.Button
	stop    context.CancelFunc // stops the running export; nil if none
	body    *fyne.Container    // one of the two lists, or why it is empty
	content *fyne.Container
	diary   fyne.CanvasObject // what happened
	log     fyne.CanvasObject // the technical log
	blocked *fyne.Container   // refused requests, below the log's head

	last     news  // shown last
	loaded   bool  // read at least once: before that, an empty list means nothing
	failure  error // why it could not be read
	happened *feed[row]
	events   *feed[office.EventRow]
}

func New(d *env.Env, o Office) *Screen {
	s := &Screen{env: d, office: o, body: container.NewStack(), blocked: widgets.Stack(2)}
	s.reader = async.NewReader(d.Work, s.read, s.fill)
	s.happened = newFeed(lang.L("Activity"), row.is, s.showRow, s.openRow)
	s.events = newFeed(lang.L("All events"), same, s.showEvent, s.openEvent)
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

// Reload reads everything again, off the UI goroutine. Choices and scroll positions stay.
func (s *Screen) Reload() { s.reader.Ask() }

// Continue takes over the view of an earlier screen of the same office after the window's language changed.
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

// logged reports whether the technical log is shown.
func (s *Screen) logged() bool {
	return slices.Contains(s.content.Objects[0].(*fyne.Container).Objects, s.log)
}

type news struct {
	happened []row
	events   []office.EventRow
	refused  []agent.Refusal
	rejected int
	deaf     bool // without a public address, the service reports no events
}

func (s *Screen) read(context.Context) (n news, err error) {
	status, err := s.office.Status()
	if err != nil {
		return n, err
	}
	n.refused, n.rejected, n.deaf = s.office.Refused(), status.Events.Rejected, status.Tunnel.Kind == string(office.TunnelNone)
	happened, err := s.office.Activity(most)
	if err != nil {
		return n, err
	}
	lists, err := s.office.Lists()
	if err != nil {
		return n, err
	}
	n.happened = grouped(s.office, s.env.Now(), happened, lists)
	n.events, _, err = s.office.Events("", most)
	return n, err
}

// fill shows what was read. If reading fails, the old content stays and health explains; without any, the screen shows the error.
func (s *Screen) fill(n news, err error) {
	if s.failure = err; err == nil {
		s.loaded, s.last = true, n
		s.happened.fill(n.happened, func(r row) string { return r.day })
		s.events.fill(n.events, func(e office.EventRow) string { return i18n.NamedDay(s.env.Now(), e.Received) })
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
	case empty && s.logged() && s.last.deaf:
		now = widgets.Empty(theme.MarkLater.Resource(), i18n.Message(message.NoAddress()), lang.L("Open settings"), func() { s.env.Go.ShowStep(message.StepAddress()) })
	case empty && s.logged():
		now = widgets.Empty(theme.MarkLater.Resource(), lang.L("No events yet. One arrives each time someone signs."), "", nil)
	case empty:
		now = widgets.Empty(theme.Icon("activity", theme.Secondary), lang.L("Nothing has happened yet."), "", nil)
	}
	widgets.Remake(s.body, now)
	s.offerExport()
}

// feed is a list of entries, newest first, grouped by day.
type feed[T any] struct {
	rows []T
	same func(a, b T) bool // whether both are the same entry, read at different times
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
	f.page = container.New(layout.NewCustomPaddedLayout(8, 8, 8, 0), f.list) // its scroll bar is at the window's edge
	return f
}

// fill replaces the rows. The chosen row and the visible ones stay in place.
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

// follow copies another feed's choice and scroll position.
func (f *feed[T]) follow(old *feed[T]) {
	f.list.Select(old.list.At())
	f.list.ScrollToOffset(old.list.GetScrollOffset())
}

// line shows a row: a shape, what, and when. What pressing it opens is bold.
type line struct {
	widgets.ListRow
	title, below, when *widgets.Line
	mark               *widgets.Avatar
	press              func()
}

func newLine() *line {
	l := &line{title: widgets.NewName(""), below: widgets.NewCaption(""), when: widgets.NewCaption("").Whole(), mark: widgets.NewAvatar("", theme.MarkLater)}
	l.below.Begins, l.Most = true, 808
	l.Lines, l.Content = []*widgets.Line{l.title, l.below}, widgets.PadHV(12, 8, widgets.Across(widgets.Mark(32, l.mark), widgets.Stack(3, l.title, l.below), l.when))
	l.ExtendBaseWidget(l)
	return l
}

func (l *line) Tapped(e *fyne.PointEvent) {
	l.ListRow.Tapped(e)
	l.press()
}

// set fills in a row. A row that opens something stands out.
func (l *line) set(title, below, when string, mark theme.Mark, leads bool) {
	l.title.Text, l.below.Text, l.when.Text = title, below, when
	l.title.Bold, l.title.Colour, l.below.Colour = leads, theme.Text, theme.Secondary
	l.title.Begins = !leads // a name keeps the end that tells it apart
	if !leads && mark != theme.MarkProblem {
		l.title.Colour = theme.Secondary
	}
	if mark == theme.MarkProblem {
		l.below.Colour = theme.Attention
	}
	l.mark.Set("", mark)
	l.mark.Hidden = mark == theme.MarkLater // what every day brings is quiet
	l.below.Hidden = below == ""
}

// row is what happened on a day, newest first, to a package, to the sending of a list, or to the program itself, or one other entry.
type row struct {
	entries []office.Activity
	about   string      // the package or list by its ID, routine, or empty for one other entry
	list    office.Bulk // empty if it is about no list
	name    string      // the package's name, with its signers if another one has the same name
	sent    int         // how many of the list's packages were sent, on whatever day; 0 if none of them on this one
	files   int         // how many files the package has; 0 if unknown
	mended  bool        // all of them are saved or sent, or it is withdrawn, so earlier problems are over
	ended   office.When // when the package could no longer be signed, which may be known better by now
	day     string
}

// routine is what every day brings: signing in, connections. Who was let into the office is not.
const routine = "routine"

var routines = []office.ActivityKind{office.ActivitySignedIn, office.ActivitySignedOut, office.ActivityEndpoint}

// together is how far apart routine shares a row.
const together = 2 * time.Minute

// grouped turns entries, newest first, into rows.
func grouped(o Office, now time.Time, entries []office.Activity, lists []office.Bulk) (rows []row) {
	at, signed := map[string]int{}, map[string]map[string]string{} // at: row by package and day; signed: each name's packages and their signers
	sent := map[string]int{}                                       // packages of each list
	for _, e := range entries {
		day := e.When().In(now.Location())
		r := row{about: e.PackageID, day: i18n.NamedDay(now, day)}
		n := slices.IndexFunc(lists, func(b office.Bulk) bool { return b.ID == e.List })
		if n >= 0 {
			r.about, r.list, r.name = e.List, lists[n], cmp.Or(strings.Join(lists[n].Documents, ", "), lists[n].File)
		} else if r.about == "" && slices.Contains(routines, e.Kind) {
			r.about = routine
		}
		of := r.about + day.Format(time.DateOnly)
		i, known := at[of]
		if known && r.about == routine { // it is one thing only if it happened together
			last := rows[i].entries[len(rows[i].entries)-1]
			known = last.When().Sub(e.When().Time) <= together
		}
		if !known || r.about == "" {
			i, at[of] = len(rows), len(rows)
			rows = append(rows, r)
			if r.list.ID == "" && e.PackageID != "" {
				if p, found, err := o.Package(e.PackageID); err == nil && found {
					var who []string
					for _, s := range p.Signers {
						who = append(who, i18n.Name(s))
					}
					stage := i18n.StageOf(p)
					rows[i].files, rows[i].mended, rows[i].ended = p.FilesTotal, stage == i18n.Saved || stage == i18n.Ended, p.Ended()
					if rows[i].name = p.Name; signed[p.Name] == nil {
						signed[p.Name] = map[string]string{}
					}
					signed[p.Name][p.ID] = i18n.Names(who)
				}
			}
		}
		if e.Kind == office.ActivityWithdrawn && !rows[i].ended.IsZero() {
			e.Happened = rows[i].ended
		}
		if rows[i].entries = append(rows[i].entries, e); e.List == rows[i].about && e.PackageID != "" {
			rows[i].sent++
			sent[e.List]++
		}
	}
	for _, b := range lists {
		if sent[b.ID] == 0 || sent[b.ID] == b.Lines { // reading all of its lines takes a moment
			continue
		}
		if p, _, known, err := o.SentList(b.ID); err == nil && known { // the entries are the latest ones
			sent[b.ID] = p.Sent
		}
	}
	for i := range rows {
		if r := &rows[i]; r.sent > 0 {
			r.sent, r.mended = sent[r.about], sent[r.about] == r.list.Lines
		}
	}
	for i := range rows {
		if r := &rows[i]; r.list.ID == "" && len(signed[r.name]) > 1 {
			r.name += " · " + signed[r.name][r.last().PackageID]
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return b.last().When().Time.Compare(a.last().When().Time) })
	return rows
}

func (r row) last() office.Activity { return r.entries[0] }

func (r row) is(x row) bool {
	a, b := r.last(), x.last()
	return a == b || r.about != "" && r.about == x.about && r.day == x.day && (r.about != routine || r.entries[len(r.entries)-1] == x.entries[len(x.entries)-1])
}

// leads reports whether there is something to open.
func (r row) leads() bool { return r.about != "" && r.about != routine }

// mostSaid limits what a row says of a package; its page has the rest.
const mostSaid = 3

// says returns a row's text: the package or the entry, and the details below.
func (r row) says() (title, below string) {
	if r.about == "" {
		return i18n.Words().Lines(r.last().Text)
	}
	var wrong, list []string // what needs somebody comes first
	var saved []message.Message
	again := 0
	executed := slices.ContainsFunc(r.entries, func(e office.Activity) bool { return e.Kind == office.ActivityExecuted })
	for _, e := range r.entries {
		text := i18n.Brief(e.Text)
		switch {
		case r.list.ID != "" && e.PackageID != "": // counted
		case r.list.ID != "" && e.Kind == office.ActivitySent && e != r.last(): // how far it is says it all
		case e.Kind == office.ActivitySaved && slices.Contains(saved, e.Text): // it had been lost
			again++
		case e.Kind == office.ActivitySaved:
			saved = append(saved, e.Text)
		case e.Kind == office.ActivityEvent && executed: // everyone has signed, which says it all
		case e.Kind == office.ActivityProblem && !r.mended:
			wrong = append(wrong, text)
		case !slices.Contains(list, text):
			list = append(list, text)
		}
	}
	if more := len(saved) - r.files; r.files > 0 && more > 0 { // saved again under other names
		saved, again = saved[more:], again+more
	}
	if again > 0 {
		list = slices.Insert(list, 0, lang.N("{{.PluralCount}} saved again", again))
	}
	if len(saved) > 0 {
		list = slices.Insert(list, 0, lang.N("{{.PluralCount}} files saved", len(saved)))
	}
	list = append(wrong, list...)
	title = i18n.Title(r.name)
	switch {
	case r.about == routine:
		title, list = list[0], list[1:]
	case r.sent > 0:
		all := lang.N("{{.PluralCount}} packages", r.list.Lines)
		list = slices.Insert(list, 0, lang.L("{{.Sent}} of {{.Packages}} sent", i18n.V{"Sent": r.sent, "Packages": all}))
	}
	if r.leads() {
		list = list[:min(len(list), mostSaid)]
	}
	return title, strings.Join(list, " · ")
}

func (s *Screen) showRow(r row, l *line) {
	at := r.last().When()
	title, below := r.says()
	l.set(title, below, i18n.When(at.Time, at), r.mark(), r.leads()) // the head names the day
}

func (s *Screen) openRow(r row) {
	switch {
	case r.list.ID != "":
		s.env.Go.ShowList(r.list.ID)
	case r.leads():
		s.env.Go.ShowPackage(r.about)
	}
}

// tells lists the marks, most important first.
var tells = []theme.Mark{theme.MarkProblem, theme.MarkEnded, theme.MarkSaved, theme.MarkSigned, theme.MarkNext, theme.MarkSent, theme.MarkLater}

// mark returns the most important one.
func (r row) mark() theme.Mark {
	best := theme.MarkLater
	for _, e := range r.entries {
		if m := markOf(e.Kind); slices.Index(tells, m) < slices.Index(tells, best) && (m != theme.MarkProblem || !r.mended) {
			best = m
		}
	}
	return best
}

func markOf(kind office.ActivityKind) theme.Mark {
	return cmp.Or(map[office.ActivityKind]theme.Mark{office.ActivitySaved: theme.MarkSaved, office.ActivityEvent: theme.MarkSigned, office.ActivityExecuted: theme.MarkSigned,
		office.ActivitySent: theme.MarkSent, office.ActivityDue: theme.MarkNext, office.ActivityRenamed: theme.MarkSaved,
		office.ActivityWithdrawn: theme.MarkEnded, office.ActivityProblem: theme.MarkProblem}[kind], theme.MarkLater)
}

// pressExport asks for a file, or stops the running export.
func (s *Screen) pressExport() {
	if s.stop != nil {
		s.stop()
		return
	}
	name := "countersign-" + s.env.Now().Format("2006-01-02") + ".csv"
	browse.Save(s.env, lang.L("Export as CSV…"), name, s.exportTo)
}

// exportTo writes all events to a file; replace says whether it may already exist.
func (s *Screen) exportTo(path string, replace bool) {
	s.Export(filepath.Base(path), func(fill func(io.Writer) error) error { return system.WriteFile(path, replace, fill) })
}

// Export lets write create a file of all events off the UI goroutine, and reports the result. Pressing the button again stops it.
func (s *Screen) Export(name string, write func(fill func(io.Writer) error) error) {
	s.stop = async.Then(s.env.Work, func(ctx context.Context) (n int, err error) {
		err = write(func(w io.Writer) error {
			n, err = writeEvents(ctx, w, s.office, s.env.Now().Location())
			return err
		})
		return n, err
	}, func(n int, err error) {
		s.stop = nil
		s.offerExport()
		switch {
		case errors.Is(err, context.Canceled):
			s.env.Notice(lang.L("The export was stopped. “{{.File}}” was not written.", i18n.V{"File": name}))
		case errors.Is(err, errNotRead):
			s.env.Notice(lang.L("Not all events could be read, so “{{.File}}” was not written.", i18n.V{"File": name}))
		case err != nil && n == 0, errors.Is(err, fs.ErrExist):
			s.env.Notice(lang.L("“{{.File}}” cannot be written there. Choose another folder.", i18n.V{"File": name}))
		case err != nil:
			s.env.Notice(lang.L("“{{.File}}” could not be written. Close it in other programs, check that there is room on the disk, and export again.", i18n.V{"File": name}))
		default:
			s.env.Notice(lang.N("{{.PluralCount}} events were exported.", n))
		}
	})
	s.offerExport()
}

// offerExport updates the button's label.
func (s *Screen) offerExport() {
	name, icon := lang.L("Export as CSV…"), fynetheme.DocumentSaveIcon()
	if s.stop != nil {
		name, icon = lang.L("Stop the export"), fynetheme.CancelIcon()
	}
	s.export.SetText(name)
	s.export.SetIcon(icon)
	widgets.Enable(s.export, s.stop != nil || len(s.events.rows) > 0)
}

// errNotRead ends an export that failed to read the events rather than to write the file.
var errNotRead = errors.New("not all events could be read")

// writeEvents writes every event, newest first, page by page, as CSV (RFC 4180) for Excel in the window's language, with times in
// zone. It returns the number written.
func writeEvents(ctx context.Context, to io.Writer, from Office, zone *time.Location) (n int, err error) {
	stamp := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.In(zone).Format(time.RFC3339)
	}
	var unread error
	rows := func(yield func([]string) bool) {
		if !yield([]string{"received", "happened", "kind", "package", "package_id", "event_id", "verified", "outcome", "reason", "processed", "came_again", "body"}) {
			return
		}
		cursor := office.Cursor("")
		for unread == nil {
			var page []office.EventRow
			if page, cursor, unread = from.Events(cursor, pageLength); unread != nil {
				unread = fmt.Errorf("%w: %w", errNotRead, unread)
				return
			}
			for _, e := range page {
				_, outcome := i18n.EventState(e.Event)
				if !yield([]string{stamp(e.Received), stamp(e.Time), i18n.EventKind(e.Event), e.Line.Package, e.PackageID, e.ID, "yes", outcome, i18n.Message(e.Reason),
					stamp(e.Handled), strconv.Itoa(e.Copies), string(e.Body)}) {
					return
				}
				n++
			}
			if cursor == "" {
				return
			}
			unread = ctx.Err()
		}
	}
	if err := office.WriteCSV(to, rows, office.Comma(cmp.Or(i18n.Code(), "en"))); err != nil {
		return n, fmt.Errorf("write the export: %w", err)
	}
	return n, unread
}

// pageLength is how many events are read at a time.
const pageLength = 200

func same(e, x office.EventRow) bool { return e.ID == x.ID }

// showEvent shows what an event says and its package, and what became of it unless it was processed.
func (s *Screen) showEvent(e office.EventRow, l *line) {
	mark, state := i18n.EventState(e.Event)
	below := packageOf(e)
	if mark != theme.MarkSigned { // its shape already says "signed"
		below += " · " + state
	} else if e.Line.Signer == "" && e.Action != "package_executed" {
		mark = theme.MarkLater
	}
	l.set(says(e), below, e.Received.In(s.env.Now().Location()).Format("15:04"), mark, true) // the head names the day
	if l.title.Bold = e.Line.Signer == "" && mark != theme.MarkLater; mark == theme.MarkLater {
		l.title.Colour = theme.Secondary
	}
	l.mark.Set(e.Line.Signer, mark)
}

// says is an event in a sentence that leaves out its package.
func says(e office.EventRow) string {
	first, _, _ := strings.Cut(i18n.Brief(e.Line.Text), "\n")
	return cmp.Or(strings.TrimSuffix(first, "."), i18n.EventKind(e.Event))
}

// packageOf returns the name of the event's package, its id without a name, or that it belongs to none.
func packageOf(e office.EventRow) string {
	return cmp.Or(e.Line.Package, e.PackageID, lang.L("no package"))
}

// showBlocked shows how many requests were refused, and the last ones.
func (s *Screen) showBlocked(samples []agent.Refusal, total int) {
	list, n := widgets.Stack(2), 0
	for _, r := range samples {
		n += 1 + r.More
		said := i18n.Clock(s.env.Now(), r.Time) + "  " + i18n.Message(r.Reason)
		from := i18n.V{"Address": r.Remote, "N": r.More}
		if r.Remote != "" {
			said += " · " + lang.L("from {{.Address}}", from)
		}
		if r.More > 0 {
			said += " · " + lang.L("and {{.N}} more of this kind", from)
		}
		list.Add(widgets.NewProse(said))
	}
	widgets.Remake(s.blocked)
	if total+n > 0 {
		widgets.Remake(s.blocked, widgets.NewFold(lang.N("{{.PluralCount}} requests not accepted", max(total, n)), false, list).Object)
	}
}

// maxShown limits the bytes of a body on screen, because laying out more would block the window. Copy takes everything.
const maxShown = 16 << 10

// openEvent shows what an event says, and folded away everything known about it, including its body as received.
func (s *Screen) openEvent(e office.EventRow) {
	var pop *widgets.PopUp
	_, state := i18n.EventState(e.Event)
	facts := widgets.Stack(0)
	add := func(name, value string) {
		if value != "" {
			facts.Add(widgets.Across(widgets.Column(112, widgets.NewCaption(name)), widgets.NewSelectable(value), nil))
		}
	}
	now := s.env.Now()
	add(lang.L("State"), state)
	add(lang.L("Occurred"), i18n.Exactly(now, e.Time))
	add(lang.L("Received"), i18n.Exactly(now, e.Received))
	if e.Copies > 0 {
		add(lang.L("Received again"), lang.N("{{.PluralCount}} times", e.Copies))
	}
	add(lang.L("Processed"), i18n.Exactly(now, e.Handled))
	add(lang.L("Verified"), lang.L("Event signature valid for {{.Address}}", i18n.V{"Address": e.URL}))
	add(lang.L("Event ID"), e.ID)
	shown, whole := bodyOf(e.Body)
	body := widgets.NewSelectable(shown)
	body.TextStyle = fyne.TextStyle{Monospace: true}
	facts.Add(widgets.PadHV(0, 8, widgets.Card(widgets.Small(body))))
	if !whole {
		facts.Add(widgets.NewCaption(lang.L("Only the beginning is shown. Copy includes everything.")))
	}
	facts.Add(widgets.Row(0, widgets.NewButton(lang.L("Copy"), func() { s.env.Copy(text(e.Body)); s.env.Notice(lang.L("Copied.")) })))
	leave := widgets.NewButton(lang.L("Close"), func() { pop.Close() })
	buttons := widgets.Row(8, layout.NewSpacer())
	if e.Outcome == office.EventUnprocessable {
		buttons.Add(widgets.NewButton(lang.L("Try again"), func() { pop.Close(); s.retry(e.ID) }))
	}
	buttons.Add(leave)
	if e.Line.Package != "" {
		show := widgets.NewButton(lang.L("Show the package"), func() { pop.Close(); s.env.Go.ShowPackage(e.PackageID) })
		show.Primary()
		buttons.Add(show)
	}
	page := widgets.Stack(16, widgets.Stack(4, widgets.NewFullHeading(says(e)), widgets.NewProse(packageOf(e)+" · "+i18n.Clock(now, cmp.Or(e.Time, e.Received)))))
	if !e.Reason.IsZero() {
		page.Add(widgets.NewParagraph(i18n.Message(e.Reason)))
	}
	page.Add(widgets.NewFold(lang.L("Technical details"), false, facts).Object)
	page.Add(buttons)
	pop = widgets.Open(s.env.Window.Canvas(), widgets.Pad(20, page), fyne.NewSize(560, 0), leave, nil)
}

func (s *Screen) retry(id string) {
	s.env.Attempt(func(context.Context) error { return s.office.RetryEvent(id) }, s.Reload)
}

func text(body []byte) string { return strings.ToValidUTF8(string(body), "\uFFFD") }

// bodyOf returns a body indented, or unchanged if it is not JSON, and whether it is complete.
func bodyOf(body []byte) (shown string, whole bool) {
	shown = text(body)
	var pretty bytes.Buffer
	if json.Indent(&pretty, body, "", "  ") == nil {
		shown = text(pretty.Bytes())
	}
	if len(shown) <= maxShown {
		return shown, true
	}
	return strings.ToValidUTF8(shown[:maxShown], "") + "…", false
}
