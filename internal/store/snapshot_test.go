package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"countersign/internal/office"
)

func opened(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func stored(t *testing.T, path string, packages ...string) *Store {
	t.Helper()
	s := opened(t, path)
	err := s.Update(func(tx *Tx) error {
		for _, id := range packages {
			if err := errors.Join(tx.PutPackage(office.Package{ID: id, Name: id}), tx.PutDoc("of "+id, id), tx.PutSealed(id, []byte("sealed"))); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASnapshotIsTheFileOfOneMoment(t *testing.T) {
	dir := t.TempDir()
	s := stored(t, filepath.Join(dir, "state.db"), "a", "b")
	copied := filepath.Join(dir, "copy")
	if err := s.Snapshot(copied); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(func(tx *Tx) error { return tx.PutPackage(office.Package{ID: "late"}) }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(copied); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if err := s.Snapshot(copied); !errors.Is(err, os.ErrExist) {
		t.Errorf("a copy that is there: %v", err)
	}
	c := opened(t, copied)
	err := c.View(func(tx *Tx) error {
		n, err := tx.PackageCounts()
		if _, late, _ := tx.Package("late"); late || n.Total != 2 {
			err = fmt.Errorf("%d packages, the late one: %v", n.Total, late)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestAdoptPutsAllOfOneFileInThePlaceOfAllOfAnother(t *testing.T) {
	dir := t.TempDir()
	other := stored(t, filepath.Join(dir, "other.db"), "x", "y", "z")
	s := stored(t, filepath.Join(dir, "state.db"), "a")
	var seen office.Lines
	read := func(tx *Tx) (err error) { seen, err = tx.LinesSince(seen.Version); return err }
	if err := s.View(read); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("not now")
	if err := s.Adopt(other, func(*Tx) error { return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	if err := s.View(func(tx *Tx) error {
		if _, known, _ := tx.Package("a"); !known {
			t.Error("a change that was refused took something away")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Adopt(other, func(tx *Tx) error { return tx.PutSealed("x", nil) }); err != nil {
		t.Fatal(err)
	}
	if err := s.View(read); err != nil || !seen.All || len(seen.Lines) != 3 {
		t.Errorf("whoever has read the lines before reads %d, all %v, %v", len(seen.Lines), seen.All, err)
	}
	err := s.Update(func(tx *Tx) error {
		_, a, _ := tx.Package("a")
		p, x, err := tx.Package("x")
		n, _ := tx.PackageCounts()
		if a || !x || p.Name != "x" || n.Total != 3 || len(tx.SealedNames()) != 2 {
			err = errors.Join(err, fmt.Errorf("a %v, x %v, %+v, %v", a, x, n, tx.SealedNames()))
		}
		return errors.Join(err, tx.PutPackage(office.Package{ID: "new"}))
	})
	if err != nil {
		t.Error(err)
	}
}

func TestADamagedFileIsNotAdopted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "other.db")
	var many []string
	for i := range 2000 {
		many = append(many, fmt.Sprint("package ", i))
	}
	if err := stored(t, path, many...).Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := stored(t, filepath.Join(dir, "state.db"), "a")
	met := 0
	for at := 4 * 4096; at < len(b)-4096; at += 16 * 4096 {
		spoiled := append([]byte(nil), b...)
		for i := range 4096 {
			spoiled[at+i] = 0xEE
		}
		hurt := filepath.Join(dir, fmt.Sprint("hurt", at))
		if err := os.WriteFile(hurt, spoiled, 0o600); err != nil {
			t.Fatal(err)
		}
		other, err := Open(hurt, Options{})
		if err == nil {
			err = s.Adopt(other, func(*Tx) error { return errors.New("it was read") })
			other.Close()
		}
		if errors.Is(err, ErrCorrupt) {
			met++
		}
	}
	if met == 0 {
		t.Error("no damage was met")
	}
	if err := s.Update(func(tx *Tx) error {
		if _, known, _ := tx.Package("a"); !known {
			t.Error("what was there is gone")
		}
		return tx.PutDoc("still", "well")
	}); err != nil {
		t.Errorf("the damage of another file became this one's: %v", err)
	}
}
