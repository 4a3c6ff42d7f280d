// Package loop has what every service of the agent needs: supervision, back-off, cool-downs, the breaker, wake-ups and change
// signals. It knows none of the services, nor packages, nor the signing service except that it may ask to be left alone.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Base is the foundation of every service of the agent. All of it is safe for concurrent use.
type Base struct {
	Log    *slog.Logger
	Now    func() time.Time
	Jitter func() float64 // 0..1
	Pace   Pace
	Data   *data.Data
	Health *health.Tracker

	Quarantine *Retries // events, packages, files and drafts that failed by themselves, see One
	Asked      *Retries // the packages and files about which the service was asked, by id
	Breaker    *Breaker // pauses all calls to the service
	Served     *Served  // what the service's clock shows

	Session Session // who is signed in; nil in account itself

	Signal func(office.Change)                                // notifies all watchers
	Watch  func() (changes <-chan office.Change, stop func()) // see Watchers
	Show   func(office.Activity)                              // shows an activity line as it is recorded; must not block
	Crash  func(point string)                                 // called at named points, where tests kill the process
}

// Session tells callers of the service who is signed in.
type Session interface {
	Online() (*esign.Client, bool)             // the client, while somebody is signed in and the keys are open
	SignedIn() bool                            // true even while the keys are locked
	SignedOut(err error) bool                  // whether err means that nobody is signed in any more
	Note(ctx context.Context, err error) error // records what a call's error, nil for success, says of the service as a whole; returns err
}

// Pace is how fast the agent retries and how much it asks of the service. Zero fields take the defaults.
type Pace struct {
	Retry    time.Duration // pause after a first failed call, doubled with each further one; default 2 s
	Folder   time.Duration // pause after the folder could not take a file, likewise; default 10 s
	Still    time.Duration // how long a hot folder's file must stay unchanged before it is taken; default 4 s
	Look     time.Duration // how often to scan a hot folder, in addition to change events; default 30 s
	Statuses float64       // status calls per second, with four times as many at first; default 10
}

// Complete fills in the defaults.
func (p Pace) Complete() Pace {
	p.Retry = cmp.Or(p.Retry, 2*time.Second)
	p.Folder = cmp.Or(p.Folder, 10*time.Second)
	p.Still = cmp.Or(p.Still, 4*time.Second)
	p.Look = cmp.Or(p.Look, 30*time.Second)
	p.Statuses = cmp.Or(p.Statuses, 10)
	return p
}

// Loop is a long-running loop of the agent.
type Loop struct {
	Name string
	Run  func(context.Context) error
}

// wellAfter is how long a loop must run to count as healthy again.
const wellAfter = time.Minute

// Protect runs do. A panic becomes an ObjectError: it concerns only the object that do works on.
func Protect(name string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = data.OfObject(fmt.Errorf("%s: panic: %v\n%s", name, r, debug.Stack()))
		}
	}()
	return do()
}

// Supervise keeps p running until ctx ends. A loop that fails or panics is reported to health and restarted after a pause, which
// doubles up to a minute. Once the loop has run for a minute, the report ends and the pause is short again.
func (t Base) Supervise(ctx context.Context, p Loop) {
	stopped := health.Stopped(p.Name)
	for tries := 1; ; tries++ {
		well := time.AfterFunc(wellAfter, func() { t.Health.Clear(stopped) })
		err := Protect(p.Name, func() error { return p.Run(ctx) })
		wasWell := !well.Stop()
		if ctx.Err() != nil {
			return
		}
		if wasWell {
			tries = 1
		}
		rest := t.Backoff(tries, t.Pace.Retry/2, time.Minute)
		t.Log.Error("a part stopped and starts again", "part", p.Name, "err", err, "rest", rest)
		if !t.Health.Has(health.DataNotWritten) { // otherwise that issue explains it
			t.Health.Set(stopped, message.PartStopped())
		}
		if !Sleep(ctx, rest) {
			return
		}
	}
}

// Sleep waits for d and reports whether ctx is still alive.
func Sleep(ctx context.Context, d time.Duration) bool { return Wait(ctx, d, nil) }

// Wait waits for d, a wake-up on ring, or the end of ctx, and reports whether ctx is still alive.
func Wait(ctx context.Context, d time.Duration, ring <-chan struct{}) bool {
	if d <= 0 { // without a timer that is due at once, on which synctest with the race detector can crash
		select {
		case <-ring:
		default:
		}
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ring:
		return true
	case <-ctx.Done():
		return false
	}
}

// Repeat calls due until ctx ends or due fails, each time after the pause it returned or on a wake-up on ring.
func Repeat(ctx context.Context, ring <-chan struct{}, due func(context.Context) (pause time.Duration, err error)) error {
	for {
		pause, err := due(ctx)
		if err != nil {
			return err
		}
		if !Wait(ctx, pause, ring) {
			return nil
		}
	}
}

