package store

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"countersign/internal/office"

	bolt "go.etcd.io/bbolt"
)

// request is one Update waiting for its commit.
type request struct {
	fn       func(*Tx) error
	since    time.Time     // when it was queued
	done     chan struct{} // closed once it has its result
	answered bool          // like err, owned by whoever has the turn until done is closed
	err      error
}

// fnPanic passes a panic of fn to the goroutine that called Update.
type fnPanic struct {
	value any
	stack []byte
}

func (p *fnPanic) Error() string { return fmt.Sprintf("%v\n\n%s", p.value, p.stack) }

// lull is how long no UpdateFirst must occur before the stream of them counts as over: longer than a sender takes from an
// answer to its next request, and short for those that wait.
const lull = 2 * time.Millisecond

// longestWait is the longest time for which an Update gives way to a continuous stream of UpdateFirst.
const longestWait = 50 * time.Millisecond

// stream tracks whether calls of UpdateFirst keep coming.
type stream struct {
	flows    bool // the latest came soon after the previous one, or in parallel
	underWay int
	ended    time.Time // when the latest returned
}

// left is the minimum time until the stream counts as over.
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
// Updates called during a commit share the next one, so fifty callers cost hardly more than one, and a single caller never
// waits for others. No other update runs while fn does, and fn sees what earlier updates wrote. fn may run more than once
// (when another update in the batch fails) and on another goroutine, so it must only read and write through tx and set
// variables that it sets anew each time. It must not call Update, View or Close. If fn panics, Update panics on the caller's
// goroutine.
func (s *Store) Update(fn func(*Tx) error) error {
	r, err := s.enqueue(&s.queue, fn)
	if err != nil {
		return err
	}
	select {
	case <-r.done:
	case s.leader <- struct{}{}:
		defer func() { <-s.leader }() // once the rest of the batch has been answered, too
		if s.awaitLull(r) {
			s.turn <- struct{}{}
			s.commitQueues(r, &s.first, &s.queue)
		}
	}
	return r.outcome()
}

// UpdateFirst is Update for work on which a remote sender waits, such as an event to be answered. It is committed before
// everything else in the queue. While such updates keep coming, others wait until there is a lull, or until they have waited
// long enough: they are then written in few commits, and delay the sender once rather than each time. Without this, events
// are stored at half the rate while earlier ones are being handled (BenchmarkReceive in package agent).
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

// awaitLull returns true once no UpdateFirst keeps coming or r has waited long enough; false once r is answered.
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

// commitQueues commits what is queued, each queue in one transaction, and releases the turn, which the caller has taken to
// get own committed (nil: for everything queued). If somebody else has committed own meanwhile, it does nothing else:
// whoever is queued takes the turn again. Requests of others run on another goroutine, so that a function that ends its
// goroutine (a test's FailNow, for example) does not end another caller's.
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
				runtime.Gosched() // lets callers that were just answered queue their next update
			}
			<-s.turn
		}()
		defer answer(all, errGoexit) // any that are still unanswered
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

// commit writes the batch to disk in one transaction. A request that fails is taken out and run again alone, on the
// committed state: its result must not depend on another request's changes that were rolled back.
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
			if inner != nil {
				return inner
			}
			if owns, err := s.ownsName(); !owns {
				return errors.Join(ErrGone, err)
			}
			s.lines.note(uint64(b.ID()), tx.lines)
			return nil
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

// errUnchanged avoids a commit if nothing was written.
var errUnchanged = errors.New("nothing changed")

// run calls fn and converts its panic into a *fnPanic, unless it means damage, which guard handles.
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
	return tx.do(fn)
}

// lineChanges remembers whose lines the latest transactions wrote, so that a reader that has all lines can read just the
// changed ones. Safe for concurrent use.
type lineChanges struct {
	mu     sync.Mutex
	before uint64 // the last transaction whose changes are no longer remembered
	noted  []lineChange
}

// lineChange is a line written or removed by a transaction.
type lineChange struct {
	in  uint64 // the transaction
	row string
}

// leastChanges is the minimum number of changes that are remembered; the maximum is twice that. Whoever has missed more
// reads all lines.
const leastChanges = 1000

