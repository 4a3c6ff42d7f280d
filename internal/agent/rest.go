package agent

import (
	"sync"
	"time"
)

// clock is the wall clock.
type clock func() time.Time

// restMost bounds how long the service is left alone at its own word, so that a wrong clock cannot silence the program.
const restMost = 24 * time.Hour

// rest is until when the service asked to be left alone (Retry-After). Every loop that calls it by itself waits for
// that, whatever pokes it; a person who asks does not. Safe for concurrent use.
type rest struct {
	mu  sync.Mutex
	end time.Time // wall time, zero for now
}

// until makes the service rest for d from now on, or longer if it rests longer already.
func (r *rest) until(now time.Time, d time.Duration) {
	if d <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if to := now.Round(0).Add(min(d, restMost)); to.After(r.end) {
		r.end = to
	}
}

// left is how long the service still rests.
func (r *rest) left(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.end.Sub(now.Round(0))
	if d > restMost { // the clock was set back
		r.end, d = time.Time{}, 0
	}
	return max(d, 0)
}

func (r *rest) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = time.Time{}
}
