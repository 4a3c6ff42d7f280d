package loop

import (
	"slices"
	"sync"
)

// Watchers deliver every signal to each watcher, in order, from the time it began to watch. Repeated signals not yet received are
// delivered once, as they only say what to read again. Safe for concurrent use.
type Watchers[T comparable] struct {
	mu   sync.Mutex
	list []*watcher[T]
}

type watcher[T comparable] struct {
	ring chan struct{}

	mu      sync.Mutex
	pending map[T]bool
	order   []T
}

// Signal sends x to every watcher, in the order in which they began. It does not block.
func (w *Watchers[T]) Signal(x T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, to := range w.list {
		to.put(x)
	}
}

// Watch returns a channel and a function that stops and closes it.
func (w *Watchers[T]) Watch() (<-chan T, func()) {
	x := &watcher[T]{pending: map[T]bool{}, ring: make(chan struct{}, 1)}
	w.mu.Lock()
	w.list = append(w.list, x)
	w.mu.Unlock()

	out := make(chan T)
	done := make(chan struct{})
	go x.deliver(out, done)
	return out, sync.OnceFunc(func() {
		w.mu.Lock()
		w.list = slices.DeleteFunc(w.list, func(y *watcher[T]) bool { return y == x })
		w.mu.Unlock()
		close(done)
	})
}

func (x *watcher[T]) put(v T) {
	x.mu.Lock()
	if !x.pending[v] {
		x.pending[v] = true
		x.order = append(x.order, v)
	}
	x.mu.Unlock()
	Wake(x.ring)
}

func (x *watcher[T]) take() (v T, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.order) == 0 {
		return v, false
	}
	v, x.order = x.order[0], x.order[1:]
	delete(x.pending, v)
	return v, true
}

func (x *watcher[T]) deliver(out chan<- T, done <-chan struct{}) {
	defer close(out)
	for {
		v, ok := x.take()
		if !ok {
			select {
			case <-x.ring:
				continue
			case <-done:
				return
			}
		}
		select {
		case out <- v:
		case <-done:
			return
		}
	}
}

// Wake wakes the goroutine waiting on ring, which must have a buffer of one; one pending wake-up is enough.
func Wake(ring chan<- struct{}) {
	select {
	case ring <- struct{}{}:
	default:
	}
}
