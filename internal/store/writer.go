package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
)

// request is one Update waiting for its commit.
type request struct {
	fn    func(*Tx) error
	since time.Time   // when it was queued
	done  chan result // capacity 1
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
// more than one, and a single caller never waits for company. No other update runs while fn does, which sees what those
// before it wrote: on the caller's goroutine when nobody else is there, which spares handing it over and back, or else on
// the writer's. It may run more than once (when a neighbour fails), so it must do nothing but read and
// write through tx and set variables that it sets anew each time. It must not call Update, View or Close. If fn
// panics, Update panics on the caller's goroutine.
func (s *Store) Update(fn func(*Tx) error) error { return s.update(&s.queue, fn) }

// UpdateFirst is Update for what somebody waits for at the other end of a line, such as an event to be answered. It goes
// before whatever else is queued. While such updates keep coming, the others wait until none has come for a moment, or until
// they have waited long enough (patience): they are written in few commits then, and hold up the line once, not each time.
func (s *Store) UpdateFirst(fn func(*Tx) error) error { return s.update(&s.first, fn) }

func (s *Store) update(queue *[]*request, fn func(*Tx) error) error {
	r := &request{fn: fn, since: time.Now(), done: make(chan result, 1)}
	alone, err := s.enqueue(queue, r)
	if err != nil {
		return err
	}
	if alone {
		s.commitOwn(r, queue == &s.first)
	}
	res := <-r.done
	if res.panicked != nil {
		panic(res.panicked)
	}
	return res.err
}

// enqueue hands a request to the writer. When nobody else has anything to commit, the caller has the turn instead.
func (s *Store) enqueue(queue *[]*request, r *request) (alone bool, err error) {
	if d := s.damage.Load(); d != nil {
		return false, d
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false, ErrClosed
	}
	if s.takeTurn(queue == &s.first) {
		return true, nil
	}
	*queue = append(*queue, r)
	s.signal()
	return false, nil
}

// takeTurn takes the turn for an update that comes now, unless others are to be committed before it or with it. It is called
// with mu held and does not wait.
func (s *Store) takeTurn(first bool) bool {
	if len(s.first) > 0 || len(s.queue) > 0 && !(first && time.Since(s.queue[0].since) < patience) {
		return false
	}
	select {
	case s.turn <- struct{}{}:
	default:
		return false // somebody commits
	}
	if !first && s.line.left() > 0 {
		<-s.turn
		return false
	}
	return true
}

// commitOwn commits the request of a caller that has the turn, and gives that back.
func (s *Store) commitOwn(r *request, first bool) {
	defer func() { <-s.turn }() // also when fn ends the goroutine
	began := time.Now()
	s.commit([]*request{r})
	if first {
		s.line.passed(began)
	}
}

func (s *Store) signal() {
	select {
	case s.wake <- struct{}{}:
	default: // a signal is already waiting
	}
}

// lull is how long no update has gone first when they do not keep coming any more. That is longer than a sender takes from
// an answer to its next request, and short for those that wait. On a slow or busy machine it is as long as a commit takes,
// up to longestLull: whoever comes within that would wait as long for the others' commit.
const (
	lull        = 2 * time.Millisecond
	longestLull = 20 * time.Millisecond
)

// patience is how long an update waits at most for those that go first and keep coming.
const patience = 50 * time.Millisecond

// stream tells whether updates that go first keep coming. It belongs to whoever has the turn.
type stream struct {
	last  time.Time // when the latest was committed
	flows bool      // the one before it was not long ago then
	lull  time.Duration
}

// passed notes that one was committed, which was taken at began.
func (m *stream) passed(began time.Time) {
	m.flows = began.Sub(m.last) < m.lull
	m.last = time.Now()
	m.lull = min(max(lull, m.last.Sub(began)), longestLull)
}

// left is how long it takes at least until they do not keep coming any more.
func (m *stream) left() time.Duration {
	if !m.flows {
		return 0
	}
	return m.lull - time.Since(m.last)
}

// write is the writer's goroutine: it commits what is queued, as much as it may at once, until the store is closed. Whatever is
// queued wakes it, so that who commits for himself meanwhile need not.
func (s *Store) write() {
	var batch []*request
	ended := false
	defer func() {
		if ended {
			return
		}
		// fn called runtime.Goexit (a test's FailNow, say). bbolt has rolled back; go on with a new writer.
		answer(batch, result{err: errGoexit})
		<-s.turn
		s.signal() // the one that was taken may have been Close's
		go s.write()
	}()
	look := time.AfterFunc(lull, s.signal) // also for what a writer before this one left
	defer look.Stop()
	for range s.wake {
		// Callers that the last commit has just released may be about to queue again: let them, instead of
		// committing for the first of them alone. This costs no time when nobody is there.
		if len(batch) > 1 {
			runtime.Gosched()
		}
		s.turn <- struct{}{}
		began := time.Now()
		var first int
		var more, closed bool
		batch, first, more, closed = s.take(s.line.left())
		s.commit(batch)
		if first > 0 {
			s.line.passed(began)
		}
		if more {
			look.Reset(max(0, min(s.line.left(), s.patienceLeft())))
		}
		<-s.turn
		if closed {
			break
		}
	}
	ended = true
	close(s.done)
}

// take returns what is to be committed next, and how many of it go first. The others are left in the queue while some go
// first or may come in what is left of a stream of them, unless they have waited long enough; more says so. Once closed
// nothing is added any more.
func (s *Store) take(left time.Duration) (batch []*request, first int, more, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first = len(s.first)
	others := len(s.queue)
	if (first > 0 || left > 0) && !s.closed && others > 0 && time.Since(s.queue[0].since) < patience {
		others = 0
	}
	batch = append(s.first, s.queue[:others]...)
	s.first, s.queue = nil, s.queue[others:]
	return batch, first, len(s.queue) > 0, s.closed
}

// patienceLeft is how long until the first in the queue has waited long enough.
func (s *Store) patienceLeft() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return 0
	}
	return patience - time.Since(s.queue[0].since)
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
