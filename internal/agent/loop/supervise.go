// Package loop has what every service of the agent works with: supervision, back-off, cool-downs, the breaker, wake-ups and
// change signals. It knows none of them, and nothing of packages or of the signing service but that it may ask to be left alone.
package loop

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Loop is one long-running loop of the agent.
type Loop struct {
	Name string
	Run  func(context.Context) error
}

// wellAfter is how long a loop must run before it counts as well again.
const wellAfter = time.Minute

// Protect runs p once; a panic is an error that concerns what p was about, and nothing else.
func Protect(ctx context.Context, p Loop) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = data.OfObject(fmt.Errorf("%s: panic: %v\n%s", p.Name, r, debug.Stack()))
		}
	}()
	return p.Run(ctx)
}

// Sleep waits d and reports whether ctx is still alive.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

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

// Clock is the wall clock.
type Clock func() time.Time

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

// Semaphore bounds how much is done at once. What uses the network gets few slots. What only commits gets more: commits that
// wait at the same time are written together.
type Semaphore chan struct{}

// NewSemaphore has n slots.
func NewSemaphore(n int) Semaphore { return make(Semaphore, n) }

// Acquire waits for a slot and reports whether it got one; it gets none once ctx has ended. Release gives it back.
func (s Semaphore) Acquire(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Release gives a slot back.
func (s Semaphore) Release() { <-s }

// MaxCommits is how many goroutines of a loop may wait for a commit.
const MaxCommits = 48
