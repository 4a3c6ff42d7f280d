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
// on the average. An office with few open packages gets one at once each time, and one with very many every five minutes. The return
// of a service that works in part follows from the questions themselves, which a sweep puts again: there is the pause between two.
const (
	sweepBurst  = 600
	sweepSecond = 2
	sweepPause  = 5 * time.Minute
)

// sweeper remembers that all open packages are to be asked about. Whoever asks for a sweep gets one: if not at once,
// then when those before it have been paid for. Safe for concurrent use.
type sweeper struct {
	mu     sync.Mutex
	wanted bool
	atOnce bool          // it does not wait for its questions
	opened bool          // the public address is open again, so that it waits for its questions and not for the pause
	rest   loop.Cooldown // until the sweeps so far are paid for, the next of which may cost less than sweepBurst
	pause  loop.Cooldown // after the last one

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
	return relist, s.wanted && s.atOnce
}

// state is when the last sweep came to a good end, and whether one is under way or begins at once.
func (s *sweeper) state() (last time.Time, under bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.asking || s.listing || s.wanted && s.atOnce
}

// request asks for a sweep: at once, or because the public address is open again, or else because the service works again.
func (s *sweeper) request(atOnce, opened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted, s.atOnce, s.opened = true, s.atOnce || atOnce, s.opened || opened
}

// take reports whether a sweep over so many open packages is to begin now, and has it paid for.
func (s *sweeper) take(now time.Time, open int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wanted || s.waits(now, open) > 0 {
		return false
	}
	s.wanted, s.atOnce, s.opened, s.asking, s.listing, s.unlisted, s.relist, s.began = false, false, false, true, true, false, true, now.Round(0)
	s.rest = loop.CoolFor(now, min(s.rest.Left(now)+sweepCost(open), sweepCost(sweepBurst)))
	s.pause = loop.CoolFor(now, sweepPause)
	return true
}

// waits is how long the sweep that is wanted waits. s is locked.
func (s *sweeper) waits(now time.Time, open int) time.Duration {
	switch {
	case s.atOnce:
		return 0
	case s.opened:
		return max(s.rest.Left(now)+sweepCost(open)-sweepCost(sweepBurst), 0)
	default:
		return s.pause.Left(now)
	}
}

// sweepCost is how long a sweep over so many open packages is to be paid for: the list is read, too.
func sweepCost(open int) time.Duration {
	return time.Duration(min(open+1, sweepBurst)) * time.Second / sweepSecond
}

// left is how long until the sweep over so many open packages that is wanted may begin; limit when none is.
func (s *sweeper) left(now time.Time, open int, limit time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wanted {
		return limit
	}
	return min(s.waits(now, open), limit)
}

// isWanted reports whether a sweep is wanted.
func (s *sweeper) isWanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted
}

// openPackages is how many packages a sweep asks about, as far as the counters know.
func (r *Service) openPackages() (int, error) {
	counts, err := data.Read(r.Data, "how many packages are open", (*store.Tx).PackageCounts)
	return counts.Open + counts.Declined, err
}

// takeSweep begins the sweep that is wanted, once it may.
func (r *Service) takeSweep() error {
	if !r.sweep.isWanted() {
		return nil
	}
	open, err := r.openPackages()
	if err != nil || !r.sweep.take(r.Now(), open) {
		return err
	}
	if err := r.MakeAllDue(); err != nil {
		r.sweep.request(false, true) // it is wanted all the same
		return err
	}
	r.sweep.allDue(r.Now())
	r.deps.Files.Resume()
	r.deps.Files.Wake()
	loop.Wake(r.lists)
	return nil
}

// sweepLeft is how long until the sweep that is wanted may begin, at most maxIdle.
func (r *Service) sweepLeft(now time.Time) time.Duration {
	if !r.sweep.isWanted() {
		return maxIdle
	}
	open, err := r.openPackages()
	if err != nil { // which health says
		return maxIdle
	}
	return r.sweep.left(now, open, maxIdle)
}

// tellSwept has people see how far the sweep is, where that has changed.
func (r *Service) tellSwept(changed bool) {
	if changed {
		r.Signal(office.StatusChanged)
	}
}

// The reasons that may come in bursts: a tunnel that flaps, and a service that works in part.
const (
	SweepReturn  = "the public address is open again"
	SweepService = "the service works again"
)

// Sweep asks for the status of every package that is not final: something may have been missed.
func (r *Service) Sweep(why string) {
	r.Log.Debug("reconcile", "why", why)
	r.sweep.request(why != SweepReturn && why != SweepService, why == SweepReturn)
	r.Wake()
}

// Retry has everything tried at once that waits for its time, also what is asked about just now and about to be refused.
func (r *Service) Retry() error {
	r.retried.Add(1)
	return r.MakeAllDue()
}

// MakeAllDue makes everything that waits for its time due now: packages that are not final, files and drafts.
func (r *Service) MakeAllDue() error {
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
