package agent

import "sync"

// watchers fan Changes out. A watcher that does not keep up loses nothing but repetition: each has room for every
// kind of Change once, and a Change says only what to read again. Safe for concurrent use.
type watchers struct {
	mu   sync.Mutex
	list map[*watcher]struct{}
}

type watcher struct {
	mu      sync.Mutex
	pending map[Change]bool
	order   []Change
	ring    chan struct{}
}

// signal tells every watcher of c.
func (w *watchers) signal(c Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for x := range w.list {
		x.put(c)
	}
}

// watch returns a channel of Changes and the function that ends it. The channel is closed after stop.
func (w *watchers) watch() (<-chan Change, func()) {
	x := &watcher{pending: map[Change]bool{}, ring: make(chan struct{}, 1)}
	w.mu.Lock()
	if w.list == nil {
		w.list = map[*watcher]struct{}{}
	}
	w.list[x] = struct{}{}
	w.mu.Unlock()

	out := make(chan Change)
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

func (x *watcher) put(c Change) {
	x.mu.Lock()
	if !x.pending[c] {
		x.pending[c] = true
		x.order = append(x.order, c)
	}
	x.mu.Unlock()
	poke(x.ring)
}

func (x *watcher) take() (Change, bool) {
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

func (x *watcher) deliver(out chan<- Change, done <-chan struct{}) {
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

// poke wakes whoever waits on ring, which has room for one; a ring that rings already is enough.
func poke(ring chan<- struct{}) {
	select {
	case ring <- struct{}{}:
	default:
	}
}
