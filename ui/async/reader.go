package async

import "context"

// Reader reads a value beside the window and shows it, one reading at a time: asking while one runs makes exactly one
// more follow, so that a burst of changes costs two readings and an old value never replaces a newer one. Its methods
// belong to the window's goroutine.
type Reader[T any] struct {
	pool        *Pool
	read        func(context.Context) (T, error)
	show        func(T, error)
	busy, again bool
}

// NewReader returns a reader. read runs on its own goroutine; show, on the window's, gets what it returned.
func NewReader[T any](p *Pool, read func(context.Context) (T, error), show func(T, error)) *Reader[T] {
	return &Reader[T]{pool: p, read: read, show: show}
}

// Ask reads and shows, soon.
func (r *Reader[T]) Ask() {
	if r.busy {
		r.again = true
		return
	}
	r.busy = true
	Then(r.pool, r.read, func(value T, err error) {
		r.busy = false
		r.show(value, err)
		if r.again {
			r.again = false
			r.Ask()
		}
	})
}
