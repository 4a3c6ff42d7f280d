package reconcile

import (
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// How many questions the sweeps may put that nothing but a returning connection asked for: so many in a row, and so many a second
// on the average. An office with few open packages is owed one at once each time, and one with very many every five minutes.
const (
	sweepBurst  = 600
	sweepSecond = 2
)

// sweeper remembers that all open packages are to be asked about. Whoever asks for a sweep is owed one: if not at once,
// then when those before it have been paid for. Safe for concurrent use.
type sweeper struct {
	mu     sync.Mutex
	owed   bool
	atOnce bool          // it does not wait for its questions
	rest   loop.Cooldown // until the sweeps so far are paid for, the next of which may cost less than sweepBurst

	began           time.Time // the last one
	asking, listing bool      // what it has not come to the end of: the packages, the list
	unlisted        bool      // it has, but the list could not be read since
	relist          bool      // takeList has not said so yet
	last            time.Time // when everything had been asked about and the list could be read
}

// allDue notes that whatever is due by now is part of the sweep that has begun.
func (s *sweeper) allDue(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = now.Round(0)
}

// covers reports whether the sweep under way, if any, asks about a package that is due since then.
func (s *sweeper) covers(due time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !due.After(s.began)
}

// asked notes that every package was asked about, and reports whether that changes the state.
func (s *sweeper) asked(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asking {
		return false
	}
	s.asking = false
	return s.ended(now)
}

// listed notes whether the list could be read: without it nobody knows what there is besides. It reports whether that changes the
// state.
func (s *sweeper) listed(now time.Time, ok bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.relist || !s.listing && (!s.unlisted || !ok) {
		return false
	}
	s.listing, s.unlisted = false, !ok
	return s.ended(now)
}

func (s *sweeper) ended(now time.Time) bool {
	if s.asking || s.listing {
		return false
	}
	if !s.unlisted {
		s.last = now
	}
	return true
}

// takeList reports, once, that a sweep has begun for which the list is to be read from its beginning, and whether one begins soon.
func (s *sweeper) takeList() (relist, soon bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	relist, s.relist = s.relist, false
	return relist, s.owed && s.atOnce
}

// state is when the last sweep came to a good end, and whether one is under way or owed at once.
func (s *sweeper) state() (last time.Time, under bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.asking || s.listing || s.owed && s.atOnce
}

// owe asks for a sweep.
func (s *sweeper) owe(atOnce bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owed, s.atOnce = true, s.atOnce || atOnce
}

// take reports whether a sweep over so many open packages is to begin now, and has it paid for.
func (s *sweeper) take(now time.Time, open int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	cost, debt := sweepCost(open), s.rest.Left(now)
	if !s.owed || !s.atOnce && debt+cost > sweepCost(sweepBurst) {
		return false
	}
	s.owed, s.atOnce, s.asking, s.listing, s.unlisted, s.relist, s.began = false, false, true, true, false, true, now.Round(0)
	s.rest = loop.CoolFor(now, min(debt+cost, sweepCost(sweepBurst)))
	return true
}

// sweepCost is how long a sweep over so many open packages is to be paid for: the list is read, too.
func sweepCost(open int) time.Duration {
	return time.Duration(min(open+1, sweepBurst)) * time.Second / sweepSecond
}

// left is how long until the sweep over so many open packages that is owed may begin; limit when none is owed before.
func (s *sweeper) left(now time.Time, open int, limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.owed:
		return limit
	case s.atOnce:
		return 0
	default:
		return min(max(s.rest.Left(now)+sweepCost(open)-sweepCost(sweepBurst), 0), limit)
	}
}

// owes reports whether a sweep is owed.
func (s *sweeper) owes() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owed
}

// openPackages is how many packages a sweep asks about, as far as the counters know.
func (r *Room) openPackages() (int, error) {
	counts, err := data.Read(r.Data, "how many packages are open", (*store.Tx).PackageCounts)
	return counts.Open + counts.Declined, err
}

// takeSweep begins the sweep that is owed, once it may.
func (r *Room) takeSweep() error {
	if !r.sweep.owes() {
		return nil
	}
	open, err := r.openPackages()
	if err != nil || !r.sweep.take(r.Now(), open) {
		return err
	}
	if err := r.MakeAllDue(); err != nil {
		r.sweep.owe(false) // it is owed all the same
		return err
	}
	r.sweep.allDue(r.Now())
	r.needs.Files.Resume()
	r.needs.Files.Wake()
	loop.Wake(r.lists)
	return nil
}

// sweepLeft is how long until the sweep that is owed may begin, at most maxIdle.
func (r *Room) sweepLeft(now time.Time) time.Duration {
	if !r.sweep.owes() {
		return maxIdle
	}
	open, err := r.openPackages()
	if err != nil { // which health says
		return maxIdle
	}
	return r.sweep.left(now, open, maxIdle)
}

// tellSwept has people see how far the sweep is, where that has changed.
func (r *Room) tellSwept(changed bool) {
	if changed {
		r.Signal(office.StatusChanged)
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
