package async

import "sync"

// Queue is a window's goroutine for places that have none: what is handed to Do waits until the owner of the queue
// runs it. Do may be called from any goroutine, the rest only from the owner's.
type Queue struct {
	mu    sync.Mutex
	waits []func()
	more  chan struct{}
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{more: make(chan struct{}, 1)} }

// Do adds f.
func (q *Queue) Do(f func()) {
	q.mu.Lock()
	q.waits = append(q.waits, f)
	q.mu.Unlock()
	select {
	case q.more <- struct{}{}:
	default:
	}
}

// Run runs what waits, also what is added meanwhile, and says whether there was anything.
func (q *Queue) Run() bool {
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

// Until runs what comes in until done says so or stop is closed, and says which.
func (q *Queue) Until(done func() bool, stop <-chan struct{}) bool {
	for {
		q.Run()
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
