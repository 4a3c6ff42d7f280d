package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"countersign/internal/esign"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// The request budget of reconciling: status calls at once, per second, and in a burst.
const (
	statusAtOnce = 4
	statusPerSec = 10
	statusBurst  = 40
)

// sweepPause is the least time between two sweeps over all open packages that nothing but a returning connection
// asked for.
const sweepPause = 5 * time.Minute

// sweeper remembers that all open packages are to be asked about. Safe for concurrent use.
type sweeper struct {
	mu    sync.Mutex
	due   bool
	last  time.Time
	quiet time.Time // until then the service is left alone, whoever asks
}

// rest leaves the service alone until then.
func (s *sweeper) rest(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.quiet = until
}

// resting is how long the service is still to be left alone. A clock that was set back does not prolong it beyond a day.
func (s *sweeper) resting(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.quiet.Sub(now), 24*time.Hour)
}

// reconcileSoon asks for the status of every package that is not final: something may have been missed.
func (a *Agent) reconcileSoon(why string) {
	a.sweep.mu.Lock()
	soon := a.sweep.due || a.now().Sub(a.sweep.last) > sweepPause || why != sweepReturn
	a.sweep.due = a.sweep.due || soon
	a.sweep.mu.Unlock()
	if soon {
		a.log.Debug("reconcile", "why", why)
		poke(a.rings.reconcile)
	}
}

// sweepReturn is the reason that may come in bursts: a tunnel that flaps.
const sweepReturn = "the public address is open again"

// runReconcile asks for the truth: on start, on wake, when the tunnel or the sign-in returns, after an event, and
// otherwise at a pace that slows as packages grow old.
func (a *Agent) runReconcile(ctx context.Context) error {
	a.reconcileSoon("start")
	limiter := rate.NewLimiter(statusPerSec, statusBurst)
	for {
		pause, err := a.reconcile(ctx, limiter)
		if err != nil {
			return err
		}
		slept := a.now()
		if !wait(ctx, pause, a.rings.reconcile) {
			return nil
		}
		// The wall clock runs on while a computer sleeps, timers do not.
		if a.now().Round(0).Sub(slept.Round(0)) > pause+time.Minute {
			a.reconcileSoon("the computer woke up")
			a.wakeAll()
		}
	}
}

// reconcile asks about everything that is due and returns how long nothing will be.
func (a *Agent) reconcile(ctx context.Context, limiter *rate.Limiter) (pause time.Duration, err error) {
	const idle = time.Minute
	a.tellSilence()
	a.tellTunnel()
	if wait := a.sweep.resting(a.now()); wait > 0 {
		return wait, nil
	}
	client, online := a.online()
	if !online {
		return idle, nil
	}
	if a.takeSweep() {
		if err := a.markOpenDue(); err != nil {
			return 0, err
		}
		if err := a.discover(ctx, client); err != nil && ctx.Err() == nil {
			a.log.Info("list packages", "err", err)
		}
	}
	for ctx.Err() == nil {
		var due []store.Package
		var next time.Time
		err := a.st.View(func(tx *store.Tx) error {
			var err error
			if due, err = tx.PackagesDue(a.now(), 200); err != nil {
				return err
			}
			next, err = tx.NextPackageCheck()
			return err
		})
		if err != nil {
			return 0, err
		}
		if len(due) == 0 {
			return untilNext(a.now(), next, idle), nil
		}
		// More at once than a person would cause: catching up, to be told in a summary.
		quiet := len(due) > 5
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(statusAtOnce)
		for _, p := range due {
			if err := limiter.Wait(gctx); err != nil {
				break
			}
			g.Go(func() error { return a.checkPackage(gctx, client, p, quiet) })
		}
		err = g.Wait()
		if ctx.Err() != nil {
			return 0, nil
		}
		if pause, stop := pauseFor(err); stop {
			a.sweep.rest(a.now().Add(pause))
			return pause, nil
		}
	}
	return idle, nil
}

// untilNext is the time from now to next, at most limit; limit when there is no next.
func untilNext(now, next time.Time, limit time.Duration) time.Duration {
	if next.IsZero() {
		return limit
	}
	return max(min(next.Sub(now), limit), 0)
}

// pauseFor says how long to leave the service alone after err.
func pauseFor(err error) (time.Duration, bool) {
	var e *esign.Error
	switch {
	case err == nil:
		return 0, false
	case errors.As(err, &e) && e.RetryAfter > 0:
		return e.RetryAfter, true
	default:
		return 15 * time.Second, true
	}
}

func (a *Agent) takeSweep() bool {
	a.sweep.mu.Lock()
	defer a.sweep.mu.Unlock()
	due := a.sweep.due
	if due {
		a.sweep.due, a.sweep.last = false, a.now()
	}
	return due
}

