package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/office"
	"countersign/internal/private"

	bolt "go.etcd.io/bbolt"
)

func TestTheFileAndItsFolderArePrivate(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(folder, "state.db")
	must(t, os.MkdirAll(folder, 0o755))
	for range 2 { // made, and found too open
		s, err := Open(path, Options{})
		must(t, err)
		must(t, s.Close())
		for name, want := range map[string]os.FileMode{path: 0o600, folder: 0o700} {
			info, err := os.Stat(name)
			if err != nil || info.Mode().Perm() != want && runtime.GOOS != "windows" {
				t.Errorf("%s: %v, %v; want %v", name, info.Mode(), err, want)
			}
			f, err := os.Open(name)
			must(t, err)
			if err := errors.Join(private.OpenToOthers(f), f.Close()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			must(t, os.Chmod(name, want|0o055))
		}
	}
	entries, _ := os.ReadDir(folder)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestASecondOpenIsToldWithoutWaiting(t *testing.T) {
	s := newTest(t)
	synctest.Test(t, func(t *testing.T) { // bbolt sleeps between its tries
		start := time.Now()
		_, err := Open(s.Path(), Options{})
		if !errors.Is(err, ErrInUse) || errors.Is(err, ErrCorrupt) {
			t.Errorf("Open = %v, want ErrInUse", err)
		}
		if took := time.Since(start); took > 200*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
	update(t, s, putDoc("still works"))
}

func TestANewerFileIsRefusedAndUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := openTest(t, path)
	update(t, s, putDoc("kept"))
	must(t, s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketMeta)).Put(keySchema, []byte(strconv.Itoa(schema+1)))
	}))
	must(t, s.Close())
	before := readFile(t, path)
	if _, err := Open(path, Options{}); !errors.Is(err, ErrNewer) || errors.Is(err, ErrCorrupt) {
		t.Errorf("Open = %v, want ErrNewer", err)
	}
	if !bytes.Equal(before, readFile(t, path)) {
		t.Error("the file was changed")
	}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return b
}

// filled returns the bytes of a file with enough records for several levels of pages.
func filled(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	s, err := Open(path, Options{})
	must(t, err)
	for round := range uint64(3) { // several commits, so that both meta pages and a list of free pages are in use
		update(t, s, func(tx *Tx) error {
			for n := range uint64(200) {
				if err := tx.PutPackage(somePackage(rand.New(rand.NewPCG(round, n)))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	must(t, s.Close())
	// What bbolt made longer than its pages need is no data, and no loss.
	content := readFile(t, path)
	m, err := newestMeta(bytes.NewReader(content), int64(len(content)))
	must(t, err)
	return content[:m.pages*m.pageSize]
}

// tryDamaged opens a file with this content, reads and writes everything, and returns the first error. Only a crash
// of the test process or an error other than ErrCorrupt is a failure.
func tryDamaged(t *testing.T, content []byte) error {
	t.Helper()
	dir, err := os.MkdirTemp("", "damaged")
	must(t, err)
	// Once bbolt met the damage itself, the file stays mapped, and Windows does not remove it before the process ends.
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "state.db")
	must(t, os.WriteFile(path, content, 0o600))
	s, err := Open(path, Options{})
	if err != nil {
		if !bytes.Equal(content, readFile(t, path)) {
			t.Errorf("the refused file was changed (%v)", err)
		}
		// Nothing holds the file any more: it can be set aside and a fresh one begun.
		if _, err := SetAside(path, day); err != nil {
			t.Errorf("set aside: %v", err)
		}
		fresh, err := Open(path, Options{})
		if err != nil {
			t.Fatalf("open afresh: %v", err)
		}
		if err := fresh.Close(); err != nil {
			t.Error(err)
		}
	} else {
		err = errors.Join(
			s.View(func(tx *Tx) error { return tx.Packages(func(office.Package) bool { return true }) }),
			s.View(func(tx *Tx) error { return tx.PackageLines(func(office.PackageLine) bool { return true }) }),
			s.Update(func(tx *Tx) error { return tx.PutPackage(office.Package{ID: "new"}) }),
			s.Close(),
		)
	}
	if err != nil && !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v, want ErrCorrupt", err)
	}
	return err
}

func TestDamageIsAnErrorAndNoCrash(t *testing.T) {
	good := filled(t)
	page := os.Getpagesize()
	wipe := func(from, to int) []byte {
		b := bytes.Clone(good)
		clear(b[from:to])
		return b
	}
	cases := map[string][]byte{
		"empty":              {},
		"one byte":           {1},
		"text":               []byte(strings.Repeat("This is a letter, not a database.\n", 1000)),
		"zeros":              make([]byte, 64<<10),
		"half":               good[:len(good)/2],
		"two pages":          good[:2*page],
		"one page":           good[:page],
		"odd length":         good[:len(good)/2+17],
		"both metas zeroed":  wipe(0, 2*page),
		"all but the metas":  wipe(2*page, len(good)),
		"second half zeroed": wipe(len(good)/2, len(good)),
	}
	for name, content := range cases {
		t.Run(name, func(t *testing.T) {
			err := tryDamaged(t, content)
			var damage *CorruptError
			if !errors.As(err, &damage) || damage.Path == "" || !strings.Contains(Message(err).String(), damage.Path) {
				t.Errorf("%v, want a CorruptError with its path", err)
			}
		})
	}
	for _, n := range []int{0, 1} {
		t.Run(fmt.Sprintf("meta %d alone zeroed", n), func(t *testing.T) {
			// That is what a crash in the middle of a commit leaves.
			if err := tryDamaged(t, wipe(n*page, (n+1)*page)); err != nil {
				t.Errorf("a torn meta page is not damage: %v", err)
			}
		})
	}
	t.Run("single pages", func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		noticed := 0
		for range 60 {
			b := bytes.Clone(good)
			from := (2 + rng.IntN(len(b)/page-2)) * page
			if rng.IntN(2) == 0 {
				clear(b[from : from+page])
			} else {
				for i := from; i < from+page; i++ {
					b[i] = byte(rng.Uint32())
				}
			}
			if tryDamaged(t, b) != nil {
				noticed++
			}
		}
		t.Logf("noticed %d of 60; the others were free pages", noticed)
	})
}

func TestAnotherProgramsDatabaseIsNotTakenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	db, err := bolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("theirs")); return err }))
	must(t, db.Close())
	if err := tryDamaged(t, readFile(t, path)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("%v, want ErrCorrupt", err)
	}
}

