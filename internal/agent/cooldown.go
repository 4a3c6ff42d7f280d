package agent

import "time"

// clockSlack is how far a clock may be put back without anybody minding: a time server does that now and then.
const clockSlack = time.Minute

// cooldown is a stretch of wall time that was decided on at from. It is wall time because that runs on while a computer
// sleeps. But wall clocks are put right, too, so a cooldown is believed only from the moment it was decided on: before
// that, the clock was wrong then, and the cooldown is over. None lasts longer than it was meant to, but for clockSlack.
type cooldown struct{ from, until time.Time }

// coolFor is a cooldown of d from now on.
func coolFor(now time.Time, d time.Duration) cooldown {
	now = now.Round(0)
	return cooldown{now, now.Add(d)}
}

// left is how long c still lasts; 0 when it is over, and for the zero cooldown.
func (c cooldown) left(now time.Time) time.Duration {
	now = now.Round(0)
	if now.Before(c.from.Add(-clockSlack)) {
		return 0
	}
	return max(c.until.Sub(now), 0)
}

// over reports whether c has ended.
func (c cooldown) over(now time.Time) bool { return c.left(now) == 0 }
