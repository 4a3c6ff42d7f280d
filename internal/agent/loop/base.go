// Package loop has what every service of the agent works with: supervision, back-off, cool-downs, the breaker, wake-ups and
// change signals. It knows none of them, and nothing of packages or of the signing service but that it may ask to be left alone.
package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/esign"
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

	Session Session // who is signed in; account has none

	Signal func(office.Change)                                // tells whoever watches
	Watch  func() (changes <-chan office.Change, stop func()) // see Watchers
	Show   func(office.Activity)                              // shows a line of the activity as it is recorded; it must not block
	Crash  func(point string)                                 // called at named points; tests end the process there
}

// Session is who is signed in, for whoever calls the service.
type Session interface {
	Online() (*esign.Client, bool)             // the service, while somebody is signed in and the keys are open
	SignedIn() bool                            // though the keys may be locked
	SignedOut(err error) bool                  // err means that nobody is signed in any more
	Note(ctx context.Context, err error) error // notes what an answer, nil for a good one, says of the service as a whole; returns err
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

// Loop is one long-running loop of the agent.
type Loop struct {
	Name string
	Run  func(context.Context) error
}

// wellAfter is how long a loop must run before it counts as well again.
const wellAfter = time.Minute

// Protect runs do once; a panic is an error that concerns what do is about, and nothing else.
func Protect(name string, do func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = data.OfObject(fmt.Errorf("%s: panic: %v\n%s", name, r, debug.Stack()))
		}
	}()
	return do()
}

// Supervise keeps p running until ctx ends. A loop that fails or panics is reported to health, rests, and starts
// again; the rest doubles up to a minute. It starts small again, and the report ends, once the loop has run for a
// minute.
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
		if !t.Health.Has(health.DataNotWritten) { // which says why
			t.Health.Set(stopped, message.PartStopped())
		}
		if !Sleep(ctx, rest) {
			return
		}
	}
}

// Sleep waits d and reports whether ctx is still alive.
func Sleep(ctx context.Context, d time.Duration) bool { return Wait(ctx, d, nil) }

// Wait waits for d, for a wake-up on ring, or for the end of ctx, and reports whether ctx is still alive.
func Wait(ctx context.Context, d time.Duration, ring <-chan struct{}) bool {
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

// Repeat does what is due until ctx ends or that fails: again after the pause that it returns, or on a wake-up on ring.
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

// QuarantinePause is how long an object that could not be worked on is left alone.
const QuarantinePause = time.Hour

// One does what concerns a single object, which key tells from all others. When something is wrong with that object, it is
// put in quarantine and the rest goes on. An error is returned only for what concerns all of them: the disk, the service,
// the end of ctx.
func (t Base) One(key string, do func() error) error {
	err := Protect(key, do)
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

// TellUnusable says so in the activity list, once for each.
func (t Base) TellUnusable(id, packageID string, text message.Message) {
	line := office.Activity{Time: t.Now(), Kind: "problem", PackageID: packageID, Text: text}
	var first bool
	err := t.Data.Update(func(tx *store.Tx) (err error) {
		if first, err = tx.Once("unusable/" + id); err != nil || !first {
			return err
		}
		return tx.AddActivity(line)
	})
	if err != nil {
		t.Log.Error("record an id that cannot be used", "err", err)
	}
	if err == nil && first {
		t.Tell(line)
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
	t.Tell(x)
}

// Tell shows an activity that is already stored.
func (t Base) Tell(x office.Activity) {
	t.Show(x)
	t.Signal(office.ActivityChanged)
}

// Daily does do at once and then on each new day (UTC), until ctx ends. It looks at the date once an hour, which costs no disk.
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

// MaxCommits is how many goroutines of a loop may wait for a commit: those that wait at the same time are written together.
const MaxCommits = 48
