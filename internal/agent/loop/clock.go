package loop

import (
	"time"
)

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
