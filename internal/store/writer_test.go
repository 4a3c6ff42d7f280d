package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"countersign/internal/office"
)

// hold keeps the writer busy inside an Update until the returned function is called, so that everything queued meanwhile
// shares the next commit.
func hold(s *Store) (release func()) {
	started, gate, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Update(func(*Tx) error { close(started); <-gate; return nil })
	}()
	<-started
	return func() { close(gate); <-done }
}

// together queues all fns behind a held writer, releases it and returns their results, with a panic as an error.
func together(t *testing.T, s *Store, fns ...func(*Tx) error) []error {
	t.Helper()
	release := hold(s)
	errs := make([]error, len(fns))
	var wg sync.WaitGroup
	for i, fn := range fns {
		wg.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					errs[i] = fmt.Errorf("panic: %v", v)
				}
			}()
			errs[i] = s.Update(fn)
		})
		waitQueued(s, i+1)
	}
	release()
	wg.Wait()
	return errs
}

// waitQueued waits until that many updates, of either kind, are in the queues.
func waitQueued(s *Store, n int) {
	for have := -1; have < n; runtime.Gosched() {
		s.mu.Lock()
		have = len(s.first) + len(s.queue)
		s.mu.Unlock()
	}
}

func pagesWritten(s *Store) int64 {
	stats := s.db.Stats()
	return stats.TxStats.GetWrite()
}

func putDoc(name string) func(*Tx) error {
	return func(tx *Tx) error { return tx.PutDoc(name, name) }
}

func hasDoc(t *testing.T, s *Store, name string) bool {
	t.Helper()
	var v string
	return read(t, s, func(tx *Tx) (bool, error) { return tx.GetDoc(name, &v) })
}

func TestQueuedUpdatesShareOneCommit(t *testing.T) {
	s := newTest(t)
	before := pagesWritten(s)
	update(t, s, putDoc("one"))
	single := pagesWritten(s) - before
	var fns []func(*Tx) error
	for i := range 50 {
		fns = append(fns, putDoc(fmt.Sprint("doc", i)))
	}
	before = pagesWritten(s)
	for i, err := range together(t, s, fns...) {
		if err != nil || !hasDoc(t, s, fmt.Sprint("doc", i)) {
			t.Errorf("update %d: %v", i, err)
		}
	}
	if all := pagesWritten(s) - before; all > 3*single {
		t.Errorf("50 updates took %d page writes, one takes %d", all, single)
	}
}

func TestAFailingUpdateHarmsNoNeighbour(t *testing.T) {
	s := newTest(t)
	boom := errors.New("boom")
	errs := together(t, s,
		putDoc("a"),
		func(tx *Tx) error { _ = tx.PutDoc("failed", 1); return boom },
		putDoc("b"),
		func(*Tx) error { return boom }, // before writing anything
		func(tx *Tx) error { _ = tx.PutDoc("panicked", 1); panic("ouch") },
		putDoc("c"),
	)
	for i, want := range []string{"<nil>", "boom", "<nil>", "boom", "panic: ouch", "<nil>"} {
		got, _, _ := strings.Cut(fmt.Sprint(errs[i]), "\n")
		expect(t, got, want, "update %[2]d: %[1]q", i)
	}
	for name, want := range map[string]bool{"a": true, "b": true, "c": true, "failed": false, "panicked": false} {
		expect(t, hasDoc(t, s, name), want, "document %[2]s is there: %[1]v", name)
	}
}

// A neighbour's change that is rolled back must not be the reason of anybody's error.
func TestAnErrorIsAboutWhatWasReallyCommitted(t *testing.T) {
	s := newTest(t)
	first := true
	errs := together(t, s,
		func(tx *Tx) error { // writes the first time, fails from then on
			if !first {
				return errors.New("not again")
			}
			first = false
			return tx.PutDoc("ghost", 1)
		},
		func(tx *Tx) error { _ = tx.PutDoc("x", 1); return errors.New("always") },
		func(tx *Tx) error {
			var v int
			if there, err := tx.GetDoc("ghost", &v); err != nil || there {
				return errors.Join(err, errors.New("saw a ghost"))
			}
			return tx.PutDoc("clear", "yes")
		},
	)
	if errs[2] != nil || !hasDoc(t, s, "clear") {
		t.Errorf("third update: %v", errs[2])
	}
}

