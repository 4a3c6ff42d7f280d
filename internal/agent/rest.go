package agent

import (
	"sync"
	"time"
)

// maxRest bounds how long the service is left alone at its own word, so that a wrong clock cannot silence the program.
const maxRest = 24 * time.Hour

// rest is until when the service asked to be left alone (Retry-After). Every loop that calls it by itself waits for
// that, whatever pokes it; a person who asks does not. Safe for concurrent use.
type rest struct {
	mu  sync.Mutex
	now cooldown
}

// until makes the service rest for d from now on, or longer if it rests longer already.
func (r *rest) until(now time.Time, d time.Duration) {
	d = min(d, maxRest)
	r.mu.Lock()
	defer r.mu.Unlock()
	if d > r.now.left(now) {
		r.now = coolFor(now, d)
	}
}

// left is how long the service still rests.
func (r *rest) left(now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.left(now)
}

func (r *rest) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = cooldown{}
}
