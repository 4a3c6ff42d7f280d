package store

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"countersign/internal/office"
)

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
