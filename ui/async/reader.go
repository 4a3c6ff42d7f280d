package async

import "context"

// Reader reads a value beside the window and shows it, one reading at a time: asking while one runs makes exactly one
// more follow, so that a burst of changes costs two readings and an old value never replaces a newer one. Its methods
// belong to the window's goroutine.
type Reader[T any] struct {
	pool        *Pool
	read        func(context.Context) T
	show        func(T)
	busy, again bool
}

// NewReader returns a reader. read runs on its own goroutine, show on the window's.
func NewReader[T any](p *Pool, read func(context.Context) T, show func(T)) *Reader[T] {
	return &Reader[T]{pool: p, read: read, show: show}
}

// Ask reads and shows, soon.
func (r *Reader[T]) Ask() {
	if r.busy {
		r.again = true
		return
	}
	r.busy = true
	Then(r.pool, func(ctx context.Context) (T, error) { return r.read(ctx), nil }, func(value T, _ error) {
		r.busy = false
		r.show(value)
		if r.again {
			r.again = false
			r.Ask()
		}
	})
}
