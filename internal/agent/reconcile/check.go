package reconcile

import (
	"context"
	"errors"
	"maps"
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

// Limits on status calls: Pace.Statuses per second, so many seconds' worth in a burst, and so many at once. One more slot is
// reserved for what people wait for (office.AtOnce), so that a service that is slow to answer about hundreds does not delay that.
const (
	statusAtOnce = 4
	statusBurst  = 4
)

// NewBudget returns the rate limit shared by all calls about packages.
func NewBudget(pace loop.Pace) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(pace.Statuses), max(1, int(statusBurst*pace.Statuses)))
}

// RunWatch updates what depends only on time, and detects jumps of the wall clock.
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

// maxIdle is the longest pause between two checks for due packages.
const maxIdle = time.Minute

// RunStatus requests the status of every due package: after the start, on wake, when the tunnel or the sign-in returns, after an
// event, and otherwise at intervals that grow with a package's age.
func (r *Service) RunStatus(ctx context.Context) error {
	return loop.Repeat(ctx, r.work, r.reconcile)
}

// reconcile requests the status of everything due and returns how long until the next is.
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
	pause = r.PauseAfter(err, int(r.failedRounds.Add(1)), loop.MaxRoundPause)
	r.unanswered(pause)
	return pause, nil
}

// mayAsk returns the client if the service may be called now; otherwise nil and when to check again.
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

// checks requests the status of due packages until none is due, including those that become due meanwhile. Its fields belong to
// run's goroutine, except those under mu.
type checks struct {
	service *Service
	client  *esign.Client
	due     []office.Package // not requested yet, longest due first
	burst   time.Time        // when more were last due than a person would cause at once
	ended   chan struct{}    // signals that a call was answered, or a package is no longer busy

	mu     sync.Mutex
	asking int             // calls not answered yet
	busy   map[string]bool // packages with a call in progress or an answer being recorded
}

// run returns early with an error that concerns the service as a whole; otherwise how long nothing will be due.
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

// start starts calls for due packages, as far as slots are free. idle is true if nothing is due or in progress; pause is when to
// check again.
func (c *checks) start(ctx context.Context, g *errgroup.Group) (idle bool, pause time.Duration, err error) {
	r := c.service
	for ctx.Err() == nil {
		sweep, err := r.takeSweep()
		if err != nil {
			return false, 0, err
		}
		if client, pause := r.mayAsk(); client != c.client { // otherwise let calls in progress finish
			return !c.atWork(), max(pause, loop.MinPause), nil
		}
		if len(c.due) == 0 {
			if idle, pause, err = c.look(sweep); err != nil {
				return false, 0, err
			}
		}
		r.setBacklog(len(c.due))
		if len(c.due) == 0 {
			return idle, pause, nil
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

// catchingUpMany is how many packages may be due at once without counting as catching up, which is reported in a summary.
const catchingUpMany = 5

// dueAtOnce is how many due packages are read together.
const dueAtOnce = 200

// look finds packages that are due and not busy; if there are none, how long until then, at most longest, and whether none was busy:
// one that was may be due again by now.
func (c *checks) look(longest time.Duration) (idle bool, pause time.Duration, err error) {
	r, now := c.service, c.service.Now()
	c.mu.Lock()
	busy := maps.Clone(c.busy)
	c.mu.Unlock()
	var next time.Time
	due, err := data.Read(r.Data, "the packages that are due", func(tx *store.Tx) (due []office.Package, err error) {
		next, _ = tx.NextPackageCheck()
		return tx.PackagesDue(r.Due(loop.MaxPackageWait), dueAtOnce+len(busy)+r.Quarantine.Waiting(r.Now()))
	})
	if err != nil {
		return false, 0, err
	}
	all := len(due)
	due = slices.DeleteFunc(due, func(p office.Package) bool {
		return p.Service != c.client.Home() || r.LeftAlone("package "+p.ID) // the service may have just changed
	})
	if len(due) > catchingUpMany {
		c.burst = now
	}
	if len(due) == 0 || !r.sweep.covers(due[0].NextCheck) {
		if r.sweep.asked(now) {
			r.Signal(office.StatusChanged)
		}
		var forbidden message.Message
		if r.sweep.allForbidden() {
			forbidden = message.MayNotSee()
		}
		r.Health.Update(health.MayNotSee, forbidden)
	}
	alone := all - len(due)
	c.due = slices.DeleteFunc(due, func(p office.Package) bool { return busy[p.ID] })
	pause = loop.UntilNext(now, next, longest)
	return len(busy) == 0, r.PauseBeside(alone+len(busy), max(pause, loop.MinPause)), nil
}

// begin reserves a slot for a package, if one is free.
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

// atWork reports whether anything is in progress.
func (c *checks) atWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.busy) > 0
}

// ask requests p's status and records the answer.
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
	began := c.service.allDue.Load()
	status, err := c.client.Status(ctx, p.ID)
	if err == nil { // after a failure, start no other call until it is recorded
		answered()
	}
	return c.service.One("package "+p.ID, func() error {
		noted := c.service.notePackage(ctx, p, status, err, quiet)
		if noted == nil && began != c.service.allDue.Load() {
			return c.service.putOff(p, 0) // the answer may be older than the reason to ask about everything
		}
		return noted
	})
}

