package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"
)

// request is one Update waiting for its commit.
type request struct {
	fn       func(*Tx) error
	since    time.Time     // when it was queued
	done     chan struct{} // closed once it is answered
	answered bool          // like err of whoever has the turn, until done is closed
	err      error
}

// fnPanic carries a panic of fn back to the goroutine that called Update.
type fnPanic struct {
	value any
	stack []byte
}

func (p *fnPanic) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// lull is how long no update has gone first when they do not keep coming any more: longer than a sender takes from an answer
// to its next request, and short for those that wait.
const lull = 2 * time.Millisecond

// longestWait is how long an update waits at most for those that go first and keep coming.
const longestWait = 50 * time.Millisecond

// stream tells whether updates that go first keep coming.
type stream struct {
	flows    bool // the latest came soon after the one before it, or beside it
	underWay int
	ended    time.Time // when the latest had its answer
}

// left is how long it takes at least until they do not keep coming any more.
func (m *stream) left() time.Duration {
	switch {
	case !m.flows:
		return 0
	case m.underWay > 0:
		return lull
	}
	return lull - time.Since(m.ended)
}

// Update runs fn in a transaction and returns when the changes are on disk, or with fn's error and nothing changed.
//
// Updates that are called while another one is being committed share the next commit, so fifty callers cost hardly
// more than one, and a single caller never waits for company. No other update runs while fn does, which sees what those
// before it wrote. It may run more than once (when a neighbour fails) and on another goroutine, so it must do nothing but read and
// write through tx and set variables that it sets anew each time. It must not call Update, View or Close. If fn
// panics, Update panics on the caller's goroutine.
func (s *Store) Update(fn func(*Tx) error) error {
	r, err := s.enqueue(&s.queue, fn)
	if err != nil {
		return err
	}
	select {
	case <-r.done:
	case s.leader <- struct{}{}:
		defer func() { <-s.leader }() // once the others of the batch have their answer, too
		if s.awaitLull(r) {
			s.turn <- struct{}{}
			s.commitQueues(r, &s.first, &s.queue)
		}
	}
	return r.outcome()
}

// UpdateFirst is Update for what somebody waits for at the other end of a line, such as an event to be answered. It goes
// before whatever else is queued. While such updates keep coming, the others wait until none has come for a moment, or until
// they have waited long enough: they are written in few commits then, and hold up the line once, not each time. Without that
// events are stored at half the rate while those before them are handled (BenchmarkReceive in package agent).
func (s *Store) UpdateFirst(fn func(*Tx) error) error {
	r, err := s.enqueue(&s.first, fn)
	if err != nil {
		return err
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stream.underWay--
		s.stream.ended = time.Now()
	}()
	select {
	case <-r.done:
	case s.turn <- struct{}{}:
		s.commitQueues(r, &s.first)
	}
	return r.outcome()
}

func (s *Store) enqueue(queue *[]*request, fn func(*Tx) error) (*request, error) {
	if d := s.damage.Load(); d != nil {
		return nil, d
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	r := &request{fn: fn, since: time.Now(), done: make(chan struct{})}
	*queue = append(*queue, r)
	if queue == &s.first {
		s.stream.flows = s.stream.underWay > 0 || r.since.Sub(s.stream.ended) < lull
		s.stream.underWay++
	}
	return r, nil
}

// awaitLull returns true when no updates that go first keep coming, or r has waited long enough; false when r is answered.
func (s *Store) awaitLull(r *request) bool {
	for {
		s.mu.Lock()
		left := min(s.stream.left(), longestWait-time.Since(r.since))
		s.mu.Unlock()
		if left <= 0 {
			return true
		}
		select {
		case <-r.done:
			return false
		case <-time.After(left):
		}
	}
}

// commitQueues commits what is queued, each queue in a transaction, and gives back the turn, which the caller has taken to have
// own committed; nil is for all that there is. Where somebody else has committed it by now, whoever is queued does so for himself.
// What is not the caller's own is run on another goroutine: a function that ends it (a test's FailNow, say) ends no other caller's.
func (s *Store) commitQueues(own *request, queues ...*[]*request) {
	if own != nil && own.answered {
		<-s.turn
		return
	}
	var batches [][]*request
	s.mu.Lock()
	for _, queue := range queues {
		batches = append(batches, *queue)
		*queue = nil
	}
	s.mu.Unlock()
	all := slices.Concat(batches...)
	commit := func() {
		defer func() {
			if len(all) > 1 {
				runtime.Gosched() // those that have their answer may be about to queue again: let them
			}
			<-s.turn
		}()
		defer answer(all, errGoexit) // those that are not answered yet
		for _, batch := range batches {
			s.commit(batch)
		}
	}
	if len(all) == 1 && all[0] == own {
		commit()
	} else {
		go commit()
	}
}

// commit brings the batch to disk in one transaction. A request that fails is taken out and run again alone, on what is
// really committed: its answer must not depend on a neighbour's changes that were rolled back.
func (s *Store) commit(batch []*request) {
	for len(batch) > 0 {
		bad := -1
		err := s.transact(func(tx *Tx) error {
			for i, r := range batch {
				if err := run(r.fn, tx); err != nil {
					bad = i
					return err
				}
			}
			return nil
		})
		if bad < 0 || len(batch) == 1 {
			answer(batch, err)
			return
		}
		s.commit(batch[bad : bad+1])
		batch = slices.Concat(batch[:bad], batch[bad+1:])
	}
}

var errGoexit = errors.New("the update ended its goroutine")

func answer(requests []*request, err error) {
	for _, r := range requests {
		if !r.answered {
			r.answered, r.err = true, err
			close(r.done)
		}
	}
}

func (r *request) outcome() error {
	<-r.done
	if p, ok := r.err.(*fnPanic); ok {
		panic(p)
	}
	return r.err
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
			if inner == nil {
				s.lines.note(uint64(b.ID()), tx.lines)
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

// run calls fn and returns its panic as a *fnPanic, except for those that mean damage: guard knows them.
func run(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if isFault(value) || inBolt() {
			panic(damaged{value})
		}
		err = &fnPanic{value: value, stack: debug.Stack()}
	}()
	return fn(tx)
}
