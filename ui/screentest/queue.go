package screentest

import "sync"

// queue is a window's goroutine for places that have none: what is handed to do waits until the owner of the queue
// runs it. do may be called from any goroutine, the rest only from the owner's.
type queue struct {
	mu    sync.Mutex
	waits []func()
	more  chan struct{}
}

func newQueue() *queue { return &queue{more: make(chan struct{}, 1)} }

// do adds f.
func (q *queue) do(f func()) {
	q.mu.Lock()
	q.waits = append(q.waits, f)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// run runs what waits, also what is added meanwhile, and says whether there was anything.
func (q *queue) run() bool {
	ran := false
	for {
		q.mu.Lock()
		waits := q.waits
		q.waits = nil
		q.mu.Unlock()
		if len(waits) == 0 {
			return ran
		}
		for _, f := range waits {
			f()
		}
		ran = true
	}
}

// until runs what comes in until done says so or stop is closed, and says which.
func (q *queue) until(done func() bool, stop <-chan struct{}) bool {
	for {
		q.run()
		if done() {
			return true
		}
		select {
		case <-q.more:
		case <-stop:
			return false
		}
	}
}
