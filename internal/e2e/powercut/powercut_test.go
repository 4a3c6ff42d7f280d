//go:build linux

package powercut

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"countersign/internal/fasttest"
)

// mounted is a disk and where it is.
func mounted(t *testing.T) (*Disk, string) {
	t.Helper()
	if err := Available(); err != nil {
		t.Skipf("NOT RUN: %v", err)
	}
	d, dir := New(), t.TempDir()
	if err := d.Mount(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return d, dir
}

// cuts is how often a test has the power go out: what chance may do it has done by then.
const cuts = 80

// found are the things that are found after power cuts, each with how often: before is done and flushed, then what is
// done before the power goes out.
func found(t *testing.T, before, then func(dir string) error, look func(files map[string][]byte) string) map[string]int {
	t.Helper()
	d, dir := mounted(t)
	outcomes := map[string]int{}
	for seed := range uint64(cuts) {
		if err := before(dir); err != nil {
			t.Fatal(err)
		}
		d.Flush()
		if err := then(dir); err != nil {
			t.Fatal(err)
		}
		d.Cut()
		if err := d.Restore(rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Fatal(err)
		}
		outcomes[look(d.Files("."))]++
		entries, err := os.ReadDir(dir)
		for _, e := range entries {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Log(outcomes)
	return outcomes
}

func nothing(string) error { return nil }

func names(files map[string][]byte) string { return fmt.Sprint(slices.Sorted(maps.Keys(files))) }

// exactly asserts that exactly these outcomes happen.
func exactly(t *testing.T, got map[string]int, want ...string) {
	t.Helper()
	for _, w := range want {
		if got[w] == 0 {
			t.Errorf("never found: %s", w)
		}
		delete(got, w)
	}
	for other, n := range got {
		t.Errorf("found %d times: %s", n, other)
	}
}

func store(path string, content []byte, flags int, flush func(f *os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|flags, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil && flush != nil {
		err = flush(f)
	}
	return errors.Join(err, f.Close())
}

func flushFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func TestWhatWasFlushedIsThere(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 1000)
	for name, how := range map[string]struct {
		flags int
		flush func(f *os.File) error
	}{
		"fsync":     {0, (*os.File).Sync},
		"fdatasync": {0, func(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }},
		"O_SYNC":    {unix.O_SYNC, nil},
		"O_DSYNC":   {unix.O_DSYNC, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := found(t, nothing, func(dir string) error {
				return errors.Join(store(filepath.Join(dir, "a"), text, os.O_CREATE|how.flags, how.flush), flushFolder(dir))
			}, func(files map[string][]byte) string { return fmt.Sprint(bytes.Equal(files["a"], text)) })
			exactly(t, got, "true")
		})
	}
}

// The name of a file is the folder's, and its bytes are the file's: to flush one does not flush the other.
func TestAFlushOfOneIsNoneOfTheOther(t *testing.T) {
	text := bytes.Repeat([]byte("x"), 2*page)
	look := func(files map[string][]byte) string {
		b, ok := files["a"]
		switch {
		case !ok:
			return "no name"
		case bytes.Equal(b, text):
			return "whole"
		}
		return "not whole"
	}
	t.Run("the file", func(t *testing.T) {
		got := found(t, nothing, func(dir string) error {
			return store(filepath.Join(dir, "a"), text, os.O_CREATE, (*os.File).Sync)
		}, look)
		exactly(t, got, "no name", "whole")
	})
	t.Run("the folder", func(t *testing.T) {
		got := found(t, nothing, func(dir string) error {
			return errors.Join(store(filepath.Join(dir, "a"), text, os.O_CREATE, nil), flushFolder(dir))
		}, look)
		exactly(t, got, "not whole", "whole")
	})
	t.Run("the folder but not its own name", func(t *testing.T) {
		got := found(t, nothing, func(dir string) error {
			sub := filepath.Join(dir, "sub")
			return errors.Join(os.Mkdir(sub, 0o700), store(filepath.Join(sub, "a"), text, os.O_CREATE, (*os.File).Sync), flushFolder(sub))
		}, names)
		exactly(t, got, "[]", "[sub/a]")
	})
}

// Four writes, one after the other, to a file that held something before.
func TestWhatWasNotFlushedIsLostWhollyInPartOrOutOfOrder(t *testing.T) {
	old, written := bytes.Repeat([]byte("."), 4*page), []byte("1234")
	got := found(t, func(dir string) error { return store(filepath.Join(dir, "a"), old, os.O_CREATE, nil) }, func(dir string) error {
		return store(filepath.Join(dir, "a"), nil, 0, func(f *os.File) error {
			for i, c := range written {
				if _, err := f.WriteAt(bytes.Repeat([]byte{c}, page), int64(i*page)); err != nil {
					return err
				}
			}
			return nil
		})
	}, func(files map[string][]byte) string {
		return kindOf(t, files["a"], written)
	})
	exactly(t, got, "nothing", "everything", "in order", "in order, torn", "out of order", "out of order, torn")
}

// kindOf says what became of four writes of a page each.
func kindOf(t *testing.T, b, written []byte) string {
	t.Helper()
	if len(b) != 4*page {
		t.Fatalf("%d bytes", len(b))
	}
	var seen [4]int // sectors written of each page
	for i := 0; i < len(b); i += sector {
		c := b[i]
		if !bytes.Equal(b[i:i+sector], bytes.Repeat([]byte{c}, sector)) || c != '.' && c != written[i/page] {
			t.Fatalf("a sector holds %q", b[i:i+sector])
		}
		if c != '.' {
			seen[i/page]++
		}
	}
	const whole = page / sector
	kind := "in order"
	for i := range 3 {
		if seen[i] < whole && seen[i+1] > 0 {
			kind = "out of order"
		}
	}
	switch {
	case seen == [4]int{}:
		return "nothing"
	case seen == [4]int{whole, whole, whole, whole}:
		return "everything"
	case slices.ContainsFunc(seen[:], func(n int) bool { return n > 0 && n < whole }):
		return kind + ", torn"
	}
	return kind
}

func TestALengthThatWasNotFlushedIsAnyOfThoseItHad(t *testing.T) {
	got := found(t, func(dir string) error { return store(filepath.Join(dir, "a"), []byte("old"), os.O_CREATE, nil) }, func(dir string) error {
		return errors.Join(os.Truncate(filepath.Join(dir, "a"), 1), os.Truncate(filepath.Join(dir, "a"), 5))
	}, func(files map[string][]byte) string { return fmt.Sprintf("%q", files["a"]) })
	for _, want := range []string{`"old"`, `"o"`, `"o\x00\x00\x00\x00"`} {
		if got[want] == 0 {
			t.Errorf("never found: %s", want)
		}
	}
}

func TestARenameThatWasNotFlushedIsDoneOrUndone(t *testing.T) {
	before := func(dir string) error {
		return errors.Join(store(filepath.Join(dir, "old"), []byte("old"), os.O_CREATE, nil), store(filepath.Join(dir, "new"), []byte("new"), os.O_CREATE, nil))
	}
	rename := func(dir string) error { return os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "old")) }
	look := func(files map[string][]byte) string { return fmt.Sprintf("%s, old is %s", names(files), files["old"]) }
	t.Run("not flushed", func(t *testing.T) {
		exactly(t, found(t, before, rename, look), "[new old], old is old", "[old], old is new")
	})
	t.Run("flushed", func(t *testing.T) {
		got := found(t, before, func(dir string) error { return errors.Join(rename(dir), flushFolder(dir)) }, look)
		exactly(t, got, "[old], old is new")
	})
	t.Run("of a file that was never there", func(t *testing.T) { // its removal and its making are one name's
		got := found(t, nothing, func(dir string) error {
			return errors.Join(before(dir), rename(dir))
		}, names)
		exactly(t, got, "[]", "[new]", "[old]", "[new old]")
	})
}