// RunUntil runs do until it ends by itself, or until changed, asked at each wake-up on ring, says that it must begin anew. It returns
// do's error; nil if do was ended, as by the end of ctx.
func RunUntil(ctx context.Context, ring <-chan struct{}, changed func() bool, do func(context.Context) error) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	over := make(chan error, 1)
	go func() { over <- Protect("loop", func() error { return do(ctx) }) }()
	for {
		select {
		case err := <-over:
			return err
		case <-ring:
			if !changed() {
				continue
			}
		case <-ctx.Done():
		}
		end()
		<-over
		return nil
	}
}

// QuarantinePause is how long an object that could not be processed is left alone.
const QuarantinePause = time.Hour

// One runs do for a single object, identified by key. If something is wrong with that object, it goes into quarantine and everything
// else continues. An error is returned only if it concerns all objects: the disk, the service, the end of ctx.
func (t Base) One(key string, do func() error) error {
	err := Protect(key, do)
	if _, own := errors.AsType[*data.ObjectError](err); !own {
		t.Quarantine.Worked(key)
		return err
	}
	t.Log.Error("one object is set aside", "object", message.OneLine(key, office.MaxName), "err", err)
	t.Quarantine.Failed(key, t.Now(), func(int) time.Duration { return QuarantinePause })
	t.TellQuarantine()
	return nil
}

// LeftAlone reports whether the object with that key is in quarantine.
func (t Base) LeftAlone(key string) bool { return t.Quarantine.Waits(key, t.Now()) }

// Offers reports whether the service in use may have a call that others, by their home in lacks, do not have.
func (t Base) Offers(lacks *Retries) bool {
	client, online := t.Session.Online()
	return !online || !lacks.Waits(client.Home(), t.Now())
}

// besidePause keeps a loop from spinning because of something due that cannot be processed.
const besidePause = 10 * time.Second

// PauseBeside adjusts pause so that a loop does not spin because of n objects that are due but in quarantine.
func (t Base) PauseBeside(n int, pause time.Duration) time.Duration {
	if n == 0 {
		return pause
	}
	return min(max(pause, besidePause), time.Minute)
}

// TellQuarantine updates the health issue about the quarantine.
func (t Base) TellQuarantine() {
	var aside message.Message
	if t.Quarantine.Waiting(t.Now()) > 0 {
		aside = message.RecordsPutOff()
	}
	t.Health.Update(health.RecordsPutOff, aside)
}

// Activity returns the newest lines of the activity list, newest first.
func (t Base) Activity(limit int) ([]office.Activity, error) {
	return data.Read(t.Data, "the activity list", func(tx *store.Tx) ([]office.Activity, error) {
		list, _, err := tx.Activities("", limit)
		return list, err
	})
}

// TellUnusable adds a line to the activity list, once for each id.
func (t Base) TellUnusable(id, packageID string, text message.Message) {
	err := t.Data.Update(func(tx *store.Tx) error {
		if first, err := tx.Once("unusable/" + id); err != nil || !first {
			return err
		}
		return tx.AddActivity(office.Activity{Time: t.Now(), Kind: office.ActivityProblem, PackageID: packageID, Text: text})
	})
	if err != nil {
		t.Log.Error("record an id that cannot be used", "err", err)
	}
}

// Record adds a line to the activity list.
func (t Base) Record(x office.Activity) {
	if x.Time.IsZero() {
		x.Time = t.Now()
	}
	if err := t.Data.Update(func(tx *store.Tx) error { return tx.AddActivity(x) }); err != nil {
		t.Log.Error("record an activity", "err", err)
	}
}

// Committed shows activity that was stored (data.Data.Committed).
func (t Base) Committed(added []office.Activity) {
	for _, x := range added {
		t.Show(x)
	}
	if len(added) > 0 {
		t.Signal(office.ActivityChanged)
	}
}

// Daily runs do at once and then on each new day (UTC) until ctx ends. It checks the date hourly, without touching the disk.
func (t Base) Daily(ctx context.Context, do func(context.Context) error) error {
	for last := ""; ; {
		if today := t.Now().UTC().Format(time.DateOnly); today != last {
			if err := do(ctx); err != nil {
				return err
			}
			last = today
		}
		if !Sleep(ctx, time.Hour) {
			return nil
		}
	}
}

// Due is a query for what is due now, where nothing may wait longer than longest.
func (t Base) Due(longest time.Duration) store.Due {
	return store.Due{Now: t.Now().Round(0), Longest: longest}
}

