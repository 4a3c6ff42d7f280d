package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/trytest"
)

func TestNobodyWaitsLongForAPathThatDoesNotAnswerAndNobodyTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path, asked, late := filepath.Join(t.TempDir(), "share"), new(atomic.Int32), ""
		answers := make(chan string)
		ask := func(path string) (string, error) {
			return Ask(path, func() (string, error) { asked.Add(1); return <-answers, nil }, func(answer string) { late = answer })
		}
		start := time.Now()
		for _, at := range []string{path, path, filepath.Join(path, "below")} {
			if _, err := ask(at); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %v", at, err)
			}
		}
		if took := time.Since(start); took != Silence || asked.Load() != 1 {
			t.Errorf("it was asked %d times and waited for %v", asked.Load(), took)
		}
		answers <- "here"
		synctest.Wait()
		if late != "here" {
			t.Errorf("the late answer was %q", late)
		}
		go func() { answers <- "again" }()
		if answer, err := ask(path); answer != "again" || err != nil {
			t.Errorf("afterwards: %q, %v", answer, err)
		}
	})
}

// Whatever takes a path from outside knows which ones do not answer.
func TestAPathThatDoesNotAnswerCountsAsOutOfReach(t *testing.T) {
	dir := trytest.Must(filepath.EvalSymlinks(t.TempDir()))
	file := filepath.Join(dir, "Lease.pdf")
	trytest.NoErr(t, os.WriteFile(file, []byte("lease"), 0o600))
	link := filepath.Join(t.TempDir(), "link")
	linked := os.Symlink(dir, link) == nil
	silent.paths[dir], silent.paths[link] = true, true
	defer func() { silent.paths = map[string]bool{} }()
	for what, err := range map[string]error{
		"stat":        second(Stat(file)),
		"open":        second(OpenDir(dir)),
		"open real":   second(OpenReal(dir)),
		"real":        second(Real(dir)),
		"make":        MkdirAll(filepath.Join(dir, "new"), 0o700),
		"make one":    Mkdir(filepath.Join(dir, "new"), 0o700),
		"open a file": func() error { _, _, err := OpenFile(file); return err }(),
	} {
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if !Inside(file, dir) || linked && Inside(filepath.Join(link, "Lease.pdf"), dir) || Same(dir, dir) || !Empty(dir) {
		t.Error("a folder that does not answer was looked at")
	}
	if _, err := os.Lstat(filepath.Join(dir, "new")); err == nil {
		t.Error("a folder was made")
	}
}

func second[T any](_ T, err error) error { return err }

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// An office may have a folder for each package, and the program may run for years.
func TestFoldersThatAreKnownToBeDurableTakeNoMoreRoomAfterAYear(t *testing.T) {
	dir := t.TempDir()
	info := must(os.Stat(dir))
	flushed := 0
	flush := func() error { flushed++; return nil }
	for n := range 365 * 50 {
		for range 2 {
			noErr(t, Once(filepath.Join(dir, strconv.Itoa(n)), info, flush))
		}
	}
	if have := len(anchored.folders); have > mostAnchored || flushed != 365*50 {
		t.Errorf("%d are remembered, %d flushes", have, flushed)
	}
}
