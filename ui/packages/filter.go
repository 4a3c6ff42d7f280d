package packages

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/office"
	"countersign/ui/day"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

type packageFilter struct {
	order    atomic.Pointer[order] // the wanted order
	narrowed narrowing
	among    []int32 // places in all that match narrowed; nil for all
	tabs     *widgets.Tabs
	filterBy *widgets.Button
	chips    *fyne.Container // encloses words
	words    *fyne.Container // the active filters as chips
	search   *widgets.Entry
}

const (
	tabWaiting = iota
	tabDone
	tabAll
	tabDue // the waiting ones that are due soon or overdue; from here on, tabs are offered only while they have rows
	tabProblems
	tabWithdrawn
	tabArchived
	tabCount
)

type listed struct {
	line office.PackageLine
	sorted
	text string // folded; empty for a package, whose text is in the index

	draft *office.Draft // set for a draft, instead of a package
	lost  bool          // some of its saved files are gone
}

// sorted is what decides a row's tab.
type sorted struct {
	stage    i18n.Stage
	due      bool // soon or overdue
	archived bool
}

// row is a package in the index, small because there may be tens of thousands, of which a dozen are visible.
type row struct {
	packed office.PackedLine
	sorted
}

// index holds every package, oldest first so that a new one is appended. It is ready for tabs at once, and for the search after
// prepare. It is made and prepared off the UI goroutine, so that a key stroke only compares; afterwards only the UI goroutine uses
// it.
type index struct {
	rows     []row
	places   map[string]int32 // index into rows by package id
	texts    *folded          // for the search
	counts   counts           // of all rows
	at       time.Time        // when it was made; decides what is due
	days     int              // how long before its due date a package counts as due soon
	order    order            // the order of the list
	unsaved  *unsaved         // may be nil
	arranged []int32          // all places in reverse list order; nil if that is the order of rows or its reverse
	dues     []office.DueKey  // one for each row, when sorted by due date
}

// folded holds each row's searchable text. It takes as much memory as everything else.
type folded struct {
	prepared sync.Once
	made     atomic.Pointer[[]string] // nil until prepared
}

// of returns each row's text; nil until prepared.
func (t *folded) of() []string {
	if made := t.made.Load(); made != nil {
		return *made
	}
	return nil
}

// newIndex indexes the lines of all packages, newest first, as of now. A package due within days counts as due soon; with a zero
// now, none does.
func newIndex(now time.Time, days int, order order, unsaved *unsaved, lines []office.PackedLine) *index {
	n := len(lines)
	x := &index{rows: make([]row, n), places: make(map[string]int32, n), texts: new(folded), at: now, days: days, order: order, unsaved: unsaved}
	for i, packed := range lines {
		i = n - 1 - i
		l, _ := packed.Unpack()
		x.places[l.ID] = int32(i)
		x.rows[i] = row{packed, x.sorted(l)}
		x.counts.add(x.rows[i].sorted, 1)
	}
	x.arrange()
	return x
}

func (x *index) sorted(l office.PackageLine) sorted {
	return sorted{stage: x.unsaved.stage(i18n.StageOfLine(l), l.ID), due: !x.at.IsZero() && i18n.IsLate(x.at, l.Due, x.days), archived: l.Archived}
}

// unsaved is what keeps documents from being saved: those of the packages held, or of all.
type unsaved struct {
	why  string // empty if nothing does
	all  bool
	held map[string]bool
}

// stage judges a package by whether its documents can be saved.
func (u *unsaved) stage(s i18n.Stage, id string) i18n.Stage {
	if s == i18n.Saving && u != nil && (u.all || u.held[id]) {
		return i18n.Wrong
	}
	return s
}

func (x *index) line(place int32) office.PackageLine {
	l, _ := x.rows[place].packed.Unpack()
	return l
}

func (x *index) listed(place int32) listed {
	return listed{line: x.line(place), sorted: x.rows[place].sorted}
}

