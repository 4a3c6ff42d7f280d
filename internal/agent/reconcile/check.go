package reconcile

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
)

// How fast packages are asked about: Pace.Statuses a second, so many seconds' worth in a burst, and so many at once. One hand more is
// kept for what people wait for (office.AtOnce), so that a service that is slow to tell about hundreds holds up none of that.
const (
	statusAtOnce = 4
	statusBurst  = 4
)

// NewBudget returns what all questions about packages share.
func NewBudget(pace loop.Pace) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(pace.Statuses), max(1, int(statusBurst*pace.Statuses)))
}

// Run asks for the truth: on start, on wake, when the tunnel or the sign-in returns, after an event, and
// otherwise at a pace that slows as packages grow old. What is necessary, the status, is asked by itself; what is not, full records
// and the list, apart from it, and neither waits for the other.
//
// One that failed is run again. It goes on where it was: what has it fail, such as a full disk, may do so for hours, and the
// service is not to be asked about everything each time.
func (r *Service) Run(ctx context.Context) error {
	r.start.Do(func() { r.Sweep("start") })
	g, gctx := errgroup.WithContext(ctx)
	for name, run := range map[string]func(context.Context) error{
		"status": r.runChecks, "records": r.runRecords, "list": r.runList, "watch": r.watch,
	} {
		g.Go(func() error { return loop.Protect(gctx, loop.Loop{Name: name, Run: run}) })
	}
	return g.Wait()
}

// watch keeps in step what becomes true with time alone, and notices that the wall clock has jumped.
func (r *Service) watch(ctx context.Context) error {
	clock := loop.WatchClock(r.Now())
	for {
		r.deps.Webhook.Tell()
		r.TellQuarantine()
		r.deps.Files.TellRefused()
		clock.Wait(r.Now(), maxIdle)
		if !loop.Wait(ctx, maxIdle, r.look) {
			return nil
		}
		if by := clock.Jumped(r.Now()); by != 0 {
			r.deps.WokeUp(by)
		}
	}
}

// maxIdle is the longest pause between two looks at what is due.
const maxIdle = time.Minute

// runChecks asks for the status of every package that is due.
func (r *Service) runChecks(ctx context.Context) error {
	for {
		pause, err := r.reconcile(ctx)
		if err != nil {
			return err
		}
		if !loop.Wait(ctx, pause, r.work) {
			return nil
		}
	}
}

// reconcile asks about everything that is due and returns how long nothing will be.
func (r *Service) reconcile(ctx context.Context) (pause time.Duration, err error) {
	client, pause := r.mayAsk()
	if client == nil {
		return pause, nil
	}
	c := checks{service: r, client: client, busy: map[string]bool{}, ended: make(chan struct{}, 1)}
	defer r.setBacklog(0)
	pause, err = c.run(ctx)
	var e *esign.Error
	switch {
	case err == nil:
		return pause, nil
	case ctx.Err() != nil || r.deps.SignedOut(err):
		return maxIdle, nil
	case !errors.As(err, &e):
		return 0, err
	}
	return r.PauseAfter(err, int(r.failedRounds.Add(1)), loop.MaxRoundPause), nil
}

// mayAsk returns the service that can be asked now; nil, and when to look again, where there is none.
func (r *Service) mayAsk() (client *esign.Client, pause time.Duration) {
	client, online := r.deps.Online()
	if !online {
		return nil, maxIdle
	}
	if left := r.Breaker.Left(r.Now()); left > 0 {
		return nil, min(left, maxIdle)
	}
	return client, 0
}

// checks are the questions for the status of the packages that are due, until none is. What becomes due meanwhile is asked about, too.
// Its fields belong to the goroutine of run, but for what is under mu.
type checks struct {
	service *Service
	client  *esign.Client
	due     []office.Package // and not asked about yet, the longest due first
	burst   time.Time        // when more were due last than a person would cause in a moment
	ended   chan struct{}    // rings when a question was answered, or a package is not busy any more

	mu     sync.Mutex
	asking int             // questions that are not answered
	busy   map[string]bool // packages that are asked about, or whose answer is being recorded
}

// run returns early with an error that concerns the service as a whole; else how long nothing will be due.
func (c *checks) run(ctx context.Context) (pause time.Duration, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(loop.MaxCommits)
	for gctx.Err() == nil {
		var idle bool
		if idle, pause, err = c.start(gctx, g); idle || err != nil {
			break
		}
		look := time.NewTimer(pause)
		select {
		case <-c.ended:
		case <-c.service.work:
			c.due = nil // something may be more urgent
		case <-look.C:
		case <-gctx.Done():
		}
		look.Stop()
	}
	if err != nil {
		stop()
	}
	if failed := g.Wait(); failed != nil {
		err = failed
	}
	return pause, err
}

// start has g ask about what is due, as far as there are hands. idle is set when nothing is, and nothing under way; pause is when to
// look again.
func (c *checks) start(ctx context.Context, g *errgroup.Group) (idle bool, pause time.Duration, err error) {
	r := c.service
	for ctx.Err() == nil {
		if err := r.takeSweep(); err != nil {
			return false, 0, err
		}
		if client, pause := r.mayAsk(); client != c.client { // else what is begun comes to its end
			return !c.atWork(), max(pause, loop.MinPause), nil
		}
		if len(c.due) == 0 {
			if pause, err = c.look(); err != nil {
				return false, 0, err
			}
		}
		r.setBacklog(len(c.due))
		if len(c.due) == 0 {
			return !c.atWork(), pause, nil
		}
		p := c.due[0]
		urgent := p.NextCheck.Equal(office.AtOnce)
		if !c.begin(p.ID, urgent) {
			return false, maxIdle, nil
		}
		c.due = c.due[1:]
		quiet := !urgent && !p.NextCheck.After(c.burst)
		g.Go(func() error { return c.ask(ctx, p, quiet) })
		select {
		case <-r.work:
			c.due = nil
		default:
		}
	}
	return false, 0, nil
}

