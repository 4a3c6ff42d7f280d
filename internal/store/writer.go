package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// request is one Update waiting for its commit.
type request struct {
	fn   func(*Tx) error
	done chan result // capacity 1
}

// result is how a request ended.
type result struct {
	err      error
	panicked *fnPanic
}

// fnPanic carries a panic of fn from the writer back to the goroutine that called Update.
type fnPanic struct {
	value any
	stack []byte
}

func (p *fnPanic) String() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

var (
	errAgain  = errors.New("run the others again") // a request failed after it had written
	errGoexit = errors.New("the update ended its goroutine")
)

// Update runs fn in a transaction and returns when the changes are on disk, or with fn's error and nothing changed.
//
// Updates that are called while another one is being committed share the next commit, so fifty callers cost hardly
// more than one, and a single caller never waits for company. fn runs on the writer's goroutine, alone, and sees what
// the updates before it wrote. It may run more than once (when a neighbour fails), so it must do nothing but read and
// write through tx and set variables that it sets anew each time. It must not call Update, View or Close. If fn
// panics, Update panics on the caller's goroutine.
func (s *Store) Update(fn func(*Tx) error) error {
	r := &request{fn: fn, done: make(chan result, 1)}
	if err := s.enqueue(r); err != nil {
		return err
	}
	res := <-r.done
	if res.panicked != nil {
		panic(res.panicked)
	}
	return res.err
}

func (s *Store) enqueue(r *request) error {
	if d := s.damage.Load(); d != nil {
		return d
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.queue = append(s.queue, r)
	s.mu.Unlock()
	s.signal()
	return nil
}

func (s *Store) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // a signal is already waiting
	}
}

// write is the writer's goroutine: it commits whatever is queued, all of it at once, until the store is closed.
func (s *Store) write() {
	var batch []*request
	ended := false
	defer func() {
		if ended {
			return
		}
		// fn called runtime.Goexit (a test's FailNow, say). bbolt has rolled back; go on with a new writer.
		answer(batch, result{err: errGoexit})
		s.signal() // the one that was taken may have been Close's
		go s.write()
	}()
	for range s.wake {
		// Callers that the last commit has just released may be about to queue again: let them, instead of
		// committing for the first of them alone. This costs no time when nobody is there.
		if len(batch) > 1 {
			runtime.Gosched()
		}
		var closed bool
		batch, closed = s.take()
		s.commit(batch)
		if closed {
			break
		}
	}
	ended = true
	close(s.done)
}

// take empties the queue. Once closed nothing is added to it any more.
func (s *Store) take() (batch []*request, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, s.queue = s.queue, nil
	return batch, s.closed
}

// commit brings the batch to disk in one transaction. Requests that fail are run again alone afterwards, on what was
// then really committed: their answer must not depend on a neighbour's changes that were rolled back.
func (s *Store) commit(batch []*request) {
	good := batch
	var bad []*request
	for len(good) > 0 {
		failed := map[*request]bool{}
		err := s.transact(func(tx *Tx) error {
			for _, r := range good {
				before := tx.writes
				if res := run(r.fn, tx); res.err == nil && res.panicked == nil {
					continue
				}
				failed[r] = true
				if tx.writes != before {
					return errAgain
				}
			}
			return nil
		})
		var rest []*request
		for _, r := range good {
			if failed[r] {
				bad = append(bad, r)
			} else {
				rest = append(rest, r)
			}
		}
		good = rest
		if err == errAgain {
			continue
		}
		answer(good, result{err: err})
		break
	}
	for _, r := range bad {
		s.commitAlone(r)
	}
}

func (s *Store) commitAlone(r *request) {
	var res result
	err := s.transact(func(tx *Tx) error {
		res = run(r.fn, tx)
		if res.panicked != nil {
			return errAgain // roll back
		}
		return res.err
	})
	if res.panicked == nil {
		res.err = err
	}
	answer([]*request{r}, res)
}

func answer(requests []*request, res result) {
	for _, r := range requests {
		select {
		case r.done <- res:
		default: // answered before the writer was ended
		}
	}
}

// transact runs fn in one bbolt transaction and commits it.
func (s *Store) transact(fn func(*Tx) error) error {
	if d := s.damage.Load(); d != nil {
		return d
	}
	return s.guard(func() error {
		inner := error(nil)
		err := s.db.Update(func(b *bolt.Tx) error {
			tx := s.newTx(b)
			if inner = fn(tx); inner == nil && tx.writes == 0 {
				inner = errUnchanged
			}
			return inner
		})
		switch {
		case errors.Is(inner, errUnchanged):
			return nil
		case err != nil && inner == nil:
			return fmt.Errorf("save to %s: %w", s.path, err)
		}
		return err
	})
}

// errUnchanged spares the disk a commit when nothing was written.
var errUnchanged = errors.New("nothing changed")

// run calls fn and catches its panic, except for those that mean damage: guard knows them.
func run(fn func(*Tx) error, tx *Tx) (res result) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if isFault(value) || inBolt() {
			panic(damaged{value})
		}
		res = result{panicked: &fnPanic{value: value, stack: debug.Stack()}}
	}()
	return result{err: fn(tx)}
}
