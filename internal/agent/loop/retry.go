package loop

import (
	"errors"
	"maps"
	"sync"
	"time"

	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Backoff is the pause after the nth failure in a row: base, doubled with each further failure, up to limit, plus up to a fifth so
// that many jobs do not retry in step. n is often stored on disk, which is why this is not a type with its own counter.
func (t Base) Backoff(n int, base, limit time.Duration) time.Duration {
	d := base
	for range min(n-1, 30) {
		if d *= 2; d >= limit {
			d = limit
			break
		}
	}
	return d + time.Duration(t.Jitter()*0.2*float64(d))
}

// PauseAfter returns how long to leave the service alone after err, the nth failure in a row: Backoff, or what the service asks for.
func (t Base) PauseAfter(err error, n int, limit time.Duration) time.Duration {
	pause := t.Backoff(n, t.Pace.Retry, limit)
	if e, answered := errors.AsType[*esign.Error](err); answered {
		pause = max(pause, min(e.RetryAfter, MaxBreak))
	}
	return pause
}

// MaxRoundPause is the longest pause after a round of calls or downloads in which the service answered nothing useful.
const MaxRoundPause = 2 * time.Minute

// MinPause keeps a loop from spinning if the next event never comes.
const MinPause = 20 * time.Millisecond

// UntilNext returns the time from now to next, at most limit; limit if next is zero. A next that has passed although nothing was due
// belongs to an unreadable record; now must be from before the search for what is due.
func UntilNext(now, next time.Time, limit time.Duration) time.Duration {
	switch {
	case next.IsZero():
		return limit
	case !next.After(now):
		return min(besidePause, limit)
	}
	return max(min(next.Sub(now), limit), MinPause)
}

// ClockSlack is how far a clock may be set back without consequences; time servers do that now and then.
const ClockSlack = time.Minute

// Cooldown is a pause by the wall clock, which continues while the computer sleeps. Wall clocks may be set: if now is before the
// start of the pause, the clock was wrong at one of the two times, and the pause is over. So no pause exceeds its intended length by
// more than ClockSlack.
type Cooldown struct{ From, Until time.Time }

func CoolFor(now time.Time, d time.Duration) Cooldown {
	now = now.Round(0)
	return Cooldown{now, now.Add(d)}
}

// Left returns how long c still lasts; 0 if it is over or zero.
func (c Cooldown) Left(now time.Time) time.Duration {
	now = now.Round(0)
	if now.Before(c.From.Add(-ClockSlack)) {
		return 0
	}
	return max(c.Until.Sub(now), 0)
}

func (c Cooldown) Over(now time.Time) bool { return c.Left(now) == 0 }

// The longest that stored items wait for their next try, by kind; longer stored waits are not believed. The pauses of Backoff, the
// ages of packages and what a service may ask for (MaxBreak) stay within.
const (
	MaxPackageWait = 30 * time.Hour
	MaxJobWait     = MaxBreak + ClockSlack
)

// MaxWait is the longest wait of stored items whose Backoff has that limit.
func MaxWait(limit time.Duration) time.Duration { return limit*6/5 + ClockSlack }

// MaxBreak limits how long the service is left alone at its own request, so that a wrong clock cannot silence the program.
const MaxBreak = 24 * time.Hour

// Breaker remembers until when the service asked to be left alone (Retry-After). Every loop waits that long before calling the
// service, whatever wakes it; calls that a person requests do not wait. Safe for concurrent use.
type Breaker struct {
	mu  sync.Mutex
	now Cooldown
}

// Open pauses calls for d from now, unless they are already paused for longer.
func (r *Breaker) Open(now time.Time, d time.Duration) {
	d = min(d, MaxBreak)
	r.mu.Lock()
	defer r.mu.Unlock()
	if d > r.now.Left(now) {
		r.now = CoolFor(now, d)
	}
}

// Left returns how long calls are still paused; 0 if the service may be called.
func (r *Breaker) Left(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.Left(now)
}

// Close allows calls again at once.
func (r *Breaker) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = Cooldown{}
}

// Retry counts failures in a row and holds the pause until the next try. The zero value has not failed.
type Retry struct {
	tries int
	pause Cooldown
}

// Failed records a failure and starts the pause for that many failures in a row; pause may be nil for none. Concurrent failures,
// before the pause is over, count once.
func (r *Retry) Failed(now time.Time, pause func(tries int) time.Duration) (tries int) {
	if r.Left(now) > 0 {
		return r.tries
	}
	if r.tries++; pause != nil {
		r.pause = CoolFor(now, pause(r.tries))
	}
	return r.tries
}

// Left returns how long until the next try; 0 if it may be tried now.
func (r *Retry) Left(now time.Time) time.Duration { return r.pause.Left(now) }

// Retries is a Retry for each of many keys, so that one object that always fails does not hold up the others. It lives in memory, so
// that it works even if the object's record cannot be changed. The zero value is empty. Safe for concurrent use.
type Retries struct {
	mu      sync.Mutex
	list    map[string]retried
	answers int // successful calls about any object
}

type retried struct {
	Retry
	answers int // Retries.answers at the last failure
}

// Failed is Retry.Failed for key. alone reports whether only this object has the problem: since its previous failure, another call
// has succeeded.
func (r *Retries) Failed(key string, now time.Time, pause func(tries int) time.Duration) (tries int, alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[string]retried{}
	}
	alone = r.alone(key)
	x := r.list[key]
	x.answers = r.answers
	tries = x.Failed(now, pause)
	r.list[key] = x
	return tries, alone
}