// put adds or updates a package while prepare is not running. It returns false if the package belongs between others; then the index
// must be rebuilt.
func (x *index) put(packed office.PackedLine) (ok bool) {
	l, _ := packed.Unpack()
	now := row{packed, x.sorted(l)}
	place, known := x.places[l.ID]
	switch {
	case known && !x.line(place).Created.Equal(l.Created):
		return false
	case known:
		x.counts.add(x.rows[place].sorted, -1)
		if at, there := x.find(x.arranged, place); there { // found by its old values
			x.arranged = slices.Delete(x.arranged, at, at+1)
		}
		x.rows[place] = now
	case len(x.rows) > 0 && l.Created.Before(x.line(int32(len(x.rows)-1)).Created):
		return false
	default:
		place = int32(len(x.rows))
		x.places[l.ID] = place
		x.rows = append(x.rows, now)
	}
	if texts := x.texts.of(); texts != nil {
		texts = append(texts, make([]string, len(x.rows)-len(texts))...)
		texts[place] = office.Fold(l.SearchText())
		x.texts.made.Store(&texts)
	}
	x.counts.add(now.sorted, 1)
	if x.order == byDue {
		x.dues = append(x.dues, make([]office.DueKey, len(x.rows)-len(x.dues))...)
		x.dues[place] = l.DueKey()
	}
	if x.order.sorts() {
		at, _ := x.find(x.arranged, place)
		x.arranged = slices.Insert(x.arranged, at, place)
	}
	return true
}

// prepare makes the searchable texts, which takes longer than everything else. Any goroutine may call it; a second call does
// nothing.
func (t *folded) prepare(x *index) {
	t.prepared.Do(func() {
		of := make([]string, len(x.rows))
		for i := range of {
			of[i] = office.Fold(x.line(int32(i)).SearchText())
		}
		t.made.Store(&of)
	})
}

func (x *index) has(place int32, wanted []string) bool {
	return len(wanted) == 0 || office.HasWords(x.text(place), wanted)
}

func (x *index) text(place int32) string {
	if texts := x.texts.of(); texts != nil {
		return texts[place]
	}
	return office.Fold(x.line(place).SearchText())
}

// search returns the places that have all words of text and satisfy wish, among the given places; a nil among means all, a nil wish
// every one.
func (x *index) search(text string, wish func(place int32) bool, among []int32) []int32 {
	wanted := strings.Fields(office.Fold(text))
	all := among == nil
	n := len(among)
	if all {
		n = len(x.rows)
	}
	found := make([]int32, 0, n)
	for at := range n {
		i := int32(at)
		if !all {
			i = among[at]
		}
		if x.has(i, wanted) && (wish == nil || wish(i)) {
			found = append(found, i)
		}
	}
	return found
}

// sort returns the places in found that belong to a tab, in reverse list order, and the counts of all tabs.
func (x *index) sort(found []int32, tab int) (shown []int32, counts counts) {
	for _, i := range found {
		counts.add(x.rows[i].sorted, 1)
		if x.rows[i].in(tab) {
			shown = append(shown, i)
		}
	}
	x.inOrder(shown)
	return shown, counts
}

// mostBest is how many of each kind the overview shows.
const mostBest = 5

// best returns the places of the wanted rows with the highest count, highest first.
func (x *index) best(wanted func(row) bool, count func(place int32) int64) (places []int32) {
	for i, r := range x.rows {
		place := int32(i)
		if !wanted(r) || len(places) == mostBest && count(place) <= count(places[mostBest-1]) {
			continue
		}
		at, _ := slices.BinarySearchFunc(places, place, func(a, b int32) int { return cmp.Compare(count(b), count(a)) })
		places = slices.Insert(places, at, place)
		places = places[:min(len(places), mostBest)]
	}
	return places
}

type counts [tabCount]int

// add counts a package n times.
func (c *counts) add(r sorted, n int) {
	own := r.tab()
	c[own] += n
	c[tabAll] += n
	if r.in(tabDue) {
		c[tabDue] += n
	}
}

func (r sorted) in(tab int) bool {
	own := r.tab()
	return own == tab || tab == tabDue && r.due && own == tabWaiting || tab == tabAll
}

// tab returns a row's tab; an archived package is in no other tab than the archive.
func (r sorted) tab() int {
	if r.archived {
		return tabArchived
	}
	return tabOf(r.stage)
}

func tabOf(s i18n.Stage) int {
	switch s {
	case i18n.Open:
		return tabWaiting
	case i18n.Saving, i18n.Saved:
		return tabDone
	case i18n.Wrong:
		return tabProblems
	default:
		return tabWithdrawn
	}
}

