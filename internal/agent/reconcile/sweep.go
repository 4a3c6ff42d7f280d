package reconcile

import (
	"sync"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// sweepPause is the least time between two sweeps over all open packages that nothing but a returning connection
// asked for.
const sweepPause = 5 * time.Minute

// sweeper remembers that all open packages are to be asked about. Whoever asks for a sweep is owed one: if not at once,
// then when the pause after the last one is over. Safe for concurrent use.
type sweeper struct {
	mu     sync.Mutex
	owed   bool
	atOnce bool          // it does not wait for the pause
	rest   loop.Cooldown // after the last one

	under    bool      // a sweep has begun and not come to its end
	unlisted bool      // the last one has asked about everything, but the list could not be read since
	last     time.Time // when everything had been asked about and the list could be read
}

// ended notes that everything was asked about, and whether the list could be read: without it nobody knows what there is besides. It
// reports whether that changes the state.
func (s *sweeper) ended(now time.Time, listed bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.under && (!s.unlisted || !listed) {
		return false
	}
	s.under, s.unlisted = false, !listed
	if listed {
		s.last = now
	}
	return true
}

// state is when the last sweep came to a good end, and whether one is under way or owed at once.
func (s *sweeper) state() (last time.Time, under bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.under || s.owed && s.atOnce
}

// owe asks for a sweep.
func (s *sweeper) owe(atOnce bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed, s.atOnce = true, s.atOnce || atOnce
}

// take reports whether a sweep is to begin now, and begins the pause after it.
func (s *sweeper) take(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.owed || !s.atOnce && !s.rest.Over(now) {
		return false
	}
	s.owed, s.atOnce, s.under = false, false, true
	s.rest = loop.CoolFor(now, sweepPause)
	return true
}

// left is how long until the sweep that is owed may begin; limit when none is owed before.
func (s *sweeper) left(now time.Time, limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.owed:
		return limit
	case s.atOnce:
		return 0
	default:
		return min(s.rest.Left(now), limit)
	}
}

// SweepReturn is the reason that may come in bursts: a tunnel that flaps.
const SweepReturn = "the public address is open again"

// Sweep asks for the status of every package that is not final: something may have been missed.
func (r *Room) Sweep(why string) {
	r.Log.Debug("reconcile", "why", why)
	r.sweep.owe(why != SweepReturn)
	r.Wake()
}

// MakeAllDue makes everything that waits for its time due now: packages that are not final, files and drafts.
func (r *Room) MakeAllDue() error {
	now := r.Now()
	return r.Data.Update(func(tx *store.Tx) error {
		open, err := tx.AllOpen()
		if err != nil {
			return err
		}
		for _, p := range open {
			if p.NextCheck.Before(now) {
				continue
			}
			p.NextCheck = now
			if err := tx.PutPackage(p); err != nil {
				return err
			}
		}
		waiting, err := tx.PendingJobs()
		if err != nil {
			return err
		}
		for _, j := range waiting {
			if j.NextTry.Before(now) {
				continue
			}
			j.NextTry = now
			if err := tx.PutJob(j); err != nil {
				return err
			}
		}
		drafts, err := tx.Drafts(office.DraftQueued, office.DraftUnknown)
		if err != nil {
			return err
		}
		for _, d := range drafts {
			if d.NextTry.Before(now) {
				continue
			}
			d.NextTry = now
			if err := tx.PutDraft(d); err != nil {
				return err
			}
		}
		return nil
	})
}
