package loop

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Base is what every service of the agent works with. All of it is safe for concurrent use.
type Base struct {
	Log    *slog.Logger
	Now    func() time.Time
	Jitter func() float64 // 0..1
	Pace   Pace
	Data   *data.Data
	Health *health.Tracker

	Quarantine *Retries // events, packages, files and drafts about which alone something went wrong, see One
	Asked      *Retries // what the service was asked about: packages and files, by their ids
	Breaker    *Breaker // the service is left alone

	Signal func(office.Change)   // tells whoever watches
	Show   func(office.Activity) // shows a line of the activity as it is recorded; it must not block
}

// Pace is how fast the agent tries again and how much it asks of the service. Zero fields take the defaults.
type Pace struct {
	Retry    time.Duration // the pause after a first failed call; it doubles with each further one. 2 s
	Folder   time.Duration // the pause after the folder could not take a file; likewise. 10 s
	Still    time.Duration // how long a file of a hot folder has to stay as it is before it is taken. 4 s
	Look     time.Duration // how often to look into a hot folder, beside its change events. 30 s
	Statuses float64       // status calls per second, 10; four times as many at the beginning
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

// Supervise keeps p running until ctx ends. A loop that fails or panics is reported to health, rests, and starts
// again; the rest doubles up to a minute. It starts small again, and the report ends, once the loop has run for a
// minute.
func (t Base) Supervise(ctx context.Context, p Loop) {
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

// Due asks the store for what is due now, of what waits longest at most.
func (t Base) Due(longest time.Duration) store.Due {
	return store.Due{Now: t.Now().Round(0), Longest: longest}
}

// Age is how long ago then was. A moment ahead is by a clock that differs from ours: it counts for as old as it is far
// away, and a day at most, so that nothing counts for new all the time until it has come.
func (t Base) Age(then time.Time) time.Duration {
	age := t.Now().Sub(then)
	if age < 0 {
		return min(-age, 24*time.Hour)
	}
	return age
}
