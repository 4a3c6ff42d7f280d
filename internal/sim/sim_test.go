package sim

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
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
	cryptotest.SetGlobalRandom(t, 0)  // the same keys in each process
	if _, err := made(); err != nil { // not in the bubble: it listens on a port
		t.Fatal(err)
	}
	dir := scratch(t)
	defer os.RemoveAll(dir)
	temp := filepath.Join(dir, "temporary")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temp)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // see tidy
	runtime.GC()
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

// mostGarbage is how many bytes may lie in memory until what is no longer needed is given back.
const mostGarbage = 256 << 20

// tidy gives back memory, while nothing else goes on: where the runtime chose when, goroutines would go on in another order.
func (w *world) tidy() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap); heap[0].Value.Uint64() > w.tidyAt {
		runtime.GC()
		metrics.Read(heap)
		w.tidyAt = heap[0].Value.Uint64() + mostGarbage
	}
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

// TestASeedReplaysItsRun plays some lives twice, each time in a process of its own.
func TestASeedReplaysItsRun(t *testing.T) {
	if otherGo() {
		t.Skipf("turns/runtime.edits is for %s, this is %s: lives do not replay exactly", turnsGo, runtime.Version())
	}
	if os.Getenv(envTurns) != "" {
		for seed := uint64(1); seed <= 3; seed++ {
			fmt.Println("trace", play(t, seed, life(seed, 2, 5)).trace.hash())
		}
		return
	}
	traces := func() []string {
		out, err := again(t).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return regexp.MustCompile(`(?m)^trace .*$`).FindAllString(string(out), -1)
	}
	once, again := traces(), traces()
	if len(once) == 0 || !slices.Equal(once, again) {
		t.Errorf("played again, these seeds went on otherwise:\n%q\n%q", once, again)
	}
}
