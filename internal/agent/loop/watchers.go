package loop

import (
	"sync"

	"countersign/internal/office"
)

// Watchers fan Changes out. A watcher that does not keep up loses nothing but repetition: each has room for every
// kind of Change once, and a Change says only what to read again. Safe for concurrent use.
type Watchers struct {
	mu   sync.Mutex
	list map[*watcher]struct{}
}

type watcher struct {
	mu      sync.Mutex
	pending map[office.Change]bool
	order   []office.Change
	ring    chan struct{}
}

// Signal tells every watcher of c.
func (w *Watchers) Signal(c office.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for x := range w.list {
		x.put(c)
	}
}

// Watch returns a channel of Changes and the function that ends it. The channel is closed after stop.
func (w *Watchers) Watch() (<-chan office.Change, func()) {
	x := &watcher{pending: map[office.Change]bool{}, ring: make(chan struct{}, 1)}
	w.mu.Lock()
	if w.list == nil {
		w.list = map[*watcher]struct{}{}
	}
	w.list[x] = struct{}{}
	w.mu.Unlock()

	out := make(chan office.Change)
	done := make(chan struct{})
	go x.deliver(out, done)
	var once sync.Once
	return out, func() {
		once.Do(func() {
			w.mu.Lock()
			delete(w.list, x)
			w.mu.Unlock()
			close(done)
		})
	}
}

func (x *watcher) put(c office.Change) {
	x.mu.Lock()
	if !x.pending[c] {
		x.pending[c] = true
		x.order = append(x.order, c)
	}
	x.mu.Unlock()
	Wake(x.ring)
}

func (x *watcher) take() (office.Change, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.order) == 0 {
		return "", false
	}
	c := x.order[0]
	x.order = x.order[1:]
	delete(x.pending, c)
	return c, true
}

func (x *watcher) deliver(out chan<- office.Change, done <-chan struct{}) {
	defer close(out)
	for {
		c, ok := x.take()
		if !ok {
			select {
			case <-x.ring:
				continue
			case <-done:
				return
			}
		}
		select {
		case out <- c:
		case <-done:
			return
		}
	}
}

// Wake wakes whoever waits on ring, which has room for one; a ring that rings already is enough.
func Wake(ring chan<- struct{}) {
	select {
	case ring <- struct{}{}:
	default:
	}
}
