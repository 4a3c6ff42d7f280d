package agent

import (
	"sync"
	"time"
)

// silenceGrace is how long after a package was found finished its event may still come.
const silenceGrace = 2 * time.Minute

// silence are packages that were finished while this computer listened, and whose event never came: setting an endpoint
// replaces any other of the same client (interface.md, events/endpoints/set), so another computer may have taken it.
// It is kept in memory only: after a restart the next such package tells again. Safe for concurrent use.
type silence struct {
	mu    sync.Mutex
	since map[string]time.Time // packageId -> when it was found
}

func (s *silence) note(packageID string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[string]time.Time{}
	}
	s.since[packageID] = now
}

// lasting reports whether the event of some package is overdue.
func (s *silence) lasting(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, since := range s.since {
		if now.Sub(since) >= silenceGrace {
			return true
		}
	}
	return false
}

func (s *silence) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.since)
}

// listeningSince is since when events could have come without a break; zero when they cannot now.
func (a *Agent) listeningSince() time.Time {
	e := a.endpoints.get()
	a.mu.Lock()
	defer a.mu.Unlock()
	if e == nil || a.tunnel.State != "up" {
		return time.Time{}
	}
	now := a.now()
	var since time.Time
	for _, t := range []time.Time{a.tunnel.Since, e.Registered, a.awake} {
		if t.After(since) && !t.After(now) { // what lies ahead was noted by a clock that was wrong
			since = t
		}
	}
	return since
}

// heard ends the silence: the service does report to this computer.
func (a *Agent) heard() {
	a.silence.end()
	a.health.clear("endpoint-lost")
}

// tellSilence says in health that somebody else may be getting the events.
func (a *Agent) tellSilence() {
	if a.silence.lasting(a.now()) {
		a.health.set("endpoint-lost", Warning, ActTakeEndpoint,
			"The signing service did not report some signatures to this computer. The events might be going to another computer. Documents are still saved, but later.")
	}
}
