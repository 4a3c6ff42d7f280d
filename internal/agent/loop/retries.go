package loop

import (
	"maps"
	"sync"
	"time"
)

// Retries are the objects that could not be worked on, each with a pause of its own, which grows with each failure in a row: one
// that always fails keeps nobody from the others. The zero value has none. Safe for concurrent use.
type Retries struct {
	mu   sync.Mutex
	list map[string]retry
}

type retry struct {
	tries int // failures in a row
	pause Cooldown
}

// Failed notes a failure and leaves the object alone for as long as pause says after so many in a row. It reports whether it is the first.
func (r *Retries) Failed(key string, now time.Time, pause func(tries int) time.Duration) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[string]retry{}
	}
	tries := r.list[key].tries + 1
	r.list[key] = retry{tries, CoolFor(now, pause(tries))}
	return tries == 1
}

// Rests reports whether the object is left alone for now.
func (r *Retries) Rests(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, failed := r.list[key]
	return failed && !x.pause.Over(now)
}

// Worked notes that nothing is wrong with the object any more.
func (r *Retries) Worked(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.list, key)
}

// Keep forgets the objects that are no more.
func (r *Retries) Keep(there func(key string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.list, func(key string, _ retry) bool { return !there(key) })
}

// Now has every object tried at the next occasion.
func (r *Retries) Now() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, x := range r.list {
		r.list[key] = retry{tries: x.tries}
	}
}
