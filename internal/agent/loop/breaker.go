package loop

import (
	"sync"
	"time"
)

// MaxBreak bounds how long the service is left alone at its own word, so that a wrong clock cannot silence the program.
const MaxBreak = 24 * time.Hour

// Breaker is until when the service asked to be left alone (Retry-After). Every loop that calls it by itself waits for
// that, whatever wakes it; a person who asks does not. Safe for concurrent use.
type Breaker struct {
	mu  sync.Mutex
	now Cooldown
}

// Open leaves the service alone for d from now on, or longer if it rests longer already.
func (r *Breaker) Open(now time.Time, d time.Duration) {
	d = min(d, MaxBreak)
	r.mu.Lock()
	defer r.mu.Unlock()
	if d > r.now.Left(now) {
		r.now = CoolFor(now, d)
	}
}

// Left is how long the service still rests.
func (r *Breaker) Left(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.Left(now)
}

func (r *Breaker) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = Cooldown{}
}