type period int

const (
	anyTime period = iota
	today
	thisWeek
	thisMonth
	thisYear
	fromUntil // dates typed by the person
)

func (p period) name() string {
	return [...]string{lang.L("Any time"), lang.L("Today"), lang.L("This week"), lang.L("This month"), lang.L("This year"), lang.L("From … until …")}[p]
}

// narrowing is the filter applied in addition to tab and search. The zero value matches everything.
type narrowing struct {
	person      string
	reference   string
	period      period
	from, until string // as typed, for fromUntil
	origin      office.Origin
}

// query converts n at now. Dates that cannot be parsed do not filter.
func (n narrowing) query(now time.Time, days day.Style) office.Query {
	q := office.Query{Archived: true, Person: n.person, Reference: n.reference, Origin: n.origin}
	year, month, date := now.Date()
	begin := func(month time.Month, date int) time.Time {
		return time.Date(year, month, date, 0, 0, 0, 0, now.Location())
	}
	switch n.period {
	case today:
		q.Since = begin(month, date)
	case thisWeek:
		q.Since = begin(month, date-int(now.Weekday()-days.First()+7)%7) // starts the week like the calendar
	case thisMonth:
		q.Since = begin(month, 1)
	case thisYear:
		q.Since = begin(time.January, 1)
	case fromUntil:
		if from, ok := days.ReadBack(n.from, now); ok {
			q.Since = from
		}
		if until, ok := days.ReadBack(n.until, now); ok {
			q.Until = until.AddDate(0, 0, 1).Add(-time.Nanosecond)
		}
	}
	return q
}

func narrows(q office.Query) bool {
	return strings.TrimSpace(q.Person+q.Reference) != "" || q.Origin != "" || !q.Since.IsZero() || !q.Until.IsZero()
}

func (s *Screen) days() day.Style { return day.Of(s.env.Country) }

func (s *Screen) asked() office.Query { return s.narrowed.query(s.env.Now(), s.days()) }

// wish returns the filter for packages in the index.
func (s *Screen) wish() func(place int32) bool {
	q, x := s.asked(), s.all
	person, fits := strings.Fields(office.Fold(q.Person)), q.Fits()
	if len(person) > 0 && !s.resting {
		x.texts.prepare(x)
	}
	// Folding the names that a package waits for is slow; the folded text nearly always gives the same answer.
	return func(place int32) bool {
		return x.has(place, person) && fits(x.line(place))
	}
}

// headWish is wish for the rows above the packages. Those about the office itself match no filter.
func (s *Screen) headWish() func(listed) bool {
	q := s.asked()
	if !narrows(q) {
		return func(listed) bool { return true }
	}
	fits := q.Fits()
	return func(r listed) bool {
		if r.draft == nil {
			return false
		}
		people, _ := namesOf(*r.draft)
		return fits(office.PackageLine{People: people, Words: r.line.Words, Created: r.draft.Created, Origin: office.MadeHere})
	}
}

func (s *Screen) narrow(n narrowing) {
	if n == s.narrowed {
		return
	}
	s.narrowed, s.found = n, nil
	s.showNarrowing()
	s.refilter()
}

func (s *Screen) isNarrowed() bool { return narrows(s.asked()) }

// widen removes filter and search.
func (s *Screen) widen() {
	s.narrow(narrowing{})
	s.search.SetText("")
}

// showNarrowing shows the active filters as removable chips.
func (s *Screen) showNarrowing() {
	var words []fyne.CanvasObject
	chip := func(text string, without narrowing) {
		words = append(words, widgets.NewChip(text, func() { s.narrow(without); widgets.Focus(s.env.Window.Canvas(), s.list) }))
	}
	n, q := s.narrowed, s.asked()
	if person := strings.TrimSpace(n.person); person != "" {
		without := n
		without.person = ""
		chip(person, without)
	}
	if reference := strings.TrimSpace(n.reference); reference != "" {
		without := n
		without.reference = ""
		chip(reference, without)
	}
	if text := s.periodText(q); text != "" {
		without := n
		without.period = anyTime
		chip(text, without)
	}
	if n.origin != "" {
		without := n
		without.origin = ""
		chip(originName(n.origin), without)
	}
	if o := *s.order.Load(); o != newestFirst {
		words = append(words, widgets.NewChip(o.name(), func() { s.sortBy(newestFirst) }))
	}
	s.chips.Hidden = len(words) == 0
	widgets.Remake(s.words, words...)
	s.chips.Refresh()
	s.content.Refresh()
}

