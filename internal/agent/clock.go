package agent

import (
	"errors"
	"time"

	"countersign/internal/store"
)

// clock is the wall clock.
type clock func() time.Time

// minJump is how much a wall clock must have jumped to be noticed: forward because the computer slept, or in either
// direction because somebody has put it right.
const minJump = clockSlack

// clockWatch notices that the wall clock has not gone along with the timers. One goroutine owns it.
type clockWatch struct {
	wall, timer time.Time     // when it was looked at last, by either
	pause       time.Duration // that was begun then ...
	began       time.Time     // ... by the wall clock
}

func watchClock(now time.Time) *clockWatch {
	return &clockWatch{wall: now.Round(0), timer: time.Now(), began: now.Round(0)}
}

// wait notes that nothing is done for d from now on.
func (w *clockWatch) wait(now time.Time, d time.Duration) { w.began, w.pause = now.Round(0), d }

// jumped returns by how much the wall clock has jumped since it was looked at last, 0 when it has not.
func (w *clockWatch) jumped(now time.Time) time.Duration {
	wall, passed := now.Round(0), time.Since(w.timer)
	// Where the monotonic clock stands still while a computer sleeps, the two drift apart, whatever was under way; where
	// it does not, the timer is late.
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

// wokeUp is called when the wall clock has jumped by that much: whatever was under way before is over, and whatever waits
// for a moment by the clock of then is tried at once.
func (a *Agent) wokeUp(by time.Duration) {
	a.log.Info("the computer slept, or its clock was set", "by", by.Round(time.Second))
	a.mu.Lock()
	a.awake = a.now()
	a.mu.Unlock()
	if by < 0 {
		a.silence.end()
		a.mendSince(by)
	}
	a.saves.unblock()
	a.aside.clear()
	a.reconcileSoon("the computer woke up")
	a.wakeAll()
}

// sinceUnsure is how far back a first sign-in may lie whose moment was noted by a clock that was wrong.
const sinceUnsure = 90 * 24 * time.Hour

// mendSince puts the moment of the first sign-in right when it lies ahead: what was finished before it is not fetched,
// and nothing may be taken for that. by is how far the clock was set back, 0 when that is not known.
func (a *Agent) mendSince(by time.Duration) {
	err := a.current.change(func(o current) (current, error) {
		now, acc := a.now(), &o.account
		if !acc.Since.After(now.Add(clockSlack)) {
			return o, errDecided
		}
		if since := acc.Since.Add(by); by != 0 && !since.After(now) {
			acc.Since = since
		} else {
			acc.Since = now.Add(-sinceUnsure)
		}
		return o, a.st.Update(func(tx *store.Tx) error { return tx.PutDoc(docAccount, o.account) })
	})
	if err == nil {
		a.keepPrecious()
	} else if !errors.Is(err, errDecided) {
		a.log.Error("record since when somebody is signed in", "err", err)
	}
}
