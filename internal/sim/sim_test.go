package sim

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"
)

// outcome is how a run ended.
type outcome struct {
	broken []string // promises; none is what is hoped for
	at     int      // the step after which they were
	trace  *trace
	took   time.Duration
	lived  time.Duration // virtual
}

// play runs steps in a world of their own.
func play(t *testing.T, seed uint64, steps []step) (o outcome) {
	if _, err := made(); err != nil { // not in the bubble: it listens on a port
		t.Fatal(err)
	}
	dir := scratch(t)
	defer os.RemoveAll(dir)
	cryptotest.SetGlobalRandom(t, seed)
	var dog watchdog
	defer dog.watch(seed, steps)()
	began := time.Now()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w, err := newWorld(seed, dir)
		if w != nil {
			defer w.end()
			o.trace = w.trace
			dog.trace.Store(w.trace)
		}
		if err != nil {
			o.broken = []string{"the world does not begin: " + err.Error()}
			return
		}
		for i, s := range steps {
			dog.step.Store(int64(i))
			w.sleep(s.pause)
			w.trace.add("step %d: %s", i, s)
			w.perform(s)
			synctest.Wait()
			o.at = i
			if o.broken = w.model.check(); len(o.broken) > 0 {
				break
			}
		}
		o.lived = time.Since(start) + w.slept
	})
	o.took = time.Since(began)
	return o
}

// perform does a step. A panic on the way is a broken promise, too.
func (w *world) perform(s step) {
	defer func() {
		if p := recover(); p != nil {
			w.model.breaks("nothing panics: %v\n%s", p, debug.Stack())
		}
	}()
	if !quietVerbs[s.what] {
		w.stirred = time.Now()
	}
	verbs[s.what].do(w, s)
}

var scratches int

// scratch is a folder in memory where there is one: what is flushed there costs nothing.
func scratch(t *testing.T) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = os.TempDir()
	}
	// Always as long as another one: it is in the data, and how large that is decides what a full disk takes.
	scratches++
	dir := filepath.Join(base, fmt.Sprintf("countersign-sim-%010d-%010d", os.Getpid(), scratches))
	os.RemoveAll(dir) // of a process of that number that was killed
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fail shows what was broken.
func (o outcome) fail(t *testing.T, seed uint64, steps []step) {
	t.Helper()
	t.Errorf("seed %d, after step %d (%s):\n%s\nwhat happened last:\n%s", seed, o.at, steps[o.at], strings.Join(o.broken, "\n"), o.trace.tail(60))
}

func TestASeedReplaysItsRun(t *testing.T) {
	steps, seen := life(1, 2, 5), map[string]bool{}
	// The order of goroutines that woke at the same instant tells some runs apart: after a body that was cut, whether the
	// service is asked if it is there before the next try or after it. So there are a few runs of a seed, and each comes again.
	for range 8 {
		sum := play(t, 1, steps).trace.hash()
		if seen[sum] {
			return
		}
		seen[sum] = true
	}
	t.Errorf("eight runs of one seed all differ: %v", slices.Collect(maps.Keys(seen)))
}
