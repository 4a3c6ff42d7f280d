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

// Backoff is the pause after the nth failure in a row: base, doubled with each further one, at most limit, and up to a fifth
// longer so that many jobs do not return in step. n is often kept on disk, which is why this is no type that counts by itself.
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

// PauseAfter is how long to leave the service alone after err, the nth failure in a row: Backoff, or what the service asks for.
func (t Base) PauseAfter(err error, n int, limit time.Duration) time.Duration {
	pause := t.Backoff(n, t.Pace.Retry, limit)
	var e *esign.Error
	if errors.As(err, &e) {
		pause = max(pause, min(e.RetryAfter, MaxBreak))
	}
	return pause
}

// MaxRoundPause is the longest pause after a round of questions or downloads that the service made no use of.
const MaxRoundPause = 2 * time.Minute

// MinPause keeps a loop from running at full speed should what is next never come.
const MinPause = 20 * time.Millisecond

// UntilNext is the time from now to next, at most limit; limit when there is no next.
func UntilNext(now, next time.Time, limit time.Duration) time.Duration {
	if next.IsZero() {
		return limit
	}
	return max(min(next.Sub(now), limit), MinPause)
}

// ClockSlack is how far a clock may be put back without anybody minding: a time server does that now and then.
const ClockSlack = time.Minute

// Cooldown is a pause by the wall clock, which runs on while the computer sleeps. Wall clocks are set, too: when it is
// earlier now than when the pause began, the clock was wrong at one of the two moments, and the pause is over. So none lasts
// longer than it was meant to, but for ClockSlack.
type Cooldown struct{ From, Until time.Time }

// CoolFor is a cooldown of d from now on.
func CoolFor(now time.Time, d time.Duration) Cooldown {
	now = now.Round(0)
	return Cooldown{now, now.Add(d)}
}

// Left is how long c still lasts; 0 when it is over, and for the zero cooldown.
func (c Cooldown) Left(now time.Time) time.Duration {
	now = now.Round(0)
	if now.Before(c.From.Add(-ClockSlack)) {
		return 0
	}
	return max(c.Until.Sub(now), 0)
}

// Over reports whether c has ended.
func (c Cooldown) Over(now time.Time) bool { return c.Left(now) == 0 }

// The longest that something stored waits for its next try, by what it is; none of it is believed beyond that. The
// pauses of Backoff, the ages of packages and what a service may ask for (MaxBreak) stay within.
const (
	MaxPackageWait = 30 * time.Hour
	MaxJobWait     = MaxBreak + ClockSlack
)

// MaxWait is the longest that something stored waits whose Backoff has that limit.
func MaxWait(limit time.Duration) time.Duration { return limit*6/5 + ClockSlack }

// MaxBreak bounds how long the service is left alone at its own word, so that a wrong clock cannot silence the program.
const MaxBreak = 24 * time.Hour

// Breaker remembers until when the service asked to be left alone (Retry-After). Every loop waits that long before it calls
// the service, whatever wakes it; what a person asks for does not wait. Safe for concurrent use.
type Breaker struct {
	mu  sync.Mutex
	now Cooldown
}

// Open leaves the service alone for d from now on, unless it is left alone for longer already.
func (r *Breaker) Open(now time.Time, d time.Duration) {
	d = min(d, MaxBreak)
	r.mu.Lock()
	defer r.mu.Unlock()
	if d > r.now.Left(now) {
		r.now = CoolFor(now, d)
	}
}

// Left is how long the service is still to be left alone; 0 when it may be called.
func (r *Breaker) Left(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.Left(now)
}

// Close lets the service be called at once.
func (r *Breaker) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = Cooldown{}
}

// Retry is how often something has failed in a row, and the pause that it is left alone for. The zero value is of what works.
type Retry struct {
	tries int
	pause Cooldown
}

// Failed notes a failure, and leaves it alone for as long as pause says after so many in a row; without pause it is not left alone.
// Failures side by side, until the pause is over, count once.
func (r *Retry) Failed(now time.Time, pause func(tries int) time.Duration) (tries int) {
	if r.Left(now) > 0 {
		return r.tries
	}
	if r.tries++; pause != nil {
		r.pause = CoolFor(now, pause(r.tries))
	}
	return r.tries
}

// Left is how long it is still left alone; 0 when it may be tried.
func (r *Retry) Left(now time.Time) time.Duration { return r.pause.Left(now) }

// Retries is the Retry of each of many things, by whatever key tells them apart: one that always fails keeps nobody from the others,
// even when its record cannot be changed, since this is kept in memory. The zero value has none. Safe for concurrent use.
type Retries struct {
	mu      sync.Mutex
	list    map[string]retried
	answers int // to questions about anything
}

