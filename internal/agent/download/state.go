package download

import (
	"maps"
	"strings"
	"sync"
	"time"

	"countersign/internal/agent/loop"
)

// maxFolderPause is the longest pause between two looks at a folder that takes no files.
const maxFolderPause = 5 * time.Minute

// state is what the saving loop remembers beside the store: jobs under way, folders that take no files just now,
// folders that were swept, and how many downloads failed in a row. Safe for concurrent use.
type state struct {
	mu       sync.Mutex
	underWay map[string]bool // keys of jobs
	leftOut  bool            // some that are due were left out, for others of their package are under way
	blocked  map[string]*block
	clean    map[string]bool
	fails    int

	breaker loop.Breaker // until when no download begins
}

// begin notes that the job of that key is worked on.
func (s *state) begin(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.underWay == nil {
		s.underWay = map[string]bool{}
	}
	s.underWay[key] = true
}

// end notes that it is no longer, and reports whether to look for others that are due: no job is under way now, or some were left out.
func (s *state) end(key string) (look bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.underWay, key)
	return len(s.underWay) == 0 || s.leftOut
}

// beyondShare is asked for the keys of jobs in turn, and tells which are not to be begun: those that are under way, and those of
// packages that have their share of what is, and of what it has let pass. One goroutine asks.
func (s *state) beyondShare(underWay map[string]bool) (skip func(key string) bool) {
	share := map[string]int{}
	of := func(key string) string {
		pack, _, _ := strings.Cut(key, "/")
		return pack
	}
	for key := range underWay {
		share[of(key)]++
	}
	s.mu.Lock()
	s.leftOut = false
	s.mu.Unlock()
	return func(key string) bool {
		switch {
		case underWay[key]:
			return true
		case share[of(key)] >= packageShare:
			s.mu.Lock()
			s.leftOut = true
			s.mu.Unlock()
			return true
		}
		share[of(key)]++
		return false
	}
}

// busy returns the keys of all jobs that are worked on.
func (s *state) busy() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.underWay)
}

// block is a folder that could not take a file.
type block struct {
	cooldown loop.Cooldown
	tries    int
	full     bool // it is there, but has no room
}

// block leaves folder alone for after(n) after its nth failure in a row. Downloads that fail side by side count once.
func (s *state) block(folder string, full bool, now time.Time, after func(n int) time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blocked == nil {
		s.blocked = map[string]*block{}
	}
	b := s.blocked[folder]
	if b == nil {
		b = &block{}
		s.blocked[folder] = b
	}
	if !b.cooldown.Over(now) {
		return
	}
	b.tries++
	b.full = full
	b.cooldown = loop.CoolFor(now, after(b.tries))
}

// isBlocked reports whether folder is to be left alone.
func (s *state) isBlocked(folder string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.blocked[folder]
	return b != nil && !b.cooldown.Over(now)
}

// blocking reports whether any folder is blocked.
func (s *state) blocking(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.blocked {
		if !b.cooldown.Over(now) {
			return true
		}
	}
	return false
}

// nextTry is when the next blocked folder may be looked at.
func (s *state) nextTry(now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	least := maxFolderPause
	for _, b := range s.blocked {
		if left := b.cooldown.Left(now); left > 0 {
			least = min(least, left)
		}
	}
	return now.Add(least)
}

// open notes that folder could be opened or, when took is set, has taken a file, and reports whether no folder is in trouble
// any more because of that. That a full disk can be opened is no news.
func (s *state) open(folder string, took bool) (allWell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.blocked[folder]
	if b == nil || b.full && !took {
		return false
	}
	delete(s.blocked, folder)
	return len(s.blocked) == 0
}

// unblock gives the service and every folder another chance at once.
func (s *state) unblock() {
	s.breaker.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.blocked {
		b.cooldown, b.tries = loop.Cooldown{}, 0
	}
}

// forget is unblock when the files that waited may be meant for other folders now.
func (s *state) forget() {
	s.breaker.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.blocked)
}

func (s *state) swept(folder string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clean[folder]
}

func (s *state) sweptNow(folder string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clean == nil {
		s.clean = map[string]bool{}
	}
	s.clean[folder] = true
}

// fail counts a download that the service did not give, and returns how many there were in a row.
func (s *state) fail() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails++
	return s.fails
}

// trip lets no download begin for pause(n) after the nth failure in a row; those under way go on. Failures side by side
// count once.
func (s *state) trip(now time.Time, pause func(n int) time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.breaker.Left(now) == 0 {
		s.fails++
		s.breaker.Open(now, pause(s.fails))
	}
}

func (s *state) worked() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fails = 0
}