func TestAPanicReachesTheCallerWithItsStackAndIsNotTakenForDamage(t *testing.T) {
	s := newTest(t)
	var none *office.Package
	for _, c := range []struct {
		what, says string
		run        func(func(*Tx) error) error
		fn         func(*Tx) error
	}{
		{"a view", "my mistake", s.View, func(*Tx) error { panic("my mistake") }},
		{"an update", "writer_test.go", s.Update, func(*Tx) error { panic("my mistake") }},
		{"a nil pointer", "nil pointer", s.Update, func(tx *Tx) error { return tx.PutPackage(*none) }},
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.Contains(v, c.says) {
					t.Errorf("%s: recovered %.200s", c.what, v)
				}
				update(t, s, putDoc("after"))
			}()
			_ = c.run(c.fn)
		}()
	}
}

func TestAnUpdateThatEndsItsGoroutineDoesNotEndTheStore(t *testing.T) {
	s := newTest(t)
	end := func(tx *Tx) error { _ = tx.PutDoc("half", 1); runtime.Goexit(); return nil }
	alone := make(chan struct{})
	go func() {
		defer close(alone)
		_ = s.Update(end)
		t.Error("it went on")
	}()
	<-alone
	for _, err := range together(t, s, end, putDoc("beside")) {
		if err == nil {
			t.Error("no error")
		}
	}
	update(t, s, putDoc("after"))
	if hasDoc(t, s, "half") {
		t.Error("half of it was committed")
	}
}

// Whoever is next may have been answered by then: what is queued by others is theirs to commit.
func TestWhoHasAnAnswerRunsNobodyElsesUpdate(t *testing.T) {
	s := newTest(t)
	s.turn <- struct{}{}
	other := must(s.enqueue(&s.queue, func(*Tx) error { runtime.Goexit(); return nil }))
	s.commitQueues(&request{answered: true}, &s.queue)
	select {
	case <-other.done:
		t.Error("it ran another one")
	default:
	}
	noErr(t, s.Close()) // which has all committed, and goes on
	if err := other.outcome(); err == nil {
		t.Error("no error")
	}
}

// To hand a commit to another goroutine and to be woken after it takes about as long as a fast disk.
func TestWhoeverIsAloneCommitsForHimself(t *testing.T) {
	s := newTest(t)
	for name, update := range map[string]func(func(*Tx) error) error{"first": s.UpdateFirst, "an update": s.Update} {
		var by string
		noErr(t, update(func(tx *Tx) error { by = string(debug.Stack()); return tx.PutDoc(name, 1) }))
		if !strings.Contains(by, t.Name()) {
			t.Errorf("%s was handed over:\n%s", name, by)
		}
		time.Sleep(lull) // no stream of those that go first holds up the next
	}
}

func TestCloseLetsQueuedUpdatesFinish(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := must(Open(path, Options{}))
	release := hold(s)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { update(t, s, putDoc(fmt.Sprint("doc", i))) })
		waitQueued(s, i+1)
	}
	closed := make(chan error)
	for range 2 {
		go func() { closed <- s.Close() }()
	}
	release()
	noErr(t, errors.Join(<-closed, <-closed))
	wg.Wait()
	if update, view := s.Update(putDoc("late")), s.View(func(*Tx) error { return nil }); !errors.Is(update, ErrClosed) || !errors.Is(view, ErrClosed) {
		t.Errorf("after Close: %v, %v", update, view)
	}
	again := openTest(t, path)
	for i := range 20 {
		expect(t, hasDoc(t, again, fmt.Sprint("doc", i)), true, "document %[2]d is there: %[1]v", i)
	}
}

func TestAnUpdateThatWritesNothingTouchesNoDisk(t *testing.T) {
	s := newTest(t)
	before := pagesWritten(s)
	update(t, s, func(tx *Tx) error { _, err := tx.EventCounts(); return err })
	expect(t, pagesWritten(s)-before, 0, "%d pages written")
}

// transactions notes in which transaction each of some updates ran last, and in what order.
type transactions struct {
	mu    sync.Mutex
	order []int // of transactions
	names map[int][]string
}

// note is an update that writes something and is noted.
func (n *transactions) note(name string) func(*Tx) error {
	return func(tx *Tx) error {
		n.mu.Lock()
		defer n.mu.Unlock()
		id := tx.bolt.ID()
		if n.names[id] == nil {
			n.order = append(n.order, id)
		}
		if n.names == nil {
			n.names = map[int][]string{}
		}
		n.names[id] = append(n.names[id], name)
		return tx.PutDoc(name, name)
	}
}

// others starts twenty updates.
func (n *transactions) others(t *testing.T, s *Store, wg *sync.WaitGroup) {
	for i := range 20 {
		wg.Go(func() { update(t, s, n.note(fmt.Sprint("other", i))) })
	}
}

