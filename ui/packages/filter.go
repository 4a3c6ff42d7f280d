package packages

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

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
	tabArchived
	tabCount
)

// listed is a package of the list with what the search and the tabs need of it.
type listed struct {
	line     office.PackageLine
	standing i18n.Standing
	text     string // folded

	issue *agent.Issue  // instead of a package: what is wrong with the office
	draft *office.Draft // instead of a package: what waits to be sent
}

// index is every package, newest first, prepared for tabs and search. It is not changed once it is made, so it is made
// off the window's goroutine and a key stroke only compares.
type index struct {
	rows   []listed
	places map[string]int32 // package id to its place in rows
}

func newIndex(lines []office.PackageLine) *index {
	x := &index{rows: make([]listed, len(lines)), places: make(map[string]int32, len(lines))}
	for i, l := range lines {
		x.rows[i] = listed{line: l, standing: i18n.StandingOfLine(l), text: fold(l.Name + "\n" + l.People + "\n" + l.Words)}
		x.places[l.ID] = int32(i)
	}
	return x
}

// search returns the places of the packages that have all words of text, among the places given; nil means all.
func (x *index) search(text string, among []int32) []int32 {
	wanted := strings.Fields(fold(text))
	if among == nil {
		found := make([]int32, 0, len(x.rows))
		for i := range x.rows {
			if matches(x.rows[i].text, wanted) {
				found = append(found, int32(i))
			}
		}
		return found
	}
	found := make([]int32, 0, len(among))
	for _, i := range among {
		if matches(x.rows[i].text, wanted) {
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
		if own != tabAll && own != tabArchived {
			counts[tabAll]++
		}
		if own == tab || tab == tabAll && own != tabArchived {
			shown = append(shown, i)
		}
	}
	return shown, counts
}

func matches(text string, wanted []string) bool {
	for _, w := range wanted {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// tab is the tab of a row; what was archived is in none of the others.
func (r listed) tab() int {
	if r.line.Archived {
		return tabArchived
	}
	return tabOf(r.standing)
}

// tabOf is the tab of a standing; what was withdrawn is only among all.
func tabOf(s i18n.Standing) int {
	switch s {
	case i18n.Open:
		return tabWaiting
	case i18n.Saving, i18n.Saved:
		return tabDone
	case i18n.Wrong:
		return tabProblems
	default:
		return tabAll
	}
}

// undivided are letters that Unicode does not take apart into a letter and its mark, but people type without it.
var undivided = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i")

// fold makes text comparable for people: neither case nor accents matter, nor how they are encoded.
func fold(text string) string {
	text = strings.ToLower(text)
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return undivided.Replace(strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return r
			}, norm.NFD.String(text)))
		}
	}
	return text
}
