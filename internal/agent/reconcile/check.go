package reconcile

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// How fast packages are asked about: Pace.Statuses a second, so many seconds' worth in a burst, and so many at once.
const (
	statusAtOnce = 4
	statusBurst  = 4
)

// NewBudget returns what all questions about packages share.
func NewBudget(pace loop.Pace) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(pace.Statuses), max(1, int(statusBurst*pace.Statuses)))
}

// Run asks for the truth: on start, on wake, when the tunnel or the sign-in returns, after an event, and
// otherwise at a pace that slows as packages grow old.
//
// One that failed is run again. It goes on where it was: what has it fail, such as a full disk, may do so for hours, and the
// service is not to be asked about everything each time.
func (r *Room) Run(ctx context.Context) error {
	r.start.Do(func() { r.Sweep("start") })
	clock := loop.WatchClock(r.Now())
	for {
		pause, err := r.reconcile(ctx, &r.list)
		if err != nil {
			return err
		}
		clock.Wait(r.Now(), pause)
		if !loop.Wait(ctx, pause, r.work) {
			return nil
		}
		if by := clock.Jumped(r.Now()); by != 0 {
			r.needs.WokeUp(by)
		}
	}
}

// maxIdle is the longest pause between two looks at what is due.
const maxIdle = time.Minute

// reconcile asks about everything that is due and returns how long nothing will be.
func (r *Room) reconcile(ctx context.Context, list *discovery) (pause time.Duration, err error) {
	r.needs.Webhook.Tell()
	r.TellQuarantine()
	r.needs.Files.TellRefused()
	client, online := r.needs.Online()
	if !online {
		return maxIdle, nil
	}
	if left := r.Breaker.Left(r.Now()); left > 0 {
		return min(left, maxIdle), nil
	}
	if r.sweep.take(r.Now()) {
		if err := r.MakeAllDue(); err != nil {
			r.sweep.owe(false) // it is owed all the same
			return 0, err
		}
		r.needs.Files.Resume()
		r.needs.Files.Wake()
		list.rest, list.behind = loop.Cooldown{}, list.reading != nil
	}
	if r.Health.Has(health.ServiceFails) && list.tries == 0 && list.doubted.Over(r.Now()) {
		// What a person asked for failed, and nothing else may ask for hours whether it still does.
		list.rest, list.doubted = loop.Cooldown{}, loop.CoolFor(r.Now(), listOften)
	}
	r.lookAround(ctx, client, list) // first: what it meets is caught up with, and told of, together with the rest
	defer r.setBacklog(0)
	for ctx.Err() == nil {
		var next time.Time
		due, err := data.Read(r.Data, "the packages that are due", func(tx *store.Tx) (due []office.Package, err error) {
			if next, err = tx.NextPackageCheck(); err != nil {
				return nil, err
			}
			return tx.PackagesDue(r.Due(loop.MaxPackageWait), 200+r.Quarantine.Len())
		})
		if err != nil {
			return 0, err
		}
		all := len(due)
		due = slices.DeleteFunc(due, func(p office.Package) bool {
			return p.Service != client.Home() || r.LeftAlone("package "+p.ID) // the service may have been changed just now
		})
		if len(due) == 0 {
			if r.sweep.ended(r.Now(), list.tries == 0) {
				r.Signal(office.StatusChanged)
			}
			pause = min(loop.UntilNext(r.Now(), next, maxIdle), r.sweep.left(r.Now(), maxIdle), list.rest.Left(r.Now()))
			return r.PauseBeside(all, max(pause, loop.MinPause)), nil
		}
		r.setBacklog(len(due))
		if err := r.checkPackages(ctx, client, due); err != nil {
			if ctx.Err() != nil || r.needs.SignedOut(err) {
				return maxIdle, nil
			}
			var e *esign.Error
			if !errors.As(err, &e) {
				return 0, err
			}
			return r.PauseAfter(err, r.failures.Round(), loop.MaxRoundPause), nil
		}
	}
	return maxIdle, nil
}