// last is how many transactions there were, and what the last one held.
func (n *transactions) last() (count int, names []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.order), n.names[n.order[len(n.order)-1]]
}

func TestWhatSomebodyWaitsForOnALineGoesFirst(t *testing.T) {
	s := newTest(t)
	release := hold(s)
	var n transactions
	var wg sync.WaitGroup
	n.others(t, s, &wg)
	waitQueued(s, 20)
	wg.Go(func() { noErr(t, s.UpdateFirst(n.note("first"))) })
	waitQueued(s, 21)
	release()
	wg.Wait()
	if got := n.names[n.order[0]]; len(got) != 1 || got[0] != "first" {
		t.Errorf("the first transaction held %v", got)
	}
	expect(t, len(n.order), 2, "%d transactions for what waited: %v", n.names)
}

func TestAStreamOfEventsIsNotHeldUpByWhatFollowsFromThem(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, path)
		var n transactions
		first := func(i int) { noErr(t, s.UpdateFirst(n.note(fmt.Sprint("first", i)))) }
		first(0)
		first(1)
		var wg sync.WaitGroup
		n.others(t, s, &wg)
		synctest.Wait()
		if count, _ := n.last(); count != 2 {
			t.Errorf("others did not wait: %d transactions", count)
		}
		for i := range 5 {
			first(2 + i)
			if count, got := n.last(); count != 3+i || len(got) != 1 {
				t.Errorf("transaction %d held %v", count, got)
			}
		}
		began := time.Now()
		wg.Wait()
		if count, got := n.last(); count != 8 || len(got) != 20 || time.Since(began) > lull {
			t.Errorf("the rest took %d transactions and %v", count-7, time.Since(began))
		}
	})
}

func TestAStreamOfEventsWithoutEndHoldsUpNothingForLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, path)
		var n transactions
		ended := make(chan struct{})
		var sender, others sync.WaitGroup
		sender.Go(func() {
			for i := range 1000 {
				noErr(t, s.UpdateFirst(n.note(fmt.Sprint("first", i))))
				select {
				case <-ended:
					return
				case <-time.After(lull / 2):
				}
			}
		})
		time.Sleep(5 * lull)
		began := time.Now()
		n.others(t, s, &others)
		others.Wait()
		if waited := time.Since(began); waited > longestWait+lull {
			t.Errorf("they waited %v", waited)
		}
		close(ended)
		sender.Wait()
		together := 0
		for _, names := range n.names {
			if len(names) >= 20 {
				together++
			}
		}
		if together != 1 {
			t.Errorf("they did not share one transaction: %v", n.names)
		}
	})
}

func TestWhatWaitsForAStreamIsCommittedWhenTheStoreIsClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	synctest.Test(t, func(t *testing.T) {
		s := openTest(t, path)
		var n transactions
		for range 2 {
			noErr(t, s.UpdateFirst(n.note("first")))
		}
		var wg sync.WaitGroup
		n.others(t, s, &wg)
		synctest.Wait()
		noErr(t, s.Close())
		wg.Wait()
	})
}

func TestAfterDamageNothingIsWritten(t *testing.T) {
	s := newTest(t)
	release := hold(s)
	var none *bolt.Bucket
	var first, second error
	var wg sync.WaitGroup
	wg.Go(func() { first = s.UpdateFirst(func(*Tx) error { none.Get([]byte("x")); return nil }) }) // panics in bbolt
	wg.Go(func() { second = s.Update(putDoc("after")) })
	waitQueued(s, 2)
	release()
	wg.Wait()
	if third := s.Update(putDoc("after")); !errors.Is(first, ErrCorrupt) || !errors.Is(second, ErrCorrupt) || !errors.Is(third, ErrCorrupt) {
		t.Errorf("%v, %v, %v", first, second, third)
	}
}

func TestATransactionKeepsItsFirstFailure(t *testing.T) {
	s := newTest(t)
	refused(t, s, ErrNotFound, func(tx *Tx) error {
		tx.PutDoc("before", 1)
		tx.SetEvent(office.Event{ID: "none"})
		tx.PutDoc("after", 2)
		if known, err := tx.GetDoc("before", new(int)); known || !errors.Is(err, ErrNotFound) || tx.Err() != err {
			t.Errorf("read behind the failure: %v, %v", known, err)
		}
		return errors.New("nothing was read")
	})
	for _, name := range []string{"before", "after"} {
		expect(t, hasDoc(t, s, name), false, name+" was committed: %v")
	}
}