func TestAFileRenamedIntoAnotherFolderIsInOneOfThem(t *testing.T) {
	before := func(dir string) error {
		return errors.Join(os.Mkdir(filepath.Join(dir, "a"), 0o700), os.Mkdir(filepath.Join(dir, "b"), 0o700),
			store(filepath.Join(dir, "a", "x"), []byte("x"), os.O_CREATE, nil))
	}
	rename := func(dir string) error { return os.Rename(filepath.Join(dir, "a", "x"), filepath.Join(dir, "b", "x")) }
	exactly(t, found(t, before, rename, names), "[a/x]", "[b/x]")
	for _, flushed := range []string{"a", "b"} {
		got := found(t, before, func(dir string) error { return errors.Join(rename(dir), flushFolder(filepath.Join(dir, flushed))) }, names)
		exactly(t, got, "[b/x]")
	}
}

func TestNamesThatWereNotFlushedComeAndGoInAnyOrder(t *testing.T) {
	made := func(dir string) error {
		return errors.Join(store(filepath.Join(dir, "a"), nil, os.O_CREATE, nil), store(filepath.Join(dir, "b"), nil, os.O_CREATE, nil))
	}
	exactly(t, found(t, nothing, made, names), "[]", "[a]", "[b]", "[a b]")
	removed := func(dir string) error {
		return errors.Join(os.Remove(filepath.Join(dir, "a")), os.Remove(filepath.Join(dir, "b")))
	}
	exactly(t, found(t, made, removed, names), "[]", "[a]", "[b]", "[a b]")
	linked := func(dir string) error { return os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "c")) }
	exactly(t, found(t, made, linked, names), "[a b]", "[a b c]")
}

