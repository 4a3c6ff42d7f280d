//go:build linux

package powercut

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"countersign/internal/fasttest"
)

// mounted is a disk and its mount point.
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

// cuts is how often a test cuts the power: enough for every possible outcome to occur.
const cuts = 80

// found counts the outcomes of power cuts: before is done and flushed, then is done until the power fails, and look
// describes what is left.
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

// exactly asserts that exactly these outcomes occur.
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

// The name of a file belongs to the folder, its contents to the file: flushing one does not flush the other.
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

// Four consecutive writes to a file with previous contents.
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

// kindOf describes what became of four writes of a page each.
func kindOf(t *testing.T, b, written []byte) string {
	t.Helper()
	if len(b) != 4*page {
		t.Fatalf("%d bytes", len(b))
	}
	var seen [4]int // written sectors of each page
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
	t.Run("of a file that was never there", func(t *testing.T) { // removal and creation affect the same name
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

func TestMain(m *testing.M) {
	fasttest.LeaveOut()
	os.Exit(m.Run())
}

func TestNothingHappensWithoutPower(t *testing.T) {
	d, dir := mounted(t)
	out := d.CutAfter(3)
	ended := make(chan error)
	go func() { // create, write, flush
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

// A killed process has flushed nothing: the next process sees what it did, and may still lose it.
func TestAKillLosesNothingAndFlushesNothing(t *testing.T) {
	seen := map[int]int{}
	for seed := range uint64(20) {
		d, dir := mounted(t)
		out := d.CutAfter(3)
		ended := make(chan error)
		go func() { // create, write, flush
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
