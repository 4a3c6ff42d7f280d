package store

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"countersign/internal/office"
)

// known is the state of a reader that reads the lines once and afterwards only changes.
type known struct {
	version uint64
	lines   map[string]office.PackageLine
	whole   int // how often it read all lines
}

func (k *known) read(t *testing.T, s *Store) {
	t.Helper()
	lines := read(t, s, func(tx *Tx) (office.Lines, error) { return tx.LinesSince(k.version) })
	if lines.All {
		k.whole++
		k.lines = map[string]office.PackageLine{}
	}
	for _, packed := range lines.Lines {
		l, _ := packed.Unpack()
		k.lines[l.ID] = l
	}
	k.version = lines.Version
}

// compare reads the changes, and compares the result with all lines; so far all should have been read that often.
func (k *known) compare(t *testing.T, s *Store, whole int) {
	t.Helper()
	k.read(t, s)
	expect(t, k.whole, whole, "all were read %d times, want %d", whole)
	all := known{}
	all.read(t, s)
	if !maps.Equal(k.lines, all.lines) {
		t.Fatalf("known are %v, there are %v", k.lines, all.lines)
	}
}

func putPackage(id, name string, created time.Time) func(*Tx) error {
	return func(tx *Tx) error { return tx.PutPackage(office.Package{ID: id, Name: name, Created: created}) }
}

func TestWhatHasChangedSinceAReadingIsAllThatIsDifferent(t *testing.T) {
	path := t.TempDir() + "/state.db"
	s := openTest(t, path)
	created := func(i int) time.Time { return time.Unix(int64(1_790_000_000+i), 0) }
	for i := range 100 {
		update(t, s, putPackage(fmt.Sprint("p", i), "before", created(i)))
	}
	var k known
	k.compare(t, s, 1)
	k.compare(t, s, 1)
	for i := range 20 {
		update(t, s, putPackage(fmt.Sprint("p", i), "changed", created(i)))
		update(t, s, putPackage(fmt.Sprint("new", i), "new", created(1000+i)))
		update(t, s, putDoc("something else"))
		if i%3 == 0 {
			k.compare(t, s, 1)
		}
	}
	rolledBack := errors.New("rolled back")
	refused(t, s, rolledBack, func(tx *Tx) error { return errors.Join(putPackage("p1", "never", created(1))(tx), rolledBack) })
	k.compare(t, s, 1)
	update(t, s, putPackage("p7", "somewhere else in the order", created(50)))
	k.compare(t, s, 2)
	update(t, s, func(tx *Tx) error {
		for i := range 2*leastChanges + 1 {
			putPackage(fmt.Sprint("many", i), "many", created(2000+i))(tx)
		}
		return nil
	})
	k.compare(t, s, 3)
	noErr(t, s.Close())
	s = openTest(t, path)
	k.compare(t, s, 3)
	k.version += 1000 // like the version of another file
	k.compare(t, s, 4)
}

func TestNoChangeIsMissedThatIsCommittedWhileSomebodyReads(t *testing.T) {
	s := newTest(t)
	var k known
	var writers sync.WaitGroup
	for i := range 4 {
		writers.Go(func() {
			for j := range 50 {
				update(t, s, putPackage(fmt.Sprint("p", i), fmt.Sprint(j), time.Unix(int64(1_790_000_000+i), 0)))
			}
		})
	}
	ended := make(chan struct{})
	go func() { writers.Wait(); close(ended) }()
	for {
		k.read(t, s)
		select {
		case <-ended:
			k.compare(t, s, 1)
			expect(t, len(k.lines), 4, "%d lines")
			return
		default:
		}
	}
}