// catchingUpMany is how many packages may be due at once without that being catching up, which is told in a summary.
const catchingUpMany = 5

// dueAtOnce is how many of the packages that are due are looked at together.
const dueAtOnce = 200

// look finds packages that are due and not busy; without any, how long there will be none.
func (c *checks) look() (pause time.Duration, err error) {
	r, now := c.service, c.service.Now()
	c.mu.Lock()
	busy := maps.Clone(c.busy)
	c.mu.Unlock()
	var next time.Time
	due, err := data.Read(r.Data, "the packages that are due", func(tx *store.Tx) (due []office.Package, err error) {
		if next, err = tx.NextPackageCheck(); err != nil {
			return nil, err
		}
		return tx.PackagesDue(r.Due(loop.MaxPackageWait), dueAtOnce+len(busy)+r.Quarantine.Waiting(r.Now()))
	})
	if err != nil {
		return 0, err
	}
	all := len(due)
	due = slices.DeleteFunc(due, func(p office.Package) bool {
		return p.Service != c.client.Home() || r.LeftAlone("package "+p.ID) // the service may have been changed just now
	})
	if len(due) > catchingUpMany {
		c.burst = now
	}
	if len(due) == 0 || !r.sweep.covers(due[0].NextCheck) {
		r.tellSwept(r.sweep.asked(now))
	}
	alone := all - len(due)
	c.due = slices.DeleteFunc(due, func(p office.Package) bool { return busy[p.ID] })
	pause = min(loop.UntilNext(now, next, maxIdle), r.sweepLeft(now))
	return r.PauseBeside(alone+len(busy), max(pause, loop.MinPause)), nil
}

// begin takes a hand to ask about a package, unless there is none.
func (c *checks) begin(id string, urgent bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asking > statusAtOnce || c.asking == statusAtOnce && !urgent {
		return false
	}
	c.asking++
	c.busy[id] = true
	return true
}

// atWork reports whether anything is under way.
func (c *checks) atWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.busy) > 0
}

// ask asks about p and records the answer.
func (c *checks) ask(ctx context.Context, p office.Package, quiet bool) error {
	answered := sync.OnceFunc(func() {
		c.mu.Lock()
		c.asking--
		c.mu.Unlock()
		loop.Wake(c.ended)
	})
	defer func() {
		c.mu.Lock()
		delete(c.busy, p.ID)
		c.mu.Unlock()
		answered()
		loop.Wake(c.ended)
	}()
	if c.service.deps.Budget.Wait(ctx) != nil {
		return nil
	}
	retried := c.service.retried.Load()
	status, err := c.client.Status(ctx, p.ID)
	if err == nil { // a failure may be the last: nobody asks on until it is noted
		answered()
	}
	return c.service.One(ctx, "package "+p.ID, func() error {
		noted := c.service.notePackage(ctx, p, status, err, quiet)
		if err != nil && noted == nil && retried != c.service.retried.Load() {
			return c.service.putOff(p, 0) // the refusal is older than the person's word
		}
		return noted
	})
}

// notePackage records what a status call brought: facts, save jobs, when to ask again. It returns only errors that concern
// the service as a whole; trouble with one package puts off that package alone.
func (r *Service) notePackage(ctx context.Context, p office.Package, status esign.Status, err error, quiet bool) error {
	r.deps.Answered(ctx, err)
	var e *esign.Error
	switch {
	case err == nil:
		r.Asked.Worked(p.ID)
		r.failedInRow.Store(0)
		r.failedRounds.Store(0)
		noted, err := r.applyCheck(p, status, quiet)
		if err != nil || noted {
			return err
		}
		return r.putOff(p, 0)
	case ctx.Err() != nil:
		return nil
	case loop.ConcernsAll(err), r.deps.SignedOut(err):
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
	tries, alone := r.Asked.Failed(p.ID, r.Now(), nil)
	pause := r.Backoff(tries, r.Pace.Retry, time.Hour)
	if loop.Refuses(e, alone) {
		err = r.missPackage(p, e, pause)
	} else {
		err = r.putOff(p, pause)
	}
	if err != nil {
		return err
	}
	if r.failedInRow.Add(1) > statusAtOnce { // a service that is out of reach is not asked about each package
		return e
	}
	return nil
}

// setIDAside says of a package that its id cannot be used.
func (r *Service) setIDAside(id string, problem message.Message) error {
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
func (r *Service) putOff(asked office.Package, pause time.Duration) error {
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
func (r *Service) checkPause(p office.Package, s office.Settings) time.Duration {
	age := r.Age(p.Created)
	if sent := p.Sent(); !sent.By { // which may be days later
		age = min(age, r.Age(sent.Time))
	}
	var pause time.Duration
	switch {
	case p.State == office.PackageExecuted: // waits for its documents to be listed
		return min(max(r.Age(p.Executed.Time), 30*time.Second), time.Hour)
	case p.State.Over() && !p.RecordPending.IsZero():
		return min(max(r.Age(p.RecordPending), r.Pace.Retry), time.Hour)
	case age < time.Hour:
		pause = 5 * time.Minute
	case age < 24*time.Hour:
		pause = 20 * time.Minute
	case age < 7*24*time.Hour:
		pause = 2 * time.Hour
	default:
		pause = 12 * time.Hour
	}
	if r.deps.Webhook.Deaf() || s.Tunnel == office.TunnelNone {
		pause /= 10
	}
	return pause
}
