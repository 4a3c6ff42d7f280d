// Package async keeps slow work off the UI goroutine and brings the results back to it. It is the one place where screens start
// goroutines; when Close returns, all of them have ended. It does not know what the work is.
package async

import (
	"context"
	"errors"
	"sync"
)

// Pool runs background jobs for the window. Its methods may be called from any goroutine, but not after Close has begun.
type Pool struct {
	ctx    context.Context
	cancel context.CancelFunc
	do     func(func())
	wg     sync.WaitGroup
}

// NewPool returns a pool whose jobs end with ctx. do runs a function on the UI goroutine, soon, without waiting for it: fyne.Do in
// the program, a queue in tests.
func NewPool(ctx context.Context, do func(func())) *Pool {
	ctx, cancel := context.WithCancel(ctx)
	return &Pool{ctx: ctx, cancel: cancel, do: do}
}

// Inner returns a pool whose jobs also end when p is closed or stopped.
func (p *Pool) Inner() *Pool { return NewPool(p.ctx, p.do) }

// Do runs f on the UI goroutine unless the pool is closed by then.
func (p *Pool) Do(f func()) {
	p.do(func() {
		if p.ctx.Err() == nil {
			f()
		}
	})
}

// Start runs job on its own goroutine. Its context ends with the pool, or when the returned function is called, which is optional.
func (p *Pool) Start(job func(context.Context)) context.CancelFunc {
	ctx, cancel := context.WithCancel(p.ctx)
	p.wg.Go(func() {
		defer cancel()
		job(ctx)
	})
	return cancel
}

func (p *Pool) Wait() { p.wg.Wait() }

// Stop cancels all jobs and drops their results. Unlike Close, it does not wait.
func (p *Pool) Stop() { p.cancel() }

// Close cancels all jobs, waits for them and drops their results.
func (p *Pool) Close() {
	p.cancel()
	p.wg.Wait()
}

// Try runs job on its own goroutine and passes its error, even nil, to then on the UI goroutine, like Then.
func Try(p *Pool, job func(context.Context) error, then func(error)) context.CancelFunc {
	return Then(p, func(ctx context.Context) (struct{}, error) { return struct{}{}, job(ctx) }, func(_ struct{}, err error) { then(err) })
}

// Each does something with each of a list, also after one failed, and returns those that it changed.
func Each[T any](list []T, do func(T) (changed bool, err error)) (done []T, failed error) {
	for _, x := range list {
		changed, err := do(x)
		if failed = errors.Join(failed, err); changed {
			done = append(done, x)
		}
	}
	return done, failed
}

// Then runs job on its own goroutine and passes its result to then on the UI goroutine, unless the pool has been closed. The
// returned function cancels the job; then is still called.
func Then[T any](p *Pool, job func(context.Context) (T, error), then func(T, error)) context.CancelFunc {
	return p.Start(func(ctx context.Context) {
		result, err := job(ctx)
		p.Do(func() { then(result, err) })
	})
}

// Reader reads a value off the UI goroutine and shows it. Only one read runs at a time: asking while one runs causes exactly one
// more, so that a burst of changes costs two reads and an old value never replaces a newer one. Its methods belong to the UI
// goroutine.
type Reader[T any] struct {
	pool        *Pool
	read        func(context.Context) (T, error)
	show        func(T, error)
	busy, again bool
	now, later  []func() // called once this value, or the next one, is shown
}

// NewReader returns a reader. read runs on its own goroutine; show gets its result on the UI goroutine.
func NewReader[T any](p *Pool, read func(context.Context) (T, error), show func(T, error)) *Reader[T] {
	return &Reader[T]{pool: p, read: read, show: show}
}

// Ask reads and shows the value, soon.
func (r *Reader[T]) Ask() {
	if r.busy {
		r.again = true
		return
	}
	r.busy = true
	Then(r.pool, r.read, func(value T, err error) {
		r.busy = false
		shown := r.now
		r.now, r.later = r.later, nil
		r.show(value, err)
		if r.again {
			r.again = false
			r.Ask()
		}
		for _, then := range shown {
			then()
		}
	})
}

// AskThen asks, and calls then once a value no older than the call is shown.
func (r *Reader[T]) AskThen(then func()) {
	if r.busy {
		r.later = append(r.later, then)
	} else {
		r.now = append(r.now, then)
	}
	r.Ask()
}
