package store

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/office"
)

// known is what a reader knows of the lines who reads them once and then what has changed.
type known struct {
	version uint64
	lines   map[string]office.PackageLine
	whole   int // how often all were read
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

// compare reads once more, and all lines beside that.
func (k *known) compare(t *testing.T, s *Store) {
	t.Helper()
	k.read(t, s)
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
	k.compare(t, s)
	k.compare(t, s)
	for i := range 20 {
		update(t, s, putPackage(fmt.Sprint("p", i), "changed", created(i)))
		update(t, s, putPackage(fmt.Sprint("new", i), "new", created(1000+i)))
		update(t, s, putDoc("something else"))
		if i%3 == 0 {
			k.compare(t, s)
		}
	}
	rolledBack := errors.New("rolled back")
	err := s.Update(func(tx *Tx) error { return errors.Join(putPackage("p1", "never", created(1))(tx), rolledBack) })
	if !errors.Is(err, rolledBack) {
		t.Fatal(err)
	}
	k.compare(t, s)
	if k.whole != 1 {
		t.Errorf("all were read %d times", k.whole)
	}
	update(t, s, putPackage("p7", "somewhere else in the order", created(50)))
	if k.compare(t, s); k.whole != 2 {
		t.Errorf("all were read %d times after one has moved", k.whole)
	}
	update(t, s, func(tx *Tx) error {
		for i := range 2*leastChanges + 1 {
			if err := putPackage(fmt.Sprint("many", i), "many", created(2000+i))(tx); err != nil {
				return err
			}
		}
		return nil
	})
	if k.compare(t, s); k.whole != 3 {
		t.Errorf("all were read %d times after many changes", k.whole)
	}
	must(t, s.Close())
	s = openTest(t, path)
	k.compare(t, s)
	k.version += 1000 // another file's
	if k.compare(t, s); k.whole != 4 {
		t.Errorf("all were read %d times", k.whole)
	}
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
			k.compare(t, s)
			names := slices.Collect(maps.Values(k.lines))
			if len(names) != 4 || k.whole > 1 {
				t.Errorf("%v after %d readings of all", names, k.whole)
			}
			return
		default:
		}
	}
}

func TestWhatIsRememberedIsWhatIsThere(t *testing.T) {
	s := newTest(t)
	update(t, s, func(tx *Tx) error {
		p := office.Package{ID: "p", Name: "Lease", Documents: []office.Document{{ID: "d", SignedBy: []string{"ana"}}}}
		return errors.Join(tx.PutPackage(p), tx.PutDraft(office.Draft{ID: "f", Files: []office.DraftFile{{Name: "a.pdf"}}}))
	})
	get := func(tx *Tx) (office.Package, error) { p, _, err := tx.Package("p"); return p, err }
	first := read(t, s, get)
	first.Documents[0].SignedBy[0], first.Documents[0].Name = "jan", "changed"
	if again := read(t, s, get); again.Documents[0].SignedBy[0] != "ana" || again.Documents[0].Name != "" {
		t.Errorf("whoever has read it before has changed it: %+v", again.Documents)
	}
	drafts := func(tx *Tx) ([]office.Draft, error) { return tx.Drafts() }
	read(t, s, drafts)[0].Files[0].Name = "b.pdf"
	if again := read(t, s, drafts); again[0].Files[0].Name != "a.pdf" {
		t.Errorf("whoever has read it before has changed it: %+v", again)
	}

	undone := errors.New("undone")
	err := s.Update(func(tx *Tx) error {
		p, err := get(tx)
		p.Name = "Another"
		err = errors.Join(err, tx.PutPackage(p))
		if p, _, perr := tx.Package("p"); perr != nil || p.Name != "Another" {
			t.Errorf("what was written is not read: %q, %v", p.Name, perr)
		}
		return errors.Join(err, undone)
	})
	if p := read(t, s, get); !errors.Is(err, undone) || p.Name != "Lease" {
		t.Errorf("after what was undone: %q, %v", p.Name, err)
	}
	update(t, s, func(tx *Tx) error { p, err := get(tx); p.Name = "Another"; return errors.Join(err, tx.PutPackage(p)) })
	if p := read(t, s, get); p.Name != "Another" {
		t.Errorf("after a change: %q", p.Name)
	}
}

func TestNoMoreIsRememberedThanIsInHand(t *testing.T) {
	s := newTest(t)
	update(t, s, func(tx *Tx) (err error) {
		for i := range 2 * mostRemembered {
			err = errors.Join(err, tx.PutPackage(office.Package{ID: fmt.Sprint("p", i)}))
		}
		return err
	})
	all := func(tx *Tx) (all []office.Package, err error) {
		err = tx.Packages(func(p office.Package) bool { all = append(all, p); return true })
		return all, err
	}
	once := read(t, s, all)
	if again := read(t, s, all); len(once) != 2*mostRemembered || !reflect.DeepEqual(once, again) {
		t.Errorf("%d packages, and then others", len(once))
	}
	if n := len(s.memory.known); n != mostRemembered {
		t.Errorf("%d are remembered", n)
	}
}

// A package of thousands of documents takes many times the room in memory that it takes in the file.
func TestWhatIsRememberedTakesLittleRoomWhateverItIs(t *testing.T) {
	s := newTest(t)
	update(t, s, func(tx *Tx) (err error) {
		p := office.Package{Documents: make([]office.Document, 1000)}
		for i := range p.Documents {
			p.Documents[i].ID = fmt.Sprint(i)
		}
		for i := range mostRemembered {
			p.ID = fmt.Sprint("p", i)
			err = errors.Join(err, tx.PutPackage(p))
		}
		return err
	})
	update(t, s, func(tx *Tx) error { return tx.Packages(func(office.Package) bool { return true }) })
	held := 0
	for _, r := range s.memory.known {
		held += len(r.value)
	}
	if n := len(s.memory.known); n == 0 || held > roomRemembered || held != s.memory.bytes {
		t.Errorf("%d records of %d bytes are remembered, and %d are counted", n, held, s.memory.bytes)
	}
}

func TestWhatIsRememberedIsNotDecodedAgain(t *testing.T) {
	s := newTest(t)
	update(t, s, func(tx *Tx) error {
		long := office.Package{ID: "long", History: []office.HistoryEntry{{Ref: strings.Repeat("x", longestRemembered)}}}
		return errors.Join(tx.PutPackage(office.Package{ID: "p", History: []office.HistoryEntry{{Ref: "short"}}}), tx.PutPackage(long))
	})
	for range 2 {
		for id, want := range map[string]int{"p": 5, "long": longestRemembered} {
			if p := read(t, s, func(tx *Tx) (office.Package, error) { p, _, err := tx.Package(id); return p, err }); len(p.History[0].Ref) != want {
				t.Errorf("%s: %+v", id, p.History)
			}
		}
	}
	if len(s.memory.known) != 1 {
		t.Errorf("%d are remembered", len(s.memory.known))
	}
	for at, r := range s.memory.known {
		r.record = office.Package{ID: "p", Name: "Remembered", State: office.PackageExecuted}
		s.memory.known[at] = r
	}
	view(t, s, func(tx *Tx) error {
		p, _, err := tx.Package("p")
		seen, ok := tx.Glance("p")
		if p.Name != "Remembered" || !ok || seen.State != office.PackageExecuted || seen.Name != "" {
			t.Errorf("%q, and at a glance %+v", p.Name, seen)
		}
		return err
	})
}
