package loop

import "context"

// Semaphore bounds how much is done at once. What uses the network gets few slots. What only commits gets more: commits that
// wait at the same time are written together.
type Semaphore chan struct{}

// NewSemaphore has n slots.
func NewSemaphore(n int) Semaphore { return make(Semaphore, n) }

// Acquire waits for a slot and reports whether it got one; it gets none once ctx has ended. Release gives it back.
func (s Semaphore) Acquire(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Release gives a slot back.
func (s Semaphore) Release() { <-s }

// MaxCommits is how many goroutines of a loop may wait for a commit.
const MaxCommits = 48
