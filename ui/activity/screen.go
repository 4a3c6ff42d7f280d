// Package activity is the screen of what happened: the office's own diary in words, every event of the signing service
// as it came, and samples of the requests that were refused. It reads from the office page by page, asks it to handle
// an event once more, and writes events to a file; it decides nothing itself.
package activity

import (
	"cmp"
	"context"
	"fmt"
	"slices"

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

// most is how many lines of the diary are listed.
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
	s.events.wanted.Store(old.events.wanted.Load())
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
	happened []office.Activity
	events   []event
	next     office.Cursor
	refused  []agent.Refusal
	counts   agent.EventCounts
}

func (s *Screen) read(context.Context) (n news, err error) {
	status, err := s.office.Status()
	if err != nil {
		return n, err
	}
	n.refused, n.counts = s.office.Refused(), status.Events
	if n.happened, err = s.office.Activity(most); err != nil {
		return n, err
	}
	n.events, n.next, err = readPage(s.office, "", int(s.events.wanted.Load()))
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
	s.events.fill(n.events, n.next)
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
	parts := [...]fyne.CanvasObject{s.happened.content(), s.events.content(), s.refused.content()}
	switch {
	case s.loaded:
	case s.failure != nil:
		parts[s.tabs.Chosen()] = widgets.Failure(i18n.Error(s.failure), s.Reload)
	default:
		parts[s.tabs.Chosen()] = nothing
	}
	if now := parts[s.tabs.Chosen()]; len(s.body.Objects) == 0 || s.body.Objects[0] != now {
		widgets.Remake(s.body, now)
	}
	s.export.Hidden = s.tabs.Chosen() != tabEvents
	s.export.Refresh()
}

// diary is the tab of what happened, in words, newest first.
type diary struct {
	screen  *Screen
	entries []office.Activity
	list    *widgets.List
	inset   fyne.CanvasObject // the list with room around it
	empty   fyne.CanvasObject
}

func (d *diary) build(s *Screen) {
	d.screen = s
	d.list = widgets.NewList(func() int { return len(d.entries) }, newLine, d.update)
	d.list.HideSeparators = true
	d.list.Says = func() string { return lang.L("Activity") }

	d.list.OnEnter = d.openChosen
	d.inset = widgets.PadHV(12, 4, d.list)
	d.empty = widgets.Empty(fynetheme.HistoryIcon(), lang.L("Nothing has happened yet."), "", nil)
}

func (d *diary) content() fyne.CanvasObject {
	if len(d.entries) == 0 {
		return d.empty
	}
	return d.inset
}

func (d *diary) fill(entries []office.Activity) {
	top, hidden := d.list.Top()
	// Lines are only ever added in front, so the ones there were are found by counting from the end of the old list.
	added := addedInFront(d.entries, entries)
	chosen := d.list.At()
	if chosen >= 0 {
		chosen = min(chosen+added, len(entries)-1)
	}
	if top > 0 {
		top += added
	}
	d.entries = entries
	d.list.Renew(chosen, top, hidden)
}

// addedInFront is how many lines are newer than the newest of the old ones.
func addedInFront(old, now []office.Activity) int {
	if len(old) == 0 {
		return 0
	}
	return max(0, slices.Index(now, old[0]))
}

func (d *diary) openChosen() {
	if at := d.list.At(); at >= 0 && at < len(d.entries) && d.entries[at].PackageID != "" {
		d.screen.env.Go.ShowPackage(d.entries[at].PackageID)
	}
}

// line is one row: when, a shape, what, and a way to the package.
type line struct {
	widgets.ListRow
	when, text *widgets.Line
	mark       *widget.Icon
	open       *widgets.Button
}

func newLine() fyne.CanvasObject {
	l := &line{when: widgets.NewCaption(""), text: widgets.NewLine(""), mark: widget.NewIcon(theme.MarkLater.Resource())}
	l.text.Shorten = true
	l.open = widgets.NewButtonWithIcon("", fynetheme.NavigateNextIcon(), nil).Quiet()
	l.open.Says = func() string { return widgets.Said(lang.L("Show the package"), l.text.Text) }
	l.Lines, l.Content = []*widgets.Line{l.text}, widgets.PadHV(8, 0, widgets.Across(widgets.Row(8, widgets.Wide(92, l.when), l.mark), l.text, l.open))
	l.ExtendBaseWidget(l)
	return l
}

func (d *diary) update(id int, o fyne.CanvasObject) {
	l, entry := o.(*line), d.entries[id]
	l.text.Begins = markOf(entry.Kind) == theme.MarkProblem // what went wrong with what; then why
	l.when.Set(i18n.When(d.screen.env.Now(), entry.When()))
	l.text.Set(i18n.Message(entry.Text))
	l.mark.SetResource(markOf(entry.Kind).Resource())
	l.open.OnTapped = func() { d.screen.env.Go.ShowPackage(entry.PackageID) }
	l.open.Hidden = entry.PackageID == ""
	l.Shown()
}

func markOf(kind string) theme.Mark {
	return cmp.Or(map[string]theme.Mark{"saved": theme.MarkSaved, "event": theme.MarkSigned, "signed": theme.MarkSigned, "executed": theme.MarkSigned,
		"withdrawn": theme.MarkEnded, "problem": theme.MarkProblem, "failed": theme.MarkProblem}[kind], theme.MarkLater)
}
