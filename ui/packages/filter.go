package packages

import (
	"strings"
	"sync"

	"countersign/internal/agent"
	"countersign/internal/office"
	"countersign/ui/i18n"
)

// The tabs, in their order.
const (
	tabWaiting = iota
	tabDone
	tabProblems
	tabAll
	tabWithdrawn
	tabArchived
	tabCount
)

// listed is a package of the list with what the search and the tabs need of it.
type listed struct {
	line     office.PackageLine
	standing i18n.Standing
	text     string // folded; empty for a package, whose index has it

	issue *agent.Issue  // instead of a package: what is wrong with the office
	draft *office.Draft // instead of a package: what waits to be sent
}

// index is every package, newest first, ready for tabs, and for the search once it is prepared. It is made and prepared off
// the window's goroutine, so that a key stroke only compares; nothing else changes it.
type index struct {
	rows     []listed
	places   map[string]int32 // package id to its place in rows
	texts    []string         // folded, of each row; empty until it is prepared
	prepared sync.Once
}

// newIndex is the index of lines. What is as it was in the index before, which may be nil, is taken from there.
func newIndex(lines []office.PackageLine, before *index) *index {
	n := len(lines)
	x := &index{rows: make([]listed, n), places: make(map[string]int32, n), texts: make([]string, n)}
	if before == nil {
		before = &index{}
	}
	before.prepare()
	for i, l := range lines {
		x.places[l.ID] = int32(i)
		if was, ok := before.places[l.ID]; ok && before.rows[was].line == l {
			x.rows[i], x.texts[i] = before.rows[was], before.texts[was]
			continue
		}
		x.rows[i] = listed{line: l, standing: i18n.StandingOfLine(l)}
	}
	return x
}

// prepare makes the texts for the search, which takes longer than all the rest. It may be called from any goroutine, and
// does nothing the second time.
func (x *index) prepare() {
	x.prepared.Do(func() {
		for i, r := range x.rows {
			if x.texts[i] == "" {
				x.texts[i] = office.Fold(r.line.SearchText())
			}
		}
	})
}

// search returns the places of the packages that have all words of text, among the places given; nil means all.
func (x *index) search(text string, among []int32) []int32 {
	wanted := strings.Fields(office.Fold(text))
	if len(wanted) > 0 {
		x.prepare()
	}
	if among == nil {
		found := make([]int32, 0, len(x.rows))
		for i := range x.rows {
			if office.HasWords(x.texts[i], wanted) {
				found = append(found, int32(i))
			}
		}
		return found
	}
	found := make([]int32, 0, len(among))
	for _, i := range among {
		if office.HasWords(x.texts[i], wanted) {
			found = append(found, i)
		}
	}
	return found
}

// sort returns which of the packages found belong to a tab, and how many belong to each.
func (x *index) sort(found []int32, tab int) (shown []int32, counts [tabCount]int) {
	for _, i := range found {
		own := x.rows[i].tab()
		counts[own]++
		if own != tabArchived {
			counts[tabAll]++
		}
		if own == tab || tab == tabAll && own != tabArchived {
			shown = append(shown, i)
		}
	}
	return shown, counts
}

// tab is the tab of a row; what was archived is in none of the others.
func (r listed) tab() int {
	if r.line.Archived {
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