// note is called within a transaction, before its commit: so whoever sees its changes finds them here. A rollback merely
// causes lines to be read again.
func (c *lineChanges) note(in uint64, rows []string) {
	if len(rows) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, row := range rows {
		c.noted = append(c.noted, lineChange{in, row})
	}
	if len(c.noted) > 2*leastChanges {
		over := len(c.noted) - leastChanges
		c.before = c.noted[over-1].in
		c.noted = slices.Clone(c.noted[over:])
	}
}

// forget is called within a transaction that changes everything.
func (c *lineChanges) forget(in uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before, c.noted = max(c.before, in), nil
}

// between are the rows changed after version and up to now, each once; known is false if that is no longer remembered.
func (c *lineChanges) between(version, now uint64) (rows []string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version == 0 || version < c.before || version > now {
		return nil, false
	}
	seen := map[string]bool{}
	for i := len(c.noted) - 1; i >= 0 && c.noted[i].in > version; i-- {
		if row := c.noted[i].row; c.noted[i].in <= now && !seen[row] {
			seen[row] = true
			rows = append(rows, row)
		}
	}
	return rows, true
}

// LinesSince returns the lines of packages that are new or changed since a version that an earlier call returned. It returns
// all lines for version 0, after many changes, and if a package has moved in the order or was removed.
func (tx *Tx) LinesSince(version uint64) (office.Lines, error) {
	lines := office.Lines{Version: uint64(tx.bolt.ID())}
	rows, known := tx.changes.between(version, lines.Version)
	var keep office.Packer
	for _, row := range rows {
		value := tx.get(bucketPackageLines, []byte(row))
		if known = value != nil; !known {
			break // it has moved or was removed
		}
		if l, err := tx.packed(&keep, []byte(row), value); tx.read(err) {
			lines.Lines = append(lines.Lines, l)
		}
	}
	if known {
		return lines, tx.err
	}
	lines.All, lines.Lines = true, nil
	err := each(tx, tx.in(bucketPackageLines), func(row, value []byte) (office.PackedLine, error) { return tx.packed(&keep, row, value) },
		func(l office.PackedLine) bool { lines.Lines = append(lines.Lines, l); return true })
	return lines, err
}

// packed is a line as stored. An unreadable one is rebuilt from its package.
func (tx *Tx) packed(keep *office.Packer, row, value []byte) (office.PackedLine, error) {
	if packed := keep.Keep(value); packed.Whole() {
		return packed, nil
	}
	l, err := tx.line(row, value)
	return l.Pack(), err
}

// line decodes a line. An unreadable one is rebuilt from its package.
func (tx *Tx) line(row, value []byte) (office.PackageLine, error) {
	l, err := decodeLine(value)
	if err == nil {
		return l, nil
	}
	p, lost := at[office.Package](tx, bucketPackages, row)
	if errors.Is(lost, ErrRecord) {
		lost = fmt.Errorf("package %x: %w: %w", row, ErrRecord, err)
	}
	return p.Line(), lost
}

func encodeLine(l office.PackageLine) []byte { return []byte(l.Pack()) }

func decodeLine(b []byte) (office.PackageLine, error) {
	l, ok := office.PackedLine(b).Unpack()
	if !ok {
		return office.PackageLine{}, fmt.Errorf("%w: a package line of %d bytes is cut short", ErrRecord, len(b))
	}
	return l, nil
}

// PackageLines calls take with the line of every package, newest first by Created, until it returns false. An unreadable
// line is rebuilt from its package.
func (tx *Tx) PackageLines(take func(office.PackageLine) bool) error {
	return each(tx, tx.in(bucketPackageLines), tx.line, take)
}

// OpenLines calls take with the lines of the packages that are not [Package.Final], in the order of NextCheck. It reads only
// these.
func (tx *Tx) OpenLines(take func(office.PackageLine)) error {
	due := func(v visit) { tx.oldest(bucketPackagesDue, nil, v) }
	line := func(key, _ []byte) (office.PackageLine, error) {
		return tx.line(key[8:], tx.get(bucketPackageLines, key[8:]))
	}
	return each(tx, due, line, func(l office.PackageLine) bool { take(l); return true })
}
