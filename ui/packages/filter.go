package packages

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/i18n"
)

// The tabs, in their order.
const (
	tabWaiting = iota
	tabDue     // of those that wait, what is due soon or overdue
	tabDone
	tabProblems
	tabAll
	tabWithdrawn
	tabArchived
	tabCount
)

// listed is a row of the list.
type listed struct {
	line office.PackageLine
	sorted
	text string // folded; empty for a package, whose index has it

	issue *agent.Issue  // instead of a package: what is wrong with the office
	draft *office.Draft // instead of a package: what waits to be sent
}

// sorted is what decides in which tab a row is.
type sorted struct {
	standing i18n.Standing
	due      bool // soon, or it was
	archived bool
}

// row is a package as the index holds it: tens of thousands of them must take little time and memory, and a dozen are seen.
type row struct {
	packed office.PackedLine
	sorted
}

// index is every package, the oldest first, so that a new one comes at the end; ready for tabs, and for the search once it
// is prepared. It is made and prepared off the window's goroutine, so that a key stroke only compares. From then on it belongs to
// the window's goroutine.
type index struct {
	rows     []row
	places   map[string]int32 // package id to its place in rows
	texts    *folded          // for the search
	counts   counts           // of all rows
	at       time.Time        // when it was made, by which is judged what is due
	days     int              // before its due date a package is due soon
	order    order            // in which the list shows them
	arranged []int32          // all places in that order, the first of the list at the end; nil where it is that of rows, or the reverse
	dues     []office.DueKey  // of each row, where they are sorted by it
}

// folded are the texts that a search looks at, of each row. They take as much memory as all the rest.
type folded struct {
	prepared sync.Once
	made     atomic.Pointer[[]string] // nil until they are prepared
}

// of is the text of each row; nil until they are prepared.
func (t *folded) of() []string {
	if made := t.made.Load(); made != nil {
		return *made
	}
	return nil
}

// newIndex is the index of lines, which are those of all packages, newest first; nothing is due.
func newIndex(lines []office.PackedLine) *index {
	return newIndexAt(time.Time{}, 0, newestFirst, lines)
}

// newIndexAt is newIndex as of now, in an order; what is due within days is due soon.
func newIndexAt(now time.Time, days int, order order, lines []office.PackedLine) *index {
	n := len(lines)
	x := &index{rows: make([]row, n), places: make(map[string]int32, n), texts: new(folded), at: now, days: days, order: order}
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
	return sorted{standing: i18n.StandingOfLine(l), due: !x.at.IsZero() && i18n.IsLate(x.at, l.Due, x.days), archived: l.Archived}
}

// line is the package at a place.
func (x *index) line(place int32) office.PackageLine {
	l, _ := x.rows[place].packed.Unpack()
	return l
}

// listed is the row of the package at a place.
func (x *index) listed(place int32) listed {
	return listed{line: x.line(place), sorted: x.rows[place].sorted}
}

// put notes a package that is new or changed, while nobody prepares the index, and returns its place and what was there; known is
// false for a new one. ok is false when it belongs somewhere between the others: then the index has to be made anew.
func (x *index) put(packed office.PackedLine) (place int32, was sorted, known, ok bool) {
	l, _ := packed.Unpack()
	now := row{packed, x.sorted(l)}
	place, known = x.places[l.ID]
	switch {
	case known:
		was = x.rows[place].sorted
		if !x.line(place).Created.Equal(l.Created) {
			return place, was, true, false
		}
		x.counts.add(was, -1)
		x.arranged = x.without(x.arranged, place) // found by what it was
		x.rows[place] = now
	case len(x.rows) > 0 && l.Created.Before(x.line(int32(len(x.rows)-1)).Created):
		return 0, was, false, false
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
	x.arrangeOne(place, l)
	x.counts.add(now.sorted, 1)
	return place, was, known, true
}

// prepare makes the texts for the search, which takes longer than all the rest. It may be called from any goroutine, and
// does nothing the second time.
func (t *folded) prepare(x *index) {
	t.prepared.Do(func() {
		of := make([]string, len(x.rows))
		for i := range of {
			of[i] = office.Fold(x.line(int32(i)).SearchText())
		}
		t.made.Store(&of)
	})
}

// has reports whether the package at a place has all the folded words.
func (x *index) has(place int32, wanted []string) bool {
	return len(wanted) == 0 || office.HasWords(x.text(place), wanted)
}

// text is the folded text of the package at a place.
func (x *index) text(place int32) string {
	if texts := x.texts.of(); texts != nil {
		return texts[place]
	}
	return office.Fold(x.line(place).SearchText())
}

// search returns the places of the packages that have all words of text and are wanted, among the places given; nil means
// all. A nil wish wants every one.
func (x *index) search(text string, wish func(place int32) bool, among []int32) []int32 {
	wanted := strings.Fields(office.Fold(text))
	if len(wanted) > 0 {
		x.texts.prepare(x)
	}
	fits := func(i int32) bool { return x.has(i, wanted) && (wish == nil || wish(i)) }
	if among == nil {
		found := make([]int32, 0, len(x.rows))
		for i := range int32(len(x.rows)) {
			if fits(i) {
				found = append(found, i)
			}
		}
		return found
	}
	found := make([]int32, 0, len(among))
	for _, i := range among {
		if fits(i) {
			found = append(found, i)
		}
	}
	return found
}

// sort returns which of the packages found belong to a tab, the first of the list at the end, and how many belong to each.
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

// counts is how much each tab holds.
type counts [tabCount]int

// add counts a package n times more.
func (c *counts) add(r sorted, n int) {
	own := r.tab()
	c[own] += n
	if own != tabArchived {
		c[tabAll] += n
	}
	if r.in(tabDue) {
		c[tabDue] += n
	}
}

// in says whether a row belongs to a tab.
func (r sorted) in(tab int) bool {
	own := r.tab()
	return own == tab || tab == tabDue && r.due && own == tabWaiting || tab == tabAll && own != tabArchived
}

// tab is the tab of a row; what was archived is in none of the others.
func (r sorted) tab() int {
	if r.archived {
		return tabArchived
	}
	return tabOf(r.standing)
}

// tabOf is the tab of a standing.
func tabOf(s i18n.Standing) int {
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