// notePackage records the result of a status call: facts, save jobs, when to ask again. It returns only errors that concern the
// service as a whole; trouble with one package postpones only that package.
func (r *Service) notePackage(ctx context.Context, p office.Package, status esign.Status, err error, quiet bool) error {
	var e *esign.Error
	errors.As(err, &e)
	broken := e != nil && (e.Kind == esign.Server || e.Kind == esign.BadAnswer) && e.RetryAfter == 0
	if ofOne := broken && r.Asked.Alone(p.ID); !ofOne {
		r.Session.Note(ctx, err)
	}
	switch {
	case err == nil:
		r.Asked.Worked(p.ID)
		r.failedInRow.Store(0)
		r.failedRounds.Store(0)
		if r.sweep.heard(r.Now(), true); r.Health.Clear(health.MayNotSee) {
			r.Sweep("the service answers about packages again") // each would wait as long as it was refused
		}
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
	if e.Kind == esign.Forbidden || e.Kind == esign.SignedOut { // the sign-in works
		if r.sweep.heard(r.Now(), false) > refusedLong && !r.Health.Has(health.MayNotSee) {
			r.SweepInTime("the service tells of no package") // to know whether it tells of any
		}
	}
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
	if r.failedInRow.Add(1) > statusAtOnce { // stop asking an unreachable service about every package
		return e
	}
	return nil
}

// setIDAside records that a package's id cannot be used.
func (r *Service) setIDAside(id string, problem message.Message) error {
	r.TellUnusable(id, id, problem)
	return r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(id)
		if !ok {
			return err
		}
		p.NextCheck, p.Problem = r.Now().Add(loop.UnusablePause), problem
		return tx.PutPackage(p)
	})
}

// putOff postpones a package. asked is the package as known when the call was made.
func (r *Service) putOff(asked office.Package, pause time.Duration) error {
	return r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(asked.ID)
		if !ok {
			return err
		}
		p.NextCheck = r.Now().Add(pause)
		r.afterEvents(&p, asked)
		return tx.PutPackage(p)
	})
}