// markOpenDue makes every package that is not final due now.
func (a *Agent) markOpenDue() error {
	now := a.now()
	return a.st.Update(func(tx *store.Tx) error {
		open, err := tx.AllOpen()
		if err != nil {
			return err
		}
		for _, p := range open {
			if p.NextCheck.Before(now) {
				continue
			}
			p.NextCheck = now
			if err := putPackage(tx, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkPackage asks for one package's status and draws the consequences: facts, save jobs, the time to ask again.
// Only an error that concerns the service as a whole is returned.
func (a *Agent) checkPackage(ctx context.Context, client *esign.Client, p store.Package, quiet bool) error {
	status, err := client.Status(ctx, p.ID)
	a.noteServiceError(err)
	var e *esign.Error
	switch {
	case err == nil:
		return a.applyCheck(p.ID, status, quiet)
	case ctx.Err() != nil:
		return nil
	case errors.As(err, &e) && (e.Kind == esign.NotFound || e.Kind == esign.Forbidden || e.Kind == esign.Refused):
		return a.missPackage(p.ID, e)
	default:
		return err
	}
}

// missPackage notes that the service does not (or may not) tell about a package. A new one may only be late; an old
// one is gone.
func (a *Agent) missPackage(id string, cause *esign.Error) error {
	return a.st.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
			return err
		}
		now := a.now()
		age := now.Sub(p.Created)
		if cause.Kind == esign.NotFound && (age > 24*time.Hour || p.Origin == store.MadeElsewhere && age > time.Hour) {
			p.Gone = true
			addMoment(&p, store.Moment{Time: now, What: momentEnded, Ref: "gone"})
			return putPackage(tx, p)
		}
		p.NextCheck = now.Add(min(max(age, 10*time.Second), 6*time.Hour))
		return putPackage(tx, p)
	})
}

// applyCheck records a status answer and plans the files of a package that is executed.
func (a *Agent) applyCheck(id string, status esign.Status, quiet bool) error {
	s := a.Settings()
	names := a.openNames(s, a.saveFolder(s, a.packageOrZero(id)))
	defer names.close()
	listening := a.listeningSince()
	var facts []fact
	var planned int
	var silent bool
	err := a.st.Update(func(tx *store.Tx) error {
		facts, planned = nil, 0
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
			return err
		}
		known, open, checked := !p.Checked.IsZero(), p.State != stateExecuted, p.Checked
		news := applyStatus(&p, status, a.now())
		for _, x := range news {
			f := signedFact(p, x)
			f.quiet = quiet
			first, err := tx.Once(f.key, a.now())
			if err != nil {
				return err
			}
			if first && known {
				facts = append(facts, f)
			}
		}
		silent = known && open && p.State == stateExecuted && checked.After(listening) && !listening.IsZero()
		if p.DraftID == "" {
			if err := a.claimDraft(tx, &p, p.ExternalData); err != nil {
				return err
			}
		}
		if p.State == stateExecuted && !p.Planned && len(p.Documents) > 0 {
			if planned, err = a.plan(tx, &p, s, names); err != nil {
				return err
			}
		}
		p.NextCheck = a.now().Add(a.checkPause(p, s))
		return putPackage(tx, p)
	})
	if err != nil {
		return fmt.Errorf("record the status of package %s: %w", id, err)
	}
	if planned > 0 {
		poke(a.rings.save)
	}
	if silent {
		a.silence.note(id, a.now())
	}
	a.announce(facts...)
	a.watchers.signal(PackagesChanged)
	return nil
}

// checkPause is how long a package may be left alone: the older, the longer; without events, less.
func (a *Agent) checkPause(p store.Package, s Settings) time.Duration {
	age := a.now().Sub(p.Created)
	var pause time.Duration
	switch {
	case p.State == stateExecuted: // waits for its documents to be listed
		pause = 30 * time.Second
	case age < time.Hour:
		pause = 5 * time.Minute
	case age < 24*time.Hour:
		pause = 20 * time.Minute
	case age < 7*24*time.Hour:
		pause = 2 * time.Hour
	default:
		pause = 12 * time.Hour
	}
	if a.endpoints.get() == nil || s.Tunnel == TunnelNone {
		pause /= 10
	}
	return pause
}

// discover finds packages of the organization that were made elsewhere while this computer did not listen, as far as
// the service offers a list. What was finished before the office first signed in is not fetched.
func (a *Agent) discover(ctx context.Context, client *esign.Client) error {
	const page, most = 100, 2000
	a.mu.Lock()
	since := a.account.Since
	a.mu.Unlock()
	for skip := 0; skip < most; skip += page {
		list, err := client.List(ctx, esign.ListQuery{Take: page, Skip: skip})
		if err != nil {
			return err
		}
		fresh := 0
		err = a.st.Update(func(tx *store.Tx) error {
			fresh = 0
			for _, s := range list.Items {
				_, known, err := tx.Package(s.PackageID)
				if err != nil {
					return err
				}
				if known || s.PackageID == "" || ended(s.State) || s.State == "draft" {
					continue
				}
				if (s.State == stateExecuted || s.Executed) && s.TimeExecuted.Before(since) {
					continue
				}
				fresh++
				p := store.Package{ID: s.PackageID, Origin: store.MadeElsewhere, Name: s.Name, Created: a.now(), NextCheck: a.now()}
				if !s.TimeCreated.IsZero() {
					p.Created = s.TimeCreated
				}
				if err := putPackage(tx, p); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if len(list.Items) < page || fresh == 0 {
			return nil
		}
	}
	return nil
}
