package loop

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Tools are what every room of the agent works with. All of it is safe for concurrent use.
type Tools struct {
	Log    *slog.Logger
	Now    func() time.Time
	Jitter func() float64 // 0..1
	Pace   Pace
	Data   *data.Data
	Health *health.Tracker

	Quarantine *Quarantine
	Suspects   *Suspects
	Breaker    *Breaker // the service is left alone

	Signal func(office.Change)   // tells whoever watches
	Show   func(office.Activity) // shows a line of the activity as it is recorded; it must not block
}

// Pace is how fast the agent tries again and how much it asks of the service. Zero fields take the defaults.
type Pace struct {
	Retry    time.Duration // the pause after a first failed call; it doubles with each further one. 2 s
	Folder   time.Duration // the pause after the folder could not take a file; likewise. 10 s
	Statuses float64       // status calls per second, 10; four times as many at the beginning
}

func (p Pace) Complete() Pace {
	p.Retry = cmp.Or(p.Retry, 2*time.Second)
	p.Folder = cmp.Or(p.Folder, 10*time.Second)
	p.Statuses = cmp.Or(p.Statuses, 10)
	return p
}

// Supervise keeps p running until ctx ends. A loop that fails or panics is reported to health, rests, and starts
// again; the rest doubles up to a minute. It starts small again, and the report ends, once the loop has run for a
// minute.
func (t Tools) Supervise(ctx context.Context, p Loop) {
	stopped := health.Stopped(p.Name)
	for tries := 1; ; tries++ {
		well := time.AfterFunc(wellAfter, func() { t.Health.Clear(stopped) })
		err := Protect(ctx, p)
		wasWell := !well.Stop()
		if ctx.Err() != nil {
			return
		}
		if wasWell {
			tries = 1
		}
		rest := t.Backoff(tries, t.Pace.Retry/2, time.Minute)
		t.Log.Error("a part stopped and starts again", "part", p.Name, "err", err, "rest", rest)
		if !t.Health.Has(health.DataNotWritten) { // which says why
			t.Health.Set(stopped, message.PartStopped())
		}
		if !Sleep(ctx, rest) {
			return
		}
	}
}

// Backoff is the pause before try n (1 is the second try): base doubled each time, at most limit, a little uneven
// so that many jobs do not return in step.
func (t Tools) Backoff(n int, base, limit time.Duration) time.Duration {
	d := base
	for range min(n-1, 30) {
		if d *= 2; d >= limit {
			d = limit
			break
		}
	}
	return d + time.Duration(t.Jitter()*0.2*float64(d))
}

// PauseAfter says how long to leave the service alone after err, the nth failure in a row.
func (t Tools) PauseAfter(err error, n int) time.Duration {
	pause := t.Backoff(n, t.Pace.Retry, 2*time.Minute)
	var e *esign.Error
	if errors.As(err, &e) {
		pause = max(pause, e.RetryAfter)
	}
	return pause
}

// MinPause keeps a loop from running at full speed should what is next never come.
const MinPause = 20 * time.Millisecond

// UntilNext is the time from now to next, at most limit; limit when there is no next.
func UntilNext(now, next time.Time, limit time.Duration) time.Duration {
	if next.IsZero() {
		return limit
	}
	return max(min(next.Sub(now), limit), MinPause)
}

// Due asks the store for what is due now, of what waits longest at most.
func (t Tools) Due(longest time.Duration) store.Due {
	return store.Due{Now: t.Now().Round(0), Longest: longest}
}

// Age is how long ago then was. What lies a little ahead has just happened, by another clock; what lies far ahead was
// noted by a clock that was wrong, and nobody knows: it is a day old.
func (t Tools) Age(then time.Time) time.Duration {
	switch age := t.Now().Sub(then); {
	case age >= 0:
		return age
	case age > -farAhead:
		return 0
	default:
		return 24 * time.Hour
	}
}
