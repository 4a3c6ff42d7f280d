package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// The request budget of reconciling: status calls at once, and in a burst as so many seconds' worth; per second it is
// Pace.Statuses.
const (
	statusAtOnce = 4
	statusBurst  = 4
)

// newBudget returns what all questions about packages share.
func newBudget(pace loop.Pace) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(pace.Statuses), max(1, int(statusBurst*pace.Statuses)))
}

// runReconcile asks for the truth: on start, on wake, when the tunnel or the sign-in returns, after an event, and
// otherwise at a pace that slows as packages grow old.
func (a *Agent) runReconcile(ctx context.Context) error {
	a.reconcileSoon("start")
	var list listing
	clock := loop.WatchClock(a.Now())
	for {
		pause, err := a.reconcile(ctx, &list)
		if err != nil {
			return err
		}
		clock.Wait(a.Now(), pause)
		if !loop.Wait(ctx, pause, a.rings.reconcile) {
			return nil
		}
		if by := clock.Jumped(a.Now()); by != 0 {
			a.wokeUp(by)
		}
	}
}

// maxIdle is the longest pause between two looks at what is due.
const maxIdle = time.Minute

// reconcile asks about everything that is due and returns how long nothing will be.
func (a *Agent) reconcile(ctx context.Context, list *listing) (pause time.Duration, err error) {
	a.webhook.Tell()
	a.TellQuarantine()
	a.saves.TellRefused()
	client, online := a.online()
	if !online {
		return maxIdle, nil
	}
	if left := a.Breaker.Left(a.Now()); left > 0 {
		return min(left, maxIdle), nil
	}
	if a.sweep.take(a.Now()) {
		if err := a.markAllDue(); err != nil {
			return 0, err
		}
		a.saves.Resume()
		a.saves.Wake()
		list.rest = loop.Cooldown{}
	}
	a.lookAround(ctx, client, list) // first: what it meets is caught up with, and told of, together with the rest
	defer a.setBacklog(0)
	for ctx.Err() == nil {
		var due []office.Package
		var next time.Time
		err := a.Data.View(func(tx *store.Tx) error {
			var err error
			if due, err = tx.PackagesDue(a.Due(loop.MaxPackageWait), 200+a.Quarantine.Len()); err != nil {
				return err
			}
			next, err = tx.NextPackageCheck()
			return err
		})
		if err != nil {
			return 0, err
		}
		all := len(due)
		due = slices.DeleteFunc(due, func(p office.Package) bool {
			return p.Service != client.Home() || a.LeftAlone("package "+p.ID) // the service may have been changed just now
		})
		if len(due) == 0 {
			if a.sweep.ended(a.Now()) {
				a.Signal(office.StatusChanged)
			}
			pause = min(loop.UntilNext(a.Now(), next, maxIdle), a.sweep.left(a.Now(), maxIdle), list.rest.Left(a.Now()))
			return a.PauseBeside(all, max(pause, loop.MinPause)), nil
		}
		a.setBacklog(len(due))
		if err := a.checkPackages(ctx, client, due); err != nil {
			if ctx.Err() != nil || a.signedOut(err) {
				return maxIdle, nil
			}
			var e *esign.Error
			if !errors.As(err, &e) {
				return 0, err
			}
			return a.PauseAfter(err, a.troubles.Round()), nil
		}
	}
	return maxIdle, nil
}

// checkPackages asks about every package in due. It stops early with an error that concerns the service as a whole.
func (a *Agent) checkPackages(ctx context.Context, client *esign.Client, due []office.Package) error {
	// More at once than a person would cause: catching up, to be told in a summary.
	quiet := len(due) > 5
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(loop.MaxCommits)
	questions := loop.NewSemaphore(statusAtOnce)
	for _, p := range due {
		if err := a.budget.Wait(gctx); err != nil || !questions.Acquire(gctx) {
			break
		}
		g.Go(func() error {
			answered := sync.OnceFunc(questions.Release)
			defer answered()
			status, err := client.Status(gctx, p.ID)
			if err == nil { // a failure may be the last: nobody asks on until it is noted
				status = a.withDeclined(gctx, client, status)
				answered()
			}
			return a.One(gctx, "package "+p.ID, func() error { return a.notePackage(gctx, p, status, err, quiet) })
		})
	}
	return g.Wait()
}

// notePackage draws the consequences of a status answer: facts, save jobs, the time to ask again. Only an error that
// concerns the service as a whole is returned; what only this package meets puts it alone off.
func (a *Agent) notePackage(ctx context.Context, p office.Package, status esign.Status, err error, quiet bool) error {
	a.noteServiceError(ctx, err)
	var e *esign.Error
	switch {
	case err == nil:
		a.troubles.Clear(p.ID)
		a.Suspects.Clear(p.ID)
		return a.applyCheck(p.ID, status, quiet)
	case ctx.Err() != nil:
		return nil
	case loop.ConcernsAll(err), a.signedOut(err):
		return err
	}
	errors.As(err, &e)
	switch e.Kind {
	case esign.Invalid:
		return a.setIDAside(p.ID, message.Then(esign.Message(err), message.LookOnItsPages()))
	case esign.NotFound, esign.Forbidden, esign.Refused, esign.SignedOut:
		return a.missPackage(p.ID, e, 0)
	case esign.TooMany:
		if e.RetryAfter > 0 {
			return err
		}
	}
	tries, row := a.troubles.Add(p.ID)
	pause := a.Backoff(tries, a.Pace.Retry, time.Hour)
	if a.Suspects.Refuses(p.ID, e) {
		err = a.missPackage(p.ID, e, pause)
	} else {
		err = a.putOff(p.ID, pause)
	}
	if err != nil {
		return err
	}
	if row > statusAtOnce {
		return e
	}
	return nil
}

// setIDAside says of a package that its id cannot be used.
func (a *Agent) setIDAside(id string, problem message.Message) error {
	a.TellUnusable(id, id, problem)
	return a.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
			return err
		}
		p.NextCheck, p.Problem = a.Now().Add(loop.UnusablePause), problem
		return tx.PutPackage(p)
	})
}

// putOff leaves a package alone for a while.
func (a *Agent) putOff(id string, pause time.Duration) error {
	return a.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
			return err
		}
		p.NextCheck = a.Now().Add(pause)
		return tx.PutPackage(p)
	})
}

// checkPause is how long a package may be left alone: the older, the longer; without events, less.
func (a *Agent) checkPause(p office.Package, s office.Settings) time.Duration {
	age := a.Age(p.Created)
	var pause time.Duration
	switch {
	case p.State == office.PackageExecuted: // waits for its documents to be listed
		return min(max(a.Age(p.Executed), 30*time.Second), time.Hour)
	case age < time.Hour:
		pause = 5 * time.Minute
	case age < 24*time.Hour:
		pause = 20 * time.Minute
	case age < 7*24*time.Hour:
		pause = 2 * time.Hour
	default:
		pause = 12 * time.Hour
	}
	if a.webhook.Deaf() || s.Tunnel == office.TunnelNone {
		pause /= 10
	}
	return pause
}
