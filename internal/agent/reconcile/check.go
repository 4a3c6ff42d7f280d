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

// RunWatch keeps in step what becomes true with time alone, and notices that the wall clock has jumped.
func (r *Service) RunWatch(ctx context.Context) error {
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

// RunStatus asks for the status of every package that is due: after the start, on wake, when the tunnel or the sign-in returns, after an
// event, and otherwise at a pace that slows as packages grow old.
func (r *Service) RunStatus(ctx context.Context) error {
	return loop.Repeat(ctx, r.work, r.reconcile)
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
	case ctx.Err() != nil || r.Session.SignedOut(err):
		return maxIdle, nil
	case !errors.As(err, &e):
		return 0, err
	}
	return r.PauseAfter(err, int(r.failedRounds.Add(1)), loop.MaxRoundPause), nil
}

// mayAsk returns the service that can be asked now; nil, and when to look again, where there is none.
func (r *Service) mayAsk() (client *esign.Client, pause time.Duration) {
	client, online := r.Session.Online()
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
		sweep, err := r.takeSweep()
		if err != nil {
			return false, 0, err
		}
		if client, pause := r.mayAsk(); client != c.client { // else what is begun comes to its end
			return !c.atWork(), max(pause, loop.MinPause), nil
		}
		if len(c.due) == 0 {
			if pause, err = c.look(sweep); err != nil {
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

// look finds packages that are due and not busy; without any, how long there will be none, at most longest.
func (c *checks) look(longest time.Duration) (pause time.Duration, err error) {
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
		if r.sweep.asked(now) {
			r.Signal(office.StatusChanged)
		}
	}
	alone := all - len(due)
	c.due = slices.DeleteFunc(due, func(p office.Package) bool { return busy[p.ID] })
	pause = loop.UntilNext(now, next, longest)
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
	return c.service.One("package "+p.ID, func() error {
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
	r.Session.Note(ctx, err)
	var e *esign.Error
	switch {
	case err == nil:
		r.Asked.Worked(p.ID)
		r.failedInRow.Store(0)
		r.failedRounds.Store(0)
		noted, err := r.applyCheck(p, status, quiet, true)
		if err != nil || noted {
			return err
		}
		return r.putOff(p, 0)
	case ctx.Err() != nil:
		return nil
	case loop.ConcernsAll(err), r.Session.SignedOut(err):
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

// take reports whether a sweep over so many open packages begins now, and has it paid for; else how long it will not.
func (s *sweeper) take(now time.Time, open int) (begins bool, left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left = s.waits(now, open); left > 0 {
		return false, left
	}
	s.wanted, s.atOnce, s.opened, s.asking, s.listing, s.unlisted, s.relist, s.began = false, false, false, true, true, false, true, now.Round(0)
	s.rest = loop.CoolFor(now, min(s.rest.Left(now)+sweepCost(open), sweepCost(sweepBurst)))
	s.pause = loop.CoolFor(now, sweepPause)
	return true, 0
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

func (s *sweeper) isWanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted
}

// takeSweep begins the sweep that is wanted, once it may. It returns when to look again, after maxIdle at the latest.
func (r *Service) takeSweep() (pause time.Duration, err error) {
	if !r.sweep.isWanted() {
		return maxIdle, nil
	}
	counts, err := data.Read(r.Data, "how many packages are open", (*store.Tx).PackageCounts)
	if err != nil {
		return 0, err
	}
	begins, left := r.sweep.take(r.Now(), counts.Open+counts.Declined)
	if !begins {
		return min(left, maxIdle), nil
	}
	if err := r.MakeAllDue(); err != nil {
		r.sweep.request(false, true) // it is wanted all the same
		return 0, err
	}
	r.sweep.allDue(r.Now())
	r.deps.Files.Resume()
	r.deps.Files.Wake()
	r.deps.Drafts()
	loop.Wake(r.lists)
	return maxIdle, nil
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
		open, err1 := tx.AllOpen()
		waiting, err2 := tx.PendingJobs()
		drafts, err3 := tx.Drafts(office.DraftQueued)
		err := errors.Join(err1, err2, err3)
		for _, p := range open {
			if !p.NextCheck.Before(now) {
				p.NextCheck = now
				err = errors.Join(err, tx.PutPackage(p))
			}
		}
		for _, j := range waiting {
			if !j.NextTry.Before(now) {
				j.NextTry = now
				err = errors.Join(err, tx.PutJob(j))
			}
		}
		for _, d := range drafts {
			if !d.NextTry.Before(now) {
				d.NextTry = now
				err = errors.Join(err, tx.PutDraft(d))
			}
		}
		return err
	})
}
