package loop

import "context"

// Semaphore bounds how much is done at once. The network gets few; what follows on this computer gets more, because commits
// that wait for the same disk share one.
type Semaphore chan struct{}

func NewSemaphore(n int) Semaphore { return make(Semaphore, n) }

// Acquire waits for a slot and reports whether ctx is still alive. Whoever got one gives it back.
func (s Semaphore) Acquire(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s Semaphore) Release() { <-s }

// MaxCommits is how many goroutines of a loop may wait for a commit.
const MaxCommits = 48
