package loop

import (
	"maps"
	"sync"
	"time"
)

// Retry is how often something has failed in a row, and the pause that it is left alone for. The zero value is of what works.
type Retry struct {
	tries int
	pause Cooldown
}

// Failed notes a failure, and leaves it alone for as long as pause says after so many in a row; without pause it is not left alone.
// Failures side by side, until the pause is over, count once.
func (r *Retry) Failed(now time.Time, pause func(tries int) time.Duration) (tries int) {
	if r.Left(now) > 0 {
		return r.tries
	}
	if r.tries++; pause != nil {
		r.pause = CoolFor(now, pause(r.tries))
	}
	return r.tries
}

// Left is how long it is still left alone; 0 when it may be tried.
func (r *Retry) Left(now time.Time) time.Duration { return r.pause.Left(now) }

// Retries is the Retry of each of many things, by whatever key tells them apart: one that always fails keeps nobody from the others,
// even when its record cannot be changed, since this is kept in memory. The zero value has none. Safe for concurrent use.
type Retries struct {
	mu      sync.Mutex
	list    map[string]retried
	answers int // to questions about anything
}

type retried struct {
	Retry
	answers int // by the last failure
}

// Failed is Retry.Failed for key. alone reports whether the trouble is that thing's and not everything's: since it failed before,
// something else was answered.
func (r *Retries) Failed(key string, now time.Time, pause func(tries int) time.Duration) (tries int, alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[string]retried{}
	}
	x, again := r.list[key]
	alone = again && r.answers > x.answers
	x.answers = r.answers
	tries = x.Failed(now, pause)
	r.list[key] = x
	return tries, alone
}

// Answered notes that a question, about whatever it was, was answered.
func (r *Retries) Answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers++
}

// Left is how long the thing is still left alone; 0 when it may be tried.
func (r *Retries) Left(key string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list[key].pause.Left(now)
}

// Waits reports whether the thing is left alone for now.
func (r *Retries) Waits(key string, now time.Time) bool { return r.Left(key, now) > 0 }

// Waiting is how many things are left alone for now.
func (r *Retries) Waiting(now time.Time) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if x.Left(now) > 0 {
			n++
		}
	}
	return n
}

// Next is how long until one of the things that are left alone may be tried, at most limit.
func (r *Retries) Next(now time.Time, limit time.Duration) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.list {
		if left := x.Left(now); left > 0 {
			limit = min(limit, left)
		}
	}
	return limit
}

// Len is how many things have failed and not worked since.
func (r *Retries) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

// Worked notes that nothing is wrong with the thing any more, and reports whether something was.
func (r *Retries) Worked(key string) (failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, failed = r.list[key]
	delete(r.list, key)
	return failed
}

// Keep forgets the things that are no more.
func (r *Retries) Keep(there func(key string) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.list, func(key string, _ retried) bool { return !there(key) })
}

// Now has everything tried at the next occasion, and what fails then has failed once.
func (r *Retries) Now() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, x := range r.list {
		x.Retry = Retry{}
		r.list[key] = x
	}
}