func TestAModeThatWasNotFlushedIsTheOldOrTheNew(t *testing.T) {
	d, dir := mounted(t)
	path := filepath.Join(dir, "a")
	seen := map[os.FileMode]bool{}
	for seed := range uint64(20) {
		if err := errors.Join(store(path, nil, os.O_CREATE, nil), os.Chmod(path, 0o644)); err != nil {
			t.Fatal(err)
		}
		d.Flush()
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.Restore(rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		seen[info.Mode()] = true
	}
	if len(seen) != 2 || !seen[0o644] || !seen[0o600] {
		t.Errorf("found modes %v", seen)
	}
}

// A database writes through the file and reads through memory. What it committed it finds again, unless it does not flush.
// It is a process of its own: one that reads memory which it has to fill itself waits for ever.
func TestADatabaseLivesOnIt(t *testing.T) {
	for _, flushes := range []bool{true, false} {
		t.Run(fmt.Sprintf("it flushes: %v", flushes), func(t *testing.T) {
			d, dir := mounted(t)
			lost := 0
			for seed := range uint64(10) {
				path := filepath.Join(dir, "db")
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s", databaseAt, path), fmt.Sprintf("%s=%v", databaseFlushes, flushes))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v: %s", err, out)
				}
				if err := errors.Join(flushFolder(dir), d.Restore(rand.New(rand.NewPCG(seed, 0)))); err != nil {
					t.Fatal(err)
				}
				if !opens(t, d.Files("")["db"]) {
					lost++
				}
				if err := os.Remove(path); err != nil {
					t.Fatal(err)
				}
			}
			if flushes && lost > 0 || !flushes && lost == 0 {
				t.Errorf("%d databases lost their last commit", lost)
			}
		})
	}
}

// What a process is told that works with a database.
const (
	databaseAt      = "POWERCUT_DATABASE"
	databaseFlushes = "POWERCUT_DATABASE_FLUSHES"
)

const commits = 20

// useDatabase commits, and reads what it committed.
func useDatabase(path string, flushes bool) error {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: !flushes, Timeout: time.Second})
	if err != nil {
		return err
	}
	for n := range commits {
		err = errors.Join(err, db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("b"))
			if err != nil {
				return err
			}
			return b.Put([]byte("last"), bytes.Repeat([]byte{byte(n)}, 3*page))
		}), db.View(func(tx *bolt.Tx) error {
			if v := tx.Bucket([]byte("b")).Get([]byte("last")); len(v) != 3*page || v[page] != byte(n) {
				return fmt.Errorf("after commit %d it reads %d bytes", n, len(v))
			}
			return nil
		}))
	}
	return errors.Join(err, db.Close())
}

