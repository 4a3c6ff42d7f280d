package loop

import (
	"time"
)

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
