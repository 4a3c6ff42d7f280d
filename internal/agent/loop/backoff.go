package loop

import (
	"errors"
	"time"

	"countersign/internal/esign"
)

// Backoff is the pause after the nth failure in a row: base, doubled with each further one, at most limit, and up to a fifth
// longer so that many jobs do not return in step. n is often kept on disk, which is why this is no type that counts by itself.
func (t Base) Backoff(n int, base, limit time.Duration) time.Duration {
	d := base
	for range min(n-1, 30) {
		if d *= 2; d >= limit {
			d = limit
			break
		}
	}
	return d + time.Duration(t.Jitter()*0.2*float64(d))
}

// PauseAfter is how long to leave the service alone after err, the nth failure in a row: Backoff, or what the service asks for.
func (t Base) PauseAfter(err error, n int, limit time.Duration) time.Duration {
	pause := t.Backoff(n, t.Pace.Retry, limit)
	var e *esign.Error
	if errors.As(err, &e) {
		pause = max(pause, e.RetryAfter)
	}
	return pause
}

// MaxRoundPause is the longest pause after a round of questions or downloads that the service made no use of.
const MaxRoundPause = 2 * time.Minute

// MinPause keeps a loop from running at full speed should what is next never come.
const MinPause = 20 * time.Millisecond

// UntilNext is the time from now to next, at most limit; limit when there is no next.
func UntilNext(now, next time.Time, limit time.Duration) time.Duration {
	if next.IsZero() {
		return limit
	}
	return max(min(next.Sub(now), limit), MinPause)
}
