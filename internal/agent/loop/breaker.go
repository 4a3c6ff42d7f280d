package loop

import (
	"sync"
	"time"
)

// MaxBreak bounds how long the service is left alone at its own word, so that a wrong clock cannot silence the program.
const MaxBreak = 24 * time.Hour

// Breaker remembers until when the service asked to be left alone (Retry-After). Every loop waits that long before it calls
// the service, whatever wakes it; what a person asks for does not wait. Safe for concurrent use.
type Breaker struct {
	mu  sync.Mutex
	now Cooldown
}

// Open leaves the service alone for d from now on, unless it is left alone for longer already.
func (r *Breaker) Open(now time.Time, d time.Duration) {
	d = min(d, MaxBreak)
	r.mu.Lock()
	defer r.mu.Unlock()
	if d > r.now.Left(now) {
		r.now = CoolFor(now, d)
	}
}

// Left is how long the service is still to be left alone; 0 when it may be called.
func (r *Breaker) Left(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.Left(now)
}

// Close lets the service be called at once.
func (r *Breaker) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = Cooldown{}
}