// checkPause returns how long a package may go unchecked: longer for older ones, less without events.
func (r *Service) checkPause(p office.Package, s office.Settings) time.Duration {
	age := r.AgeTold(p.Created)
	if sent := p.Sent(); !sent.By { // possibly days later than its creation
		age = min(age, r.AgeTold(sent.Time))
	}
	var pause time.Duration
	switch {
	case p.State == office.PackageExecuted && !p.Planned: // waits until its documents are listed
		return min(max(r.Age(p.Refused), r.Pace.Retry), time.Hour)
	case p.State == office.PackageExecuted && !p.Unlisted().IsZero():
		return min(max(r.AgeTold(p.Unlisted()), r.Pace.Retry), time.Hour)
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

// How many calls sweeps caused only by a returning connection may make: so many in a row, and so many per second on average. An
// office with few open packages gets a sweep at once each time, and one with very many every five minutes. The recovery of a partly
// working service is noticed by such calls themselves, which a sweep repeats: hence the pause between two sweeps.
const (
	sweepBurst  = 600
	sweepSecond = 2
	sweepPause  = 5 * time.Minute
)

// sweeper remembers that all open packages have to be checked. Every request for a sweep is granted: if not at once, then when
// earlier sweeps have been paid for. Safe for concurrent use.
type sweeper struct {
	mu     sync.Mutex
	wanted bool
	atOnce bool          // start regardless of the budget
	opened bool          // the public address is open again: wait for the budget, not for the pause
	rest   loop.Cooldown // until past sweeps are paid for; up to sweepBurst may be owed
	pause  loop.Cooldown // after the last sweep

	began           time.Time // start of the last sweep
	asking, listing bool      // the packages, or the list, are not done yet
	unlisted        bool      // done, but the list could not be read
	relist          bool      // not yet returned by takeList
	last            time.Time // when everything had last been checked, including the list

	answered, forbidden bool // the service has answered about a package since the sweep began; it has refused to answer about one of the sweep

	refused time.Time // since when it has answered about none; zero if the last was answered

	tried, next time.Time // when the service last did not answer, and when it is asked again; zero if it did, or is asked first
}

// refusedLong is how long the service may refuse to tell of packages before all of them are asked about.
const refusedLong = 2 * time.Minute

// heard records that the service has answered about a package, or forbids the account to see it, and returns since how long it has
// answered about none.
func (s *sweeper) heard(now time.Time, answer bool) (refused time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answered, s.forbidden = s.answered || answer, s.forbidden || !answer && s.asking
	s.tried, s.next = time.Time{}, time.Time{}
	switch {
	case answer:
		s.refused = time.Time{}
		return 0
	case s.refused.IsZero():
		s.refused = now
	}
	return now.Sub(s.refused)
}

// allForbidden reports whether the account may see none of the packages of the sweep.
func (s *sweeper) allForbidden() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forbidden && !s.answered
}

// allDue records that whatever is due by now is part of the present sweep.
func (s *sweeper) allDue(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = now.Round(0)
}

// covers reports whether the present sweep, if any, includes a package due since then.
func (s *sweeper) covers(due time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !due.After(s.began)
}

// asked records that every package was checked, and reports whether that changes the state.
func (s *sweeper) asked(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asking {
		return false
	}
	s.asking = false
	return s.ended(now)
}

// listed records whether the list could be read, without which unknown packages may be missing. It reports whether that changes the
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

// takeList reports, once, that a sweep has begun for which the list must be read from its beginning, and whether one begins soon.
func (s *sweeper) takeList() (relist, soon bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	relist, s.relist = s.relist, false
	return relist, s.wanted && s.atOnce
}

// state returns when the last sweep ended successfully, and whether one is in progress or starts at once, unless the service does not
// answer.
func (s *sweeper) state() (last time.Time, under bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last, s.tried.IsZero() && (s.asking || s.listing || s.wanted && s.atOnce)
}

// request asks for a sweep: at once, because the public address is open again, or otherwise because the service works again.
func (s *sweeper) request(atOnce, opened bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted, s.atOnce, s.opened = true, s.atOnce || atOnce, s.opened || opened
	s.tried, s.next = time.Time{}, time.Time{}
}

// answers records that the service answers.
func (s *sweeper) answers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tried, s.next = time.Time{}, time.Time{}
}

