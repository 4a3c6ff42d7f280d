package loop

import (
	"time"
)

// Clock is the wall clock.
type Clock func() time.Time

// minJump is how much a wall clock must have jumped to be noticed: forward because the computer slept, or in either
// direction because somebody has put it right.
const minJump = ClockSlack

// clockWatch notices that the wall clock has not gone along with the timers. One goroutine owns it.
type clockWatch struct {
	wall, timer time.Time     // when it was looked at last, by either
	pause       time.Duration // that was begun then ...
	began       time.Time     // ... by the wall clock
}

func WatchClock(now time.Time) *clockWatch {
	return &clockWatch{wall: now.Round(0), timer: time.Now(), began: now.Round(0)}
}

// Wait notes that nothing is done for d from now on.
func (w *clockWatch) Wait(now time.Time, d time.Duration) { w.began, w.pause = now.Round(0), d }

// Jumped returns by how much the wall clock has jumped since it was looked at last, 0 when it has not.
func (w *clockWatch) Jumped(now time.Time) time.Duration {
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