func (s *Screen) periodText(q office.Query) string {
	now := s.env.Now()
	switch {
	case q.Since.IsZero() && q.Until.IsZero():
		return ""
	case s.narrowed.period != fromUntil:
		return s.narrowed.period.name()
	case q.Until.IsZero():
		return lang.L("from {{.Day}}", i18n.V{"Day": i18n.Date(now, q.Since)})
	case q.Since.IsZero():
		return lang.L("until {{.Day}}", i18n.V{"Day": i18n.Date(now, q.Until)})
	}
	return i18n.Date(now, q.Since) + " – " + i18n.Date(now, q.Until)
}

func originName(o office.Origin) string {
	return map[office.Origin]string{"": lang.L("Anywhere"), office.MadeHere: lang.L("Created here"), office.MadeElsewhere: lang.L("Created elsewhere")}[o]
}

// filterPanel edits the filter; every change updates the list at once.
type filterPanel struct {
	screen      *Screen
	now         narrowing
	from, until *widgets.Entry
	days        [2]*widgets.Field
	between     *fyne.Container
}

func (s *Screen) askFilter() {
	p := &filterPanel{screen: s, now: s.narrowed}
	var pop *widgets.PopUp
	leave := func() { pop.Close() }
	words := func(text *string, hint string) *widgets.Entry {
		e := widgets.NewEntry(hint)
		e.SetText(*text)
		e.OnChanged = func(typed string) { *text = typed; p.apply() }
		e.OnSubmitted = func(string) { leave() }
		return e
	}
	person, reference := words(&p.now.person, lang.L("Name or e-mail address")), words(&p.now.reference, "")
	periods := []period{anyTime, today, thisWeek, thisMonth, thisYear, fromUntil}
	when := choose(periods, period.name, p.now.period, func(chosen period) { p.now.period = chosen; p.apply() })
	example := p.screen.days().Write(s.env.Now())
	p.from, p.until = words(&p.now.from, example), words(&p.now.until, example)
	p.from.OnFocusLost, p.until.OnFocusLost = p.show, p.show
	p.days = [...]*widgets.Field{widgets.NewField(lang.L("From"), p.from, ""), widgets.NewField(lang.L("Until"), p.until, "")}
	p.between = widgets.Halves(p.days[0], p.days[1])
	where := choose([]office.Origin{"", office.MadeHere, office.MadeElsewhere}, originName, p.now.origin, func(chosen office.Origin) { p.now.origin = chosen; p.apply() })
	order := choose(orders, order.name, *s.order.Load(), s.sortBy)
	reset := widgets.NewButton(lang.L("Clear filter"), func() { leave(); s.narrow(narrowing{}) })
	done := widgets.NewButton(lang.L("Close"), leave)
	content := widgets.Pad(16, widgets.Wide(300, widgets.Stack(12,
		widgets.NewField(lang.L("Person"), person, ""),
		widgets.NewField(lang.L("Reference"), reference, ""),
		widgets.NewField(lang.L("Sent on"), when, ""), p.between,
		widgets.NewField(lang.L("Created"), where, ""),
		widgets.NewField(lang.L("Sort"), order, ""),
		widgets.Row(8, layout.NewSpacer(), reset, done))))
	p.show()
	pop = widgets.OpenAt(s.env.Window.Canvas(), content, s.filterBy, person, nil)
}

// choose is a selection among named things.
func choose[T comparable](things []T, name func(T) string, now T, chosen func(T)) *widgets.Select {
	names := make([]string, len(things))
	for i, t := range things {
		names[i] = name(t)
	}
	pick := widgets.NewSelect(names, nil)
	pick.SetSelectedIndex(slices.Index(things, now))
	pick.OnChanged = func(string) { chosen(things[pick.SelectedIndex()]) }
	return pick
}