// checkPackages asks about every package in due. It stops early with an error that concerns the service as a whole.
func (r *Room) checkPackages(ctx context.Context, client *esign.Client, due []office.Package) error {
	// More than a person would cause in a moment: this is catching up, and is told in a summary.
	quiet := len(due) > 5
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(loop.MaxCommits)
	questions := loop.NewSemaphore(statusAtOnce)
	for _, p := range due {
		if err := r.needs.Budget.Wait(gctx); err != nil || !questions.Acquire(gctx) {
			break
		}
		g.Go(func() error {
			answered := sync.OnceFunc(questions.Release)
			defer answered()
			status, err := client.Status(gctx, p.ID)
			if err == nil { // a failure may be the last: nobody asks on until it is noted
				status = r.withRecord(gctx, client, &p, status)
				answered()
			}
			return r.One(gctx, "package "+p.ID, func() error { return r.notePackage(gctx, p, status, err, quiet) })
		})
	}
	return g.Wait()
}

// notePackage records what a status call brought: facts, save jobs, when to ask again. It returns only errors that concern
// the service as a whole; trouble with one package puts off that package alone.
func (r *Room) notePackage(ctx context.Context, p office.Package, status esign.Status, err error, quiet bool) error {
	r.needs.Answered(ctx, err)
	var e *esign.Error
	switch {
	case err == nil:
		r.failures.Clear(p.ID)
		r.Suspects.Clear(p.ID)
		noted, err := r.applyCheck(p, status, quiet)
		if err != nil || noted {
			return err
		}
		return r.putOff(p, 0)
	case ctx.Err() != nil:
		return nil
	case loop.ConcernsAll(err), r.needs.SignedOut(err):
		return err
	}
	errors.As(err, &e)
	switch e.Kind {
	case esign.Invalid:
		return r.setIDAside(p.ID, message.Then(esign.Message(err), message.LookOnItsPages()))
	case esign.NotFound, esign.Forbidden, esign.Refused, esign.SignedOut:
		return r.missPackage(p, e, 0)
	case esign.TooMany:
		if e.RetryAfter > 0 {
			return err
		}
	}
	tries, row := r.failures.Add(p.ID)
	pause := r.Backoff(tries, r.Pace.Retry, time.Hour)
	if r.Suspects.Refuses(p.ID, e) {
		err = r.missPackage(p, e, pause)
	} else {
		err = r.putOff(p, pause)
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
func (r *Room) setIDAside(id string, problem message.Message) error {
	r.TellUnusable(id, id, problem)
	return r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
			return err
		}
		p.NextCheck, p.Problem = r.Now().Add(loop.UnusablePause), problem
		return tx.PutPackage(p)
	})
}

// putOff leaves a package alone for a while. asked is the package as it was known when the question was put.
func (r *Room) putOff(asked office.Package, pause time.Duration) error {
	return r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(asked.ID)
		if err != nil || !ok {
			return err
		}
		p.NextCheck = r.Now().Add(pause)
		r.afterEvents(&p, asked)
		return tx.PutPackage(p)
	})
}

// checkPause is how long a package may be left alone: the older, the longer; without events, less.
func (r *Room) checkPause(p office.Package, s office.Settings) time.Duration {
	age := r.Age(p.Created)
	if sent := p.Sent(); !sent.By { // which may be days later
		age = min(age, r.Age(sent.Time))
	}
	var pause time.Duration
	switch {
	case p.State == office.PackageExecuted: // waits for its documents to be listed
		return min(max(r.Age(p.Executed.Time), 30*time.Second), time.Hour)
	case !p.RecordOwed.IsZero():
		return min(max(r.Age(p.RecordOwed), r.Pace.Retry), time.Hour)
	case age < time.Hour:
		pause = 5 * time.Minute
	case age < 24*time.Hour:
		pause = 20 * time.Minute
	case age < 7*24*time.Hour:
		pause = 2 * time.Hour
	default:
		pause = 12 * time.Hour
	}
	if r.needs.Webhook.Deaf() || s.Tunnel == office.TunnelNone {
		pause /= 10
	}
	return pause
}