// Age returns how long ago then was. A time in the future comes from a differing clock: it counts as equally far in the past, but a
// day at most, so that nothing counts as new until that time arrives.
func (t Base) Age(then time.Time) time.Duration { return ageAt(t.Now(), then) }

// AgeTold is Age of a time that the service has told.
func (t Base) AgeTold(then time.Time) time.Duration { return ageAt(t.Latest(), then) }

func ageAt(now, then time.Time) time.Duration {
	age := now.Sub(then)
	if age < 0 {
		return min(-age, 24*time.Hour)
	}
	return age
}

// Served is when the service last answered, by its own clock. Safe for concurrent use.
type Served struct{ at atomic.Int64 }

func (s *Served) Note(at time.Time) { s.at.Store(at.Unix()) }

// ClockWrong is by how much this computer's clock may differ from the service's.
const ClockWrong = time.Hour

// Latest is Now, or if the service has answered well after that, when it did: this computer's clock is wrong. Whatever has been
// learned had happened by then.
func (t Base) Latest() time.Time {
	now := t.Now()
	if served := time.Unix(t.Served.at.Load(), 0); served.Sub(now) > ClockWrong {
		return served.UTC()
	}
	return now
}

// Restored returns when the state was restored from a backup, by the service's clock as soon as it has answered; zero for never. It
// records that, in tx, so that this computer's clock does not matter later.
func (t Base) Restored(tx *store.Tx) time.Time {
	x, served := data.WhenRestored(tx), time.Unix(t.Served.at.Load(), 0)
	if x.At.IsZero() || served.Unix() == 0 {
		if now := t.Now(); x.Served.IsZero() && x.At.After(now) { // by a clock that was ahead
			return now
		}
		return cmp.Or(x.Served, x.At)
	}
	if future := func(now time.Time) bool { return x.Served.After(now.Add(ClockSlack)) }; x.Served.IsZero() || future(served) && future(t.Now()) {
		if x.Served = x.At.Add(t.Latest().Sub(t.Now())); x.Served.After(served) { // a clock was ahead
			x.Served = served.UTC()
		}
		x.Put(tx)
	}
	return x.Served
}

// RestoredHere is Restored by this computer's clock, to be compared with its own times, unless the clock was ahead then.
func (t Base) RestoredHere(tx *store.Tx) time.Time {
	if at := data.WhenRestored(tx).At; !at.After(t.Now()) {
		return at
	}
	return t.Restored(tx)
}

// MaxCommits is how many goroutines of a loop may wait for a commit; those waiting at the same time share one write.
const MaxCommits = 48

// Watchers deliver every signal to each watcher, in order, from the time it began to watch. Repeated signals not yet received are
// delivered once, as they only say what to read again. Safe for concurrent use.
type Watchers[T comparable] struct {
	mu   sync.Mutex
	list []*watcher[T]
}

type watcher[T comparable] struct {
	ring chan struct{}

	mu      sync.Mutex
	pending map[T]bool
	order   []T
}

// Signal sends x to every watcher, in the order in which they began. It does not block.
func (w *Watchers[T]) Signal(x T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, to := range w.list {
		to.put(x)
	}
}

// Watch returns a channel and a function that stops and closes it.
func (w *Watchers[T]) Watch() (<-chan T, func()) {
	x := &watcher[T]{pending: map[T]bool{}, ring: make(chan struct{}, 1)}
	w.mu.Lock()
	w.list = append(w.list, x)
	w.mu.Unlock()

	out := make(chan T)
	done := make(chan struct{})
	go x.deliver(out, done)
	return out, sync.OnceFunc(func() {
		w.mu.Lock()
		w.list = slices.DeleteFunc(w.list, func(y *watcher[T]) bool { return y == x })
		w.mu.Unlock()
		close(done)
	})
}

func (x *watcher[T]) put(v T) {
	x.mu.Lock()
	if !x.pending[v] {
		x.pending[v] = true
		x.order = append(x.order, v)
	}
	x.mu.Unlock()
	Wake(x.ring)
}

func (x *watcher[T]) take() (v T, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.order) == 0 {
		return v, false
	}
	v, x.order = x.order[0], x.order[1:]
	delete(x.pending, v)
	return v, true
}

func (x *watcher[T]) deliver(out chan<- T, done <-chan struct{}) {
	defer close(out)
	for {
		v, ok := x.take()
		if !ok {
			select {
			case <-x.ring:
				continue
			case <-done:
				return
			}
		}
		select {
		case out <- v:
		case <-done:
			return
		}
	}
}

// Wake wakes the goroutine waiting on ring, which must have a buffer of one; one pending wake-up is enough.
func Wake(ring chan<- struct{}) {
	select {
	case ring <- struct{}{}:
	default:
	}
}
