package agent

import "context"

// slots bound how much is done at once. The network gets few; what follows on this computer gets more, because commits
// that wait for the same disk share one.
type slots chan struct{}

func newSlots(n int) slots { return make(slots, n) }

// take waits for a slot and reports whether ctx is still alive. Whoever got one gives it back.
func (s slots) take(ctx context.Context) bool {
	select {
	case s <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s slots) give() { <-s }

// committing is how many goroutines of a loop may wait for a commit.
const committing = 48