func (p *filterPanel) apply() {
	p.show()
	p.screen.narrow(p.now)
}

// show shows how each typed date was understood, or an error once the cursor has left it.
func (p *filterPanel) show() {
	env := p.screen.env
	widgets.Show(p.between, p.now.period == fromUntil)
	for i, e := range []*widgets.Entry{p.from, p.until} {
		read, ok := p.screen.days().ReadBack(e.Text, env.Now())
		p.days[i].Wrong("")
		switch typing := env.Window.Canvas().Focused() == fyne.Focusable(e); {
		case ok:
			p.days[i].Hint(i18n.Day(env.Now(), read))
		case e.Typed() != "" && !typing:
			p.days[i].Wrong(lang.L("Enter a date, for example {{.Date}}.", i18n.V{"Date": p.screen.days().Write(env.Now())}))
		default:
			p.days[i].Hint("")
		}
	}
}

// order is the list's sort order. Its values are stored and must not change.
type order string

const (
	newestFirst order = "newest"
	oldestFirst order = "oldest"
	byName      order = "name"
	byDue       order = "due"
	byReference order = "reference"
)

var orders = []order{newestFirst, oldestFirst, byName, byDue, byReference}

func (o order) name() string {
	return map[order]string{newestFirst: lang.L("Newest first"), oldestFirst: lang.L("Oldest first"), byName: lang.L("By name"), byDue: lang.L("By due date"), byReference: lang.L("By reference")}[o]
}

// sorts reports whether it needs sorting: it is neither the order of arrival nor its reverse.
func (o order) sorts() bool { return o != newestFirst && o != oldestFirst }

// arrange sorts all places. It is slow and runs off the UI goroutine.
func (x *index) arrange() {
	switch x.order {
	case byName, byReference:
		x.texts.prepare(x)
	case byDue:
		x.dues = make([]office.DueKey, len(x.rows))
		for i := range x.rows {
			x.dues[i] = x.line(int32(i)).DueKey()
		}
	default:
		return
	}
	x.arranged = make([]int32, len(x.rows))
	for i := range x.arranged {
		x.arranged[i] = int32(i)
	}
	slices.SortFunc(x.arranged, x.compare)
}

// compare is greater for the place further up in the list. Equal ones are ordered newest first.
func (x *index) compare(a, b int32) int {
	switch x.order {
	case oldestFirst:
		return cmp.Compare(b, a)
	case byName:
		return cmp.Or(office.CompareNames(x.foldedName(b), x.foldedName(a)), cmp.Compare(a, b))
	case byReference:
		return cmp.Or(office.CompareNames(x.foldedReference(b), x.foldedReference(a)), cmp.Compare(a, b))
	case byDue:
		return cmp.Or(x.dues[b].Compare(x.dues[a]), cmp.Compare(a, b))
	}
	return cmp.Compare(a, b)
}

// foldedName returns a package's name for comparing: its searchable text begins with it.
func (x *index) foldedName(place int32) string {
	name, _, _ := strings.Cut(x.text(place), "\n")
	return name
}

// foldedReference returns the end of that text.
func (x *index) foldedReference(place int32) string {
	text := x.text(place)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// inOrder sorts ascending places by means of arranged, without comparing their values.
func (x *index) inOrder(places []int32) {
	switch {
	case x.order == oldestFirst:
		slices.Reverse(places)
	case x.order.sorts():
		listed := make([]bool, len(x.rows))
		for _, i := range places {
			listed[i] = true
		}
		places = places[:0]
		for _, i := range x.arranged {
			if listed[i] {
				places = append(places, i)
			}
		}
	}
}

func (x *index) find(places []int32, place int32) (at int, there bool) {
	return slices.BinarySearchFunc(places, place, x.compare)
}

const keptOrder = "packages.order"

func lastOrder() order {
	kept := order(fyne.CurrentApp().Preferences().String(keptOrder))
	if slices.Contains(orders, kept) {
		return kept
	}
	return newestFirst
}

// sortBy changes the sort order, which reads all lines again off the UI goroutine.
func (s *Screen) sortBy(o order) {
	s.order.Store(&o)
	s.showNarrowing()
	fyne.CurrentApp().Preferences().SetString(keptOrder, string(o))
	s.Reload()
}
