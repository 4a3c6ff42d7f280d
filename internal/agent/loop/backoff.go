package loop

import (
	"context"
	"errors"
	"sync"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
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

// QuarantinePause is how long an object that could not be worked on is left alone.
const QuarantinePause = time.Hour

// One does what concerns a single object, which key tells from all others. When something is wrong with that object, it is
// put in quarantine and the rest goes on. An error is returned only for what concerns all of them: the disk, the service,
// the end of ctx.
func (t Base) One(ctx context.Context, key string, do func() error) error {
	err := Protect(ctx, Loop{Name: key, Run: func(context.Context) error { return do() }})
	var own *data.ObjectError
	if !errors.As(err, &own) {
		t.Quarantine.Worked(key)
		return err
	}
	t.Log.Error("one object is set aside", "object", message.OneLine(key, office.MaxName), "err", err)
	t.Quarantine.Failed(key, t.Now(), func(int) time.Duration { return QuarantinePause })
	t.TellQuarantine()
	return nil
}

// LeftAlone reports whether the object of that key is in quarantine.
func (t Base) LeftAlone(key string) bool { return t.Quarantine.Waits(key, t.Now()) }

// PauseBeside is pause, but not so short that a loop runs on for objects that are due and left alone, of which there are n.
func (t Base) PauseBeside(n int, pause time.Duration) time.Duration {
	if n == 0 {
		return pause
	}
	return min(max(pause, 10*time.Second), time.Minute)
}

// TellQuarantine keeps the health issue about what is left alone in step.
func (t Base) TellQuarantine() {
	if t.Quarantine.Waiting(t.Now()) == 0 {
		t.Health.Clear(health.RecordsPutOff)
		return
	}
	t.Health.Set(health.RecordsPutOff, message.RecordsPutOff())
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
