package agent

import (
	"time"

	"countersign/internal/store"
)

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

// The longest that something stored waits for its next try, by what it is; none of it is believed beyond that. The
// backoffs, which are a little uneven, the ages of packages and what a service may ask for (maxRest) stay within.
const (
	maxPackageWait = 30 * time.Hour
	maxJobWait     = maxRest + clockSlack
	maxDraftWait   = maxDraftPause*6/5 + clockSlack
	maxUnknownWait = maxUnknownPause*6/5 + clockSlack
)

// due asks the store for what is due now, of what waits longest at most.
func (a *Agent) due(longest time.Duration) store.Due {
	return store.Due{Now: a.now().Round(0), Longest: longest}
}

// farAhead is how much further on the service's clock may be than this computer's.
const farAhead = 24 * time.Hour

// age is how long ago then was. What lies a little ahead has just happened, by another clock; what lies far ahead was
// noted by a clock that was wrong, and nobody knows: it is a day old.
func (a *Agent) age(then time.Time) time.Duration {
	switch age := a.now().Sub(then); {
	case age >= 0:
		return age
	case age > -farAhead:
		return 0
	default:
		return 24 * time.Hour
	}
}
