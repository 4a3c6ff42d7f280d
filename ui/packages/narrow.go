package packages

import (
	"slices"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/lang"
	"fyne.io/fyne/v2/layout"

	"countersign/internal/office"
	"countersign/ui/day"
	"countersign/ui/i18n"
	"countersign/ui/widgets"
)

// period is a time in which a package was made.
type period int

const (
	anyTime period = iota
	today
	thisWeek
	thisMonth
	thisYear
	fromUntil // days that a person types
)

func (p period) name() string {
	return [...]string{lang.L("Any time"), lang.L("Today"), lang.L("This week"), lang.L("This month"), lang.L("This year"), lang.L("From … until …")}[p]
}

// narrowing is what the list is narrowed to, beside tab and search. The zero value leaves all.
type narrowing struct {
	person      string
	period      period
	from, until string // for fromUntil, as typed
	origin      office.Origin
}

// query is what n asks for at now. Days that cannot be read leave all.
func (n narrowing) query(now time.Time, days day.Style) office.Query {
	q := office.Query{Archived: true, Person: n.person, Origin: n.origin}
	year, month, date := now.Date()
	begin := func(month time.Month, date int) time.Time {
		return time.Date(year, month, date, 0, 0, 0, 0, now.Location())
	}
	switch n.period {
	case today:
		q.Since = begin(month, date)
	case thisWeek:
		q.Since = begin(month, date-int(now.Weekday()-days.First()+7)%7) // as in the calendar
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

// narrows says whether q leaves anything out.
func narrows(q office.Query) bool {
	return strings.TrimSpace(q.Person) != "" || q.Origin != "" || !q.Since.IsZero() || !q.Until.IsZero()
}

// days is how days are written here.
func (s *Screen) days() day.Style { return day.Of(s.env.Country) }

// asked is what the list is narrowed to now.
func (s *Screen) asked() office.Query { return s.narrowed.query(s.env.Now(), s.days()) }

// wish returns whether a package of the index is among what the list is narrowed to.
func (s *Screen) wish() func(place int32) bool {
	q, x := s.asked(), s.all
	if !narrows(q) {
		return func(int32) bool { return true }
	}
	person, fits := strings.Fields(office.Fold(q.Person)), q.Fits()
	if len(person) > 0 && !s.resting {
		x.texts.prepare(x)
	}
	// To fold whom a package waits for takes long; nearly always the folded text says the same.
	return func(place int32) bool {
		return x.has(place, person) && fits(x.line(place))
	}
}

// headWish is wish for what stands above the packages. What is wrong with the office is about no package.
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
		return fits(office.PackageLine{People: people, Created: r.draft.Created, Origin: office.MadeHere})
	}
}

// narrow shows what is left of the list.
func (s *Screen) narrow(n narrowing) {
	if n == s.narrowed {
		return
	}
	s.narrowed, s.found = n, nil
	s.showNarrowing()
	s.refilter()
}

// isNarrowed says whether the list is narrowed to anything.
func (s *Screen) isNarrowed() bool { return narrows(s.asked()) }

// widen shows all again that the tab has.
func (s *Screen) widen() {
	s.narrow(narrowing{})
	s.search.SetText("")
}

// showNarrowing shows what the list is narrowed to, as words that can be removed.
func (s *Screen) showNarrowing() {
	var words []fyne.CanvasObject
	chip := func(text string, without narrowing) {
		words = append(words, widgets.NewChip(text, func() { s.narrow(without); s.env.Window.Canvas().Focus(s.list) }))
	}
	n, q := s.narrowed, s.asked()
	if person := strings.TrimSpace(n.person); person != "" {
		without := n
		without.person = ""
		chip(person, without)
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
	s.chips.Hidden = len(words) == 0
	widgets.Remake(s.words, words...)
	s.chips.Refresh()
	s.content.Refresh()
}

// periodText is the time that q leaves in a few words.
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
	switch o {
	case office.MadeHere:
		return lang.L("Created here")
	case office.MadeElsewhere:
		return lang.L("Created elsewhere")
	}
	return lang.L("Anywhere")
}

