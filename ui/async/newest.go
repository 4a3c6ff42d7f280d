package async

import "sync"

// Newest carries reports to the window's goroutine: of many only the newest is shown. Safe for concurrent use.
type Newest[T any] struct {
	mu     sync.Mutex
	newest T
	waits  bool
}

// Put keeps a report and says whether somebody has to be sent for it.
func (n *Newest[T]) Put(report T) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.newest = report
	first := !n.waits
	n.waits = true
	return first
}

// Take returns the newest report. The next one has to be sent for again.
func (n *Newest[T]) Take() T {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.waits = false
	return n.newest
}
