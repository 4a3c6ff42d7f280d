package packages

import (
	"slices"

	"countersign/internal/office"
)

// Stuck are packages in the list that will not be signed as they stand: declined or expired.
type Stuck struct {
	First office.PackageLine // the newest
	Count int
}

// tellStuck tells of the packages that are stuck when they are others than before. It looks at all only when all are new, or
// more or fewer have a problem.
func (s *Screen) tellStuck(all bool) {
	if problems := s.all.counts[tabProblems]; !all && problems == s.problems {
		return
	}
	s.problems = s.all.counts[tabProblems]
	var now Stuck
	for place, r := range slices.Backward(s.all.rows) { // the newest first
		if r.tab() != tabProblems {
			continue
		}
		l := s.all.line(int32(place))
		if over := l.Standing(); over != office.StandsDeclined && over != office.StandsExpired {
			continue
		}
		if now.Count++; now.Count == 1 {
			now.First = l
		}
	}
	if now != s.stuck {
		s.stuck = now
		if s.OnStuck != nil {
			s.OnStuck(now)
		}
	}
}

// Stuck are the packages that are stuck now.
func (s *Screen) Stuck() Stuck { return s.stuck }

// ShowStuck shows what is stuck: the one package, or the tab with all of them.
func (s *Screen) ShowStuck() {
	if s.stuck.Count == 1 {
		s.Show(s.stuck.First.ID)
		return
	}
	s.widen()
	s.tabs.Choose(tabProblems)
}