// A file that shrinks under a running program is a memory fault in a mapped file, which ends a Go program unless it
// is caught.
func TestAFileCutShortWhileOpenIsAnErrorAndNoCrash(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // a mapped file cannot be cut there
	}
	path := filepath.Join(t.TempDir(), "state.db")
	must(t, os.WriteFile(path, filled(t), 0o600))
	s, err := Open(path, Options{})
	must(t, err)
	must(t, os.Truncate(path, int64(2*os.Getpagesize())))
	if err := s.View(func(tx *Tx) error { return tx.Packages(func(office.Package) bool { return true }) }); !errors.Is(err, ErrCorrupt) {
		t.Errorf("View = %v, want ErrCorrupt", err)
	}
	if err := s.Update(putDoc("x")); !errors.Is(err, ErrCorrupt) {
		t.Errorf("Update = %v, want ErrCorrupt", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestAPanicInAViewIsTheCallers(t *testing.T) {
	s := newTest(t)
	defer func() {
		if v := recover(); v != "mine" {
			t.Errorf("recovered %v", v)
		}
		update(t, s, putDoc("after"))
	}()
	_ = s.View(func(*Tx) error { panic("mine") })
}

func TestANilPointerInAnUpdateIsNotTakenForDamage(t *testing.T) {
	s := newTest(t)
	func() {
		defer func() { _ = recover() }()
		var p *office.Package
		_ = s.Update(func(tx *Tx) error { return tx.PutPackage(*p) })
	}()
	update(t, s, putDoc("after"))
}

func TestSettingAsideNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	names := map[string]string{}
	for i := range 3 {
		text := fmt.Sprint("damaged ", i)
		must(t, os.WriteFile(path, []byte(text), 0o600))
		to, err := SetAside(path, day)
		must(t, err)
		names[to] = text
	}
	for to, text := range names {
		if got := readFile(t, to); string(got) != text {
			t.Errorf("%s holds %q", to, got)
		}
	}
	if len(names) != 3 {
		t.Errorf("%d names", len(names))
	}
}