// unanswered records that the service did not answer and is asked again after pause.
func (r *Service) unanswered(pause time.Duration) {
	s, now := &r.sweep, r.Now()
	s.mu.Lock()
	if next := now.Add(pause); !s.next.After(now) || next.Before(s.next) {
		s.next = next
	}
	s.tried = now
	s.mu.Unlock()
	r.Signal(office.StatusChanged)
}

// take reports whether a sweep over that many open packages starts now, and charges for it; otherwise how long until then.
func (s *sweeper) take(now time.Time, open int) (begins bool, left time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left = s.waits(now, open); left > 0 {
		return false, left
	}
	s.wanted, s.atOnce, s.opened, s.asking, s.listing, s.unlisted, s.relist, s.began = false, false, false, true, true, false, true, now.Round(0)
	s.answered, s.forbidden = false, false
	s.rest = loop.CoolFor(now, min(s.rest.Left(now)+sweepCost(open), sweepCost(sweepBurst)))
	s.pause = loop.CoolFor(now, sweepPause)
	return true, 0
}

// waits returns how long the requested sweep has to wait. The caller holds mu.
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

// sweepCost returns the time to pay for a sweep over that many open packages, including reading the list.
func sweepCost(open int) time.Duration {
	return time.Duration(min(open+1, sweepBurst)) * time.Second / sweepSecond
}

func (s *sweeper) isWanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wanted
}

// takeSweep starts the requested sweep once allowed. It returns when to check again, at most maxIdle.
func (r *Service) takeSweep() (pause time.Duration, err error) {
	if !r.sweep.isWanted() {
		return maxIdle, nil
	}
	open, err := data.Read(r.Data, "how many packages are open", func(tx *store.Tx) (int, error) { return tx.CountOpen(sweepBurst) })
	if err != nil {
		return 0, err
	}
	begins, left := r.sweep.take(r.Now(), open)
	if !begins {
		return min(left, maxIdle), nil
	}
	if err := r.MakeAllDue(); err != nil {
		r.sweep.request(false, true) // request it again
		return 0, err
	}
	r.sweep.allDue(r.Now())
	r.deps.Files.Resume()
	r.deps.Files.Wake()
	r.deps.Drafts()
	loop.Wake(r.lists)
	return maxIdle, nil
}

// Sweep requests the status of every package that is not final, because something may have been missed.
func (r *Service) Sweep(why string) { r.requestSweep(why, true, false) }

// SweepOpened is Sweep because the public address is open again, which it may be again and again.
func (r *Service) SweepOpened() { r.requestSweep("the public address is open again", false, true) }

// SweepInTime is Sweep for a reason that may come in bursts: a partly working service, or events in a form that nobody foresaw.
func (r *Service) SweepInTime(why string) { r.requestSweep(why, false, false) }

func (r *Service) requestSweep(why string, atOnce, opened bool) {
	r.Log.Debug("reconcile", "why", why)
	r.sweep.request(atOnce, opened)
	r.Wake()
}

// MakeAllDue makes everything that waits due now: packages that are not final, even those with a call in progress, their withdrawals
// unless a person may still undo them, files and drafts.
func (r *Service) MakeAllDue() error {
	r.allDue.Add(1)
	now := r.Now()
	return r.Data.Update(func(tx *store.Tx) error {
		open, _ := tx.AllOpen()
		waiting, _ := tx.PendingJobs()
		drafts, _ := tx.Drafts(office.DraftQueued)
		for _, p := range open {
			w := p.Withdrawal
			waits := w.Pending() && !w.Undoable() && !w.NextTry.Before(now)
			if waits {
				w.NextTry = now
			}
			if !p.NextCheck.Before(now) {
				p.NextCheck, waits = now, true
			}
			if waits {
				tx.PutPackage(p)
			}
		}
		for _, j := range waiting {
			if !j.NextTry.Before(now) {
				j.NextTry = now
				tx.PutJob(j)
			}
		}
		for _, d := range drafts {
			if !d.NextTry.Before(now) {
				d.NextTry = now
				tx.PutDraft(d)
			}
		}
		return nil
	})
}