func TestMain(m *testing.M) {
	if path := os.Getenv(databaseAt); path != "" {
		if err := useDatabase(path, os.Getenv(databaseFlushes) == "true"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	fasttest.LeaveOut()
	os.Exit(m.Run())
}

// opens reports whether a database is whole and holds its last commit.
func opens(t *testing.T, b []byte) (whole bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if recover() != nil {
			whole = false
		}
	}()
	if len(b) == 0 {
		return false
	}
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return false
	}
	defer db.Close()
	return db.View(func(tx *bolt.Tx) error {
		b := tx.Bucket([]byte("b"))
		if b == nil || !bytes.Equal(b.Get([]byte("last")), bytes.Repeat([]byte{commits - 1}, 3*page)) {
			return errors.New("lost")
		}
		return nil
	}) == nil
}

func TestNothingHappensWithoutPower(t *testing.T) {
	d, dir := mounted(t)
	out := d.CutAfter(3)
	ended := make(chan error)
	go func() { // make a name, write, flush
		ended <- store(filepath.Join(dir, "a"), []byte("a"), os.O_CREATE, (*os.File).Sync)
	}()
	<-out
	select {
	case err := <-ended:
		t.Fatalf("the flush ended: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	d.LetGo()
	if err := <-ended; !errors.Is(err, syscall.EIO) {
		t.Errorf("the flush ended with %v", err)
	}
	if _, err := os.ReadFile(filepath.Join(dir, "a")); !errors.Is(err, syscall.EIO) {
		t.Errorf("without power a file can be read: %v", err)
	}
	if err := d.Restore(rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	if err := store(filepath.Join(dir, "b"), []byte("b"), os.O_CREATE, (*os.File).Sync); err != nil {
		t.Errorf("with power again: %v", err)
	}
}

func TestTheSameChoicesComeOutTheSame(t *testing.T) {
	var before map[string][]byte
	for range 2 {
		d, dir := mounted(t)
		for i := range 20 {
			path := filepath.Join(dir, fmt.Sprint(i))
			if err := errors.Join(store(path, bytes.Repeat([]byte("x"), 3*page), os.O_CREATE, nil), os.Rename(path, path+"b")); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Restore(rand.New(rand.NewPCG(0, 0))); err != nil {
			t.Fatal(err)
		}
		after := d.Files("")
		if before != nil && !maps.EqualFunc(before, after, bytes.Equal) {
			t.Errorf("found %s, then %s", names(before), names(after))
		}
		before = after
	}
	if n := strings.Count(names(before), "b"); n == 0 || n == 20 {
		t.Errorf("%d of 20 renames are done: choose another seed", n)
	}
}

// A process that is killed has flushed nothing: whoever comes next sees what it did, and may lose it yet.
func TestAKillLosesNothingAndFlushesNothing(t *testing.T) {
	seen := map[int]int{}
	for seed := range uint64(20) {
		d, dir := mounted(t)
		out := d.CutAfter(3)
		ended := make(chan error)
		go func() { // make a name, write, flush
			ended <- store(filepath.Join(dir, "a"), []byte("a"), os.O_CREATE, (*os.File).Sync)
		}()
		<-out
		d.LetGo()
		<-ended
		if err := d.Resume(); err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(filepath.Join(dir, "a")); string(text) != "a" || err != nil {
			t.Fatalf("after the kill it holds %q, %v", text, err)
		}
		if err := d.Restore(rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Fatal(err)
		}
		seen[len(d.Files(""))]++
	}
	if seen[0] == 0 || seen[1] == 0 {
		t.Errorf("after the cut so many files were there: %v", seen)
	}
}

func TestAFolderGetsTheNumberOfOneThatWasRemoved(t *testing.T) {
	_, dir := mounted(t)
	folder := filepath.Join(dir, "a")
	var infos [2]os.FileInfo
	for i := range infos {
		err := os.Mkdir(folder, 0o700)
		if err == nil {
			infos[i], err = os.Stat(folder)
		}
		if err := errors.Join(err, os.Remove(folder)); err != nil {
			t.Fatal(err)
		}
	}
	if !os.SameFile(infos[0], infos[1]) {
		t.Error("it has another")
	}
}

// A process with its own view of what is mounted, as a browser's sandbox has, keeps a copy of every mount.
func TestTheDiskIsTakenAwayFromOtherViewsToo(t *testing.T) {
	d, _ := mounted(t)
	cmd := exec.Command("sleep", "60")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Skipf("no other view can be made: %v", err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if err := d.Restore(rand.New(rand.NewPCG(1, 0))); err != nil {
		t.Fatal(err)
	}
}