// Alone reports whether only this object would have the problem if it failed again.
func (r *Retries) Alone(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.alone(key)
}

func (r *Retries) alone(key string) bool {
	x, again := r.list[key]
	return again && r.answers > x.answers
}

// Answered records that a call about any object has succeeded.
func (r *Retries) Answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers++
}

// Left returns how long until key's next try; 0 if it may be tried now.
func (r *Retries) Left(key string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list[key].pause.Left(now)
}

// Waits reports whether key must not be tried yet.
func (r *Retries) Waits(key string, now time.Time) bool { return r.Left(key, now) > 0 }

// Waiting returns how many keys must not be tried yet.
func (r *Retries) Waiting(now time.Time) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.Left(now) > 0 {
			n++
		}
	}
	return n
}

// Next returns how long until the first of them may be tried, at most limit.
func (r *Retries) Next(now time.Time, limit time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if left := x.Left(now); left > 0 {
			limit = min(limit, left)
		}
	}
	return limit
}

// Len returns how many keys have failed and not succeeded since.
func (r *Retries) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

// Has reports whether key has failed and not succeeded since.
func (r *Retries) Has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed := r.list[key]
	return failed
}

// Worked records a success and reports whether key had failed before.
func (r *Retries) Worked(key string) (failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed = r.list[key]
	delete(r.list, key)
	return failed
}

// Keep forgets the keys for which there returns false.
func (r *Retries) Keep(there func(key string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.list, func(key string, _ retried) bool { return !there(key) })
}

// Now allows an immediate try of everything; a failure then counts as the first.
func (r *Retries) Now() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, x := range r.list {
		x.Retry = Retry{}
		r.list[key] = x
	}
}

// minJump is the smallest jump of the wall clock that counts: forward because the computer slept, or in either direction because the
// clock was set.
const minJump = ClockSlack

// clockWatch compares the wall clock with the timers' clock to detect jumps. Only one goroutine uses it.
type clockWatch struct {
	wall, timer time.Time     // the last check, by wall clock and timer clock
	began       time.Time     // start of the pause, by wall clock
	pause       time.Duration // its intended length
}

// WatchClock starts the comparison.
func WatchClock(now time.Time) *clockWatch {
	return &clockWatch{wall: now.Round(0), timer: time.Now(), began: now.Round(0)}
}

// Wait records that a pause of d begins now.
func (w *clockWatch) Wait(now time.Time, d time.Duration) { w.began, w.pause = now.Round(0), d }

// Jumped returns by how much the wall clock has jumped since the last check; 0 if it has not.
func (w *clockWatch) Jumped(now time.Time) time.Duration {
	wall, passed := now.Round(0), time.Since(w.timer)
	// On some systems the timer clock stops while the computer sleeps, so the two clocks drift apart. On others it continues, so the
	// pause took too long.
	apart, late := wall.Sub(w.wall)-passed, wall.Sub(w.began)-w.pause
	w.wall, w.timer = wall, w.timer.Add(passed)
	switch {
	case apart > minJump, apart < -minJump:
		return apart
	case late > minJump:
		return late
	default:
		return 0
	}
}

// RenewalError marks a failure to renew the sign-in for a call, so that it is not mistaken for the service's answer to the call.
type RenewalError struct{ Err error }

func (e *RenewalError) Error() string { return e.Err.Error() }
func (e *RenewalError) Unwrap() error { return e.Err }

// ConcernsAll reports whether a failed call says nothing about its object: the sign-in could not be renewed, or the call was never
// made.
func ConcernsAll(err error) bool {
	_, renewal := errors.AsType[*RenewalError](err)
	e, answered := errors.AsType[*esign.Error](err)
	return renewal || !answered ||
		e.Kind == esign.BadClient || e.Kind == esign.NotKept || e.Kind == esign.Interrupted
}

// Refuses reports whether an error is the service's answer about one object, rather than a temporary problem with everything; alone
// comes from Retries.Failed.
func Refuses(err *esign.Error, alone bool) bool {
	return err.Kind != esign.TooMany && (err.Kind != esign.Network || alone)
}

// RefusalProblem words for people why the service does not provide a file.
func RefusalProblem(cause *esign.Error) message.Message {
	if cause.Kind == esign.SignedOut { // the sign-in works, as other files are provided
		return message.DownloadForbidden()
	}
	return esign.Message(cause)
}

// NotOfferedFor is how long to believe that a service lacks a call; the answer may have come from an intermediary.
func NotOfferedFor(int) time.Duration { return 24 * time.Hour }

// HiddenFor is NotOfferedFor where a person cannot ask again meanwhile: only an hour at first.
func HiddenFor(tries int) time.Duration {
	return min(time.Duration(tries)*time.Hour, NotOfferedFor(tries))
}

// The service may assign an id that cannot be used in calls (esign.UsableID). Such objects are skipped individually: people are told
// once and can look them up at the service.

// UnusablePause is how long such an object is skipped; a call would not even reach the service.
const UnusablePause = 24 * time.Hour

// Unusable reports whether j's file has an unusable id.
func Unusable(j office.Job) bool { return j.DocumentID != "" && !esign.UsableID(j.DocumentID) }
