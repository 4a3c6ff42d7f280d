package office

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Order is what a list of packages is sorted by.
type Order string

const (
	ByCreated  Order = "created"  // newest first
	ByName     Order = "name"     // as people compare names
	ByDue      Order = "due"      // those that wait, then the others: the first one due first, those without a date last
	ByExecuted Order = "executed" // the last one that everybody signed first, those that wait last
)

// Query says which packages a person wants to see. The zero Query is all that are in the list, newest first.
type Query struct {
	States   []Standing `json:"states,omitempty"` // none for all
	Person   string     `json:"person,omitempty"` // words in the name or address of somebody who signs
	Search   string     `json:"search,omitempty"` // words, as in the window's search
	Since    time.Time  `json:"since,omitzero"`   // known here from then on
	Until    time.Time  `json:"until,omitzero"`   // and up to then
	Origin   Origin     `json:"origin,omitempty"` // "" for wherever it was made
	Archived bool       `json:"archived,omitempty"`
	Sort     Order      `json:"sort,omitempty"` // "" is ByCreated
	Reverse  bool       `json:"reverse,omitempty"`
	Limit    int        `json:"limit,omitempty"` // 0 for none
}

// SearchText is what a search for words looks at, before Fold.
func (l PackageLine) SearchText() string { return l.Name + "\n" + l.People + "\n" + l.Words }

// Fits returns whether q asks for a line, apart from how many.
func (q Query) Fits() func(PackageLine) bool {
	person, words := strings.Fields(Fold(q.Person)), strings.Fields(Fold(q.Search))
	return func(l PackageLine) bool {
		switch {
		case l.Archived && !q.Archived,
			!q.Since.IsZero() && l.Created.Before(q.Since),
			!q.Until.IsZero() && l.Created.After(q.Until),
			q.Origin != "" && l.Origin != q.Origin,
			len(q.States) > 0 && !slices.Contains(q.States, l.Standing()),
			len(person) > 0 && !HasWords(Fold(l.People), person),
			len(words) > 0 && !HasWords(Fold(l.SearchText()), words):
			return false
		}
		return true
	}
}

// Choose returns the lines that q asks for, in its order; lines are newest first, and stay as they are.
func (q Query) Choose(lines []PackageLine) (found []PackageLine) {
	fits := q.Fits()
	for _, l := range lines {
		if fits(l) {
			found = append(found, l)
		}
	}
	slices.SortStableFunc(found, q.compare())
	if q.Reverse {
		slices.Reverse(found)
	}
	if q.Limit > 0 && len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found
}

func (q Query) compare() func(a, b PackageLine) int {
	switch q.Sort {
	case ByName:
		return func(a, b PackageLine) int { return CompareNames(Fold(a.Name), Fold(b.Name)) }
	case ByDue:
		return func(a, b PackageLine) int { return a.DueKey().Compare(b.DueKey()) }
	case ByExecuted:
		return func(a, b PackageLine) int {
			return cmp.Or(unknownLast(a.Executed, b.Executed), b.Executed.Compare(a.Executed))
		}
	}
	return func(a, b PackageLine) int { return b.Created.Compare(a.Created) }
}

// DueKey is what ByDue sorts by.
type DueKey struct {
	over bool // nobody waits for it, so that its date matters less than any other
	due  time.Time
}

// DueKey is the key of a line.
func (l PackageLine) DueKey() DueKey { return DueKey{l.Standing() != StandsWaiting, l.Due} }

// Compare is ByDue.
func (k DueKey) Compare(other DueKey) int {
	if k.over != other.over {
		if k.over {
			return 1
		}
		return -1
	}
	return cmp.Or(unknownLast(k.due, other.due), k.due.Compare(other.due))
}

// CompareNames compares two names after Fold as people do: numbers by what they count, no name last.
func CompareNames(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(b, a)
	}
	for a != "" && b != "" {
		m, n := digits(a), digits(b)
		if m == 0 || n == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}
		x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}
		a, b = a[m:], b[n:]
	}
	return cmp.Compare(a, b)
}

// digits is how many a text begins with.
func digits(text string) (n int) {
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n
}

// unknownLast compares two moments by whether they are known at all.
func unknownLast(a, b time.Time) int {
	switch {
	case a.IsZero() == b.IsZero():
		return 0
	case a.IsZero():
		return 1
	}
	return -1
}

// Named returns the packages that a person may mean by a word: the one of that id, or else those of that name and those
// whose id begins so.
func Named(lines []PackageLine, word string) (found []PackageLine) {
	word = strings.TrimSpace(word)
	if word == "" {
		return nil
	}
	for _, l := range lines {
		if l.ID == word {
			return []PackageLine{l}
		}
		if l.Name == word || strings.HasPrefix(l.ID, word) {
			found = append(found, l)
		}
	}
	return found
}
