package sandbox

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// ListHabits are oddities of packages/list that the interface does not rule out. The zero value has none of them.
type ListHabits struct {
	Order    string `json:"order"`     // of the list, whatever sortBy asks for: newest (as for ""), oldest, name, or random, which is a new order for each page
	MostTake int    `json:"most_take"` // how many items a page has at most, whatever take asks for; 0 is no such limit
	NoSkip   bool   `json:"no_skip"`   // every page is the first one
	Shift    int    `json:"shift"`     // how many items are added before each further page, which then repeats that many; below 0, how many are removed, which the page then leaves out
}

// lists holds how lists are answered. It may be used from any goroutine.
type lists struct {
	mu     sync.Mutex
	habits ListHabits
	pages  int // read since the last first one
}

// SetListHabits makes packages/list answer in that way from now on.
func (s *Server) SetListHabits(h ListHabits) {
	s.lists.mu.Lock()
	defer s.lists.mu.Unlock()
	s.lists.habits, s.lists.pages = h, 0
}

// part sorts found, which is newest first, as the habits have it, and returns where the page begins and ends in it.
func (l *lists) part(found []*shelved, skip, take int) (from, to int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.habits
	sortPacks(found, h.Order)
	if h.MostTake > 0 {
		take = min(take, h.MostTake)
	}
	if skip == 0 {
		l.pages = 0
	}
	from = skip
	if skip > 0 && skip < len(found) {
		l.pages++
		from = max(0, skip-h.Shift*l.pages)
	}
	if h.NoSkip {
		from = 0
	}
	from = min(from, len(found))
	return from, min(len(found), from+take)
}

// newestFirst orders packages by creation.
func newestFirst(a, b *pack) int {
	return cmp.Or(b.TimeCreated.Compare(a.TimeCreated), strings.Compare(a.PackageID, b.PackageID))
}

// sortPacks sorts by creation, newest first, unless order says otherwise.
func sortPacks(list []*shelved, order string) {
	slices.SortFunc(list, func(a, b *shelved) int {
		switch order {
		case "oldest":
			a, b = b, a
		case "name":
			return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.PackageID, b.PackageID))
		}
		return byAge(a, b)
	})
	if order == "random" {
		chance().Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
}