// filterPanel is where people say what they want to see. The list follows at once.
type filterPanel struct {
	screen      *Screen
	now         narrowing
	from, until *widgets.Entry
	days        [2]*widgets.Field
	between     *fyne.Container
}

// askFilter opens the panel.
func (s *Screen) askFilter() {
	p := &filterPanel{screen: s, now: s.narrowed}
	var pop *widgets.PopUp
	leave := func() { pop.Close() }
	person := widgets.NewEntry(lang.L("Name or e-mail address"))
	person.SetText(p.now.person)
	person.OnChanged = func(text string) { p.now.person = text; p.apply() }
	person.OnSubmitted = func(string) { leave() }
	periods := []period{anyTime, today, thisWeek, thisMonth, thisYear, fromUntil}
	when := choose(periods, period.name, p.now.period, func(chosen period) { p.now.period = chosen; p.apply() })
	p.from, p.until = p.entry(&p.now.from, leave), p.entry(&p.now.until, leave)
	p.days = [...]*widgets.Field{widgets.NewField(lang.L("From"), p.from, ""), widgets.NewField(lang.L("Until"), p.until, "")}
	p.between = widgets.Halves(p.days[0], p.days[1])
	where := choose([]office.Origin{"", office.MadeHere, office.MadeElsewhere}, originName, p.now.origin, func(chosen office.Origin) { p.now.origin = chosen; p.apply() })
	reset := widgets.NewButton(lang.L("Clear filter"), func() { leave(); s.narrow(narrowing{}) })
	done := widgets.NewButton(lang.L("Close"), leave)
	content := widgets.Pad(16, widgets.Wide(300, widgets.Stack(12,
		widgets.NewField(lang.L("Person"), person, ""),
		widgets.NewField(lang.L("Sent on"), when, ""), p.between,
		widgets.NewField(lang.L("Created"), where, ""),
		widgets.Row(8, layout.NewSpacer(), reset, done))))
	p.show()
	pop = widgets.OpenAt(s.env.Window.Canvas(), content, s.filterBy, person, nil)
}

// choose is a selection among a few things by their names.
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

// entry is a field for a day.
func (p *filterPanel) entry(text *string, leave func()) *widgets.Entry {
	days := p.screen.days()
	e := widgets.NewEntry(days.Write(p.screen.env.Now()))
	e.SetText(*text)
	e.OnChanged = func(typed string) { *text = typed; p.apply() }
	e.OnSubmitted = func(string) { leave() }
	e.OnFocusLost = p.show
	return e
}

func (p *filterPanel) apply() {
	p.show()
	p.screen.narrow(p.now)
}

// show says which days were understood; what names none, once the cursor has left it.
func (p *filterPanel) show() {
	env := p.screen.env
	widgets.Show(p.between, p.now.period == fromUntil)
	for i, e := range []*widgets.Entry{p.from, p.until} {
		read, ok := p.screen.days().ReadBack(e.Text, env.Now())
		p.days[i].Wrong("")
		switch typing := env.Window.Canvas().Focused() == fyne.Focusable(e); {
		case ok:
			p.days[i].Hint(i18n.Day(env.Now(), read))
		case strings.TrimSpace(e.Text) != "" && !typing:
			p.days[i].Wrong(lang.L("Enter a date, for example {{.Date}}.", i18n.V{"Date": p.screen.days().Write(env.Now())}))
		default:
			p.days[i].Hint("")
		}
	}
}

// narrowBar is the line above the list: what it is narrowed to, and how it is sorted.
func (s *Screen) narrowBar() fyne.CanvasObject {
	s.filterBy = widgets.NewDrop(lang.L("Filter"), s.askFilter)
	s.sorting = widgets.NewDrop(s.order.Load().name(), s.askOrder)
	s.words = widgets.Flow(6)
	s.chips = widgets.PadHV(6, 2, s.words)
	s.chips.Hide()
	return widgets.Stack(0, widgets.Row(0, s.filterBy, layout.NewSpacer(), s.sorting), s.chips)
}