type retried struct {
	Retry
	answers int // by the last failure
}

// Failed is Retry.Failed for key. alone reports whether the trouble is that thing's and not everything's: since it failed before,
// something else was answered.
func (r *Retries) Failed(key string, now time.Time, pause func(tries int) time.Duration) (tries int, alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[string]retried{}
	}
	x, again := r.list[key]
	alone = again && r.answers > x.answers
	x.answers = r.answers
	tries = x.Failed(now, pause)
	r.list[key] = x
	return tries, alone
}

// Answered notes that a question, about whatever it was, was answered.
func (r *Retries) Answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers++
}

// Left is how long the thing is still left alone; 0 when it may be tried.
func (r *Retries) Left(key string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list[key].pause.Left(now)
}

// Waits reports whether the thing is left alone for now.
func (r *Retries) Waits(key string, now time.Time) bool { return r.Left(key, now) > 0 }

// Waiting is how many things are left alone for now.
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

// Next is how long until one of the things that are left alone may be tried, at most limit.
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

// Len is how many things have failed and not worked since.
func (r *Retries) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

// Worked notes that nothing is wrong with the thing any more, and reports whether something was.
func (r *Retries) Worked(key string) (failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed = r.list[key]
	delete(r.list, key)
	return failed
}

// Keep forgets the things that are no more.
func (r *Retries) Keep(there func(key string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.list, func(key string, _ retried) bool { return !there(key) })
}

// Now has everything tried at the next occasion, and what fails then has failed once.
func (r *Retries) Now() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, x := range r.list {
		x.Retry = Retry{}
		r.list[key] = x
	}
}

// minJump is the smallest jump of the wall clock that counts: forward because the computer slept, or in either direction
// because somebody set it.
const minJump = ClockSlack

// clockWatch compares the wall clock with the timers, to notice that it has jumped. One goroutine owns it.
type clockWatch struct {
	wall, timer time.Time     // the last look, by the wall clock and by the clock of the timers
	began       time.Time     // when the pause began, by the wall clock
	pause       time.Duration // how long it was to be
}

// WatchClock begins to compare.
func WatchClock(now time.Time) *clockWatch {
	return &clockWatch{wall: now.Round(0), timer: time.Now(), began: now.Round(0)}
}

// Wait notes that nothing is done for d from now on.
func (w *clockWatch) Wait(now time.Time, d time.Duration) { w.began, w.pause = now.Round(0), d }

// Jumped returns by how much the wall clock has jumped since it was looked at last, 0 when it has not.
func (w *clockWatch) Jumped(now time.Time) time.Duration {
	wall, passed := now.Round(0), time.Since(w.timer)
	// On some systems the timers' clock stands still while the computer sleeps: then the two drift apart. On others it goes
	// on: then the pause took too long.
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

// RenewalError marks what went wrong while the sign-in was renewed for a call, so that it is not taken for the service's word about what
// was asked.
type RenewalError struct{ Err error }

func (e *RenewalError) Error() string { return e.Err.Error() }
func (e *RenewalError) Unwrap() error { return e.Err }

// ConcernsAll reports whether a failed call says nothing about its object: the sign-in could not be renewed, or the
// call was never made.
func ConcernsAll(err error) bool {
	var renewal *RenewalError
	var e *esign.Error
	return errors.As(err, &renewal) || !errors.As(err, &e) ||
		e.Kind == esign.BadClient || e.Kind == esign.NotKept || e.Kind == esign.Interrupted
}

// Refuses reports whether a failure is the service's answer about one thing, rather than the trouble of the moment that everything
// has; alone is what Retries.Failed said.
func Refuses(err *esign.Error, alone bool) bool {
	return err.Kind != esign.TooMany && (err.Kind != esign.Network || alone)
}

// RefusalProblem is what keeps a file from being saved that the service does not give, for people.
func RefusalProblem(cause *esign.Error) message.Message {
	if cause.Kind == esign.SignedOut { // the sign-in works: others are given
		return message.DownloadForbidden()
	}
	return esign.Message(cause)
}

// NotOfferedFor is how long it is believed that a service does not have a call: somebody in between may have said so.
func NotOfferedFor(int) time.Duration { return 24 * time.Hour }

// The service can give an id under which it cannot be asked (esign.UsableID). What has such an id is set aside by itself:
// people are told once, and may look for it where the service shows it.

// UnusablePause is how long it is left alone; asking would not even reach the service.
const UnusablePause = 24 * time.Hour

// Unusable reports whether the service cannot be asked for j's file.
func Unusable(j office.Job) bool { return j.DocumentID != "" && !esign.UsableID(j.DocumentID) }
