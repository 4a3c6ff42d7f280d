package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
		if p := recover(); p != nil && p != any(errBrokenOff) {
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

// envPlace names the number that a process takes for its folders instead of its own.
const envPlace = "COUNTERSIGN_SIM_PLACE"

// scratch is a folder in memory where there is one: what is flushed there costs nothing.
func scratch(t *testing.T) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = os.TempDir()
	}
	// Always as long as another one: it is in the data, and how large that is decides what a full disk takes. What is played once more
	// has the same name, for a backup is compressed.
	place := os.Getpid()
	if n, err := strconv.Atoi(os.Getenv(envPlace)); err == nil {
		place = n
	}
	scratches++
	dir := filepath.Join(base, fmt.Sprintf("countersign-sim-%010d-%010d", place, scratches))
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
		cmd := again(t)
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=1%09d", envPlace, os.Getpid())) // no process has such a number
		out, err := cmd.CombinedOutput()
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

// How much processor time the same instant of virtual time may take, and a whole run with its steps. A planted fault is to
// be found within a minute. What waits and takes none is looked for by the bubble, or stands still for so long by a real clock.
const (
	longestInstant = 3 * time.Minute
	longestPlanted = 30 * time.Second
	longestRun     = 30 * time.Minute
	longestStep    = time.Second
	longestStill   = time.Hour
)

// watchdog sees to it that a run which goes round in circles is reported and does not hang: virtual time stands still for as
// long as anything goes on, and no test in the bubble can look at a real clock.
type watchdog struct {
	trace atomic.Pointer[trace]
	step  atomic.Int64
}

// watch ends the process, with a report, when the run hangs. The returned function ends the watch.
func (d *watchdog) watch(seed uint64, steps []step) (done func()) {
	over := make(chan struct{})
	instant := longestInstant
	if os.Getenv(envPlanted) != "" {
		instant = longestPlanted
	}
	go func() {
		began, since, moved, last := spent(), spent(), time.Now(), ""
		for tick := time.NewTicker(time.Second); ; {
			select {
			case <-over:
				tick.Stop()
				return
			case <-tick.C:
			}
			t := d.trace.Load()
			if t == nil {
				continue
			}
			if now := t.instant(); now != last {
				last, since, moved = now, spent(), time.Now()
			}
			if spent()-since > instant || spent()-began > longestRun+time.Duration(len(steps))*longestStep || time.Since(moved) > longestStill {
				d.report(seed, steps, t, last, spent()-began)
				os.Exit(1)
			}
		}
	}()
	return func() { close(over) }
}

// report says where the run hangs.
func (d *watchdog) report(seed uint64, steps []step, t *trace, instant string, after time.Duration) {
	at := int(d.step.Load())
	o := outcome{at: at, broken: []string{fmt.Sprintf("the program comes to rest: it goes round in circles at %s, after %v", instant, after.Round(time.Second))}}
	stacks := make([]byte, 1<<20)
	fmt.Fprintf(os.Stderr, "%swhat happened last:\n%s\n%s\n", report(seed, steps, o), t.tail(60), stacks[:runtime.Stack(stacks, true)])
}

// trace is what happened, in a line each with its virtual time. Two runs are the same when their sums are.
type trace struct {
	dir   string // of this run, which is left out
	mu    sync.Mutex
	sum   hash.Hash
	lines []string
	count int
	now   string   // the instant that it is
	these []string // what happened at that instant
}

const traceKept = 400

func newTrace(dir string) *trace { return &trace{dir: dir, sum: sha256.New()} }

// loud shows everything as it happens.
var loud = os.Getenv("COUNTERSIGN_SIM_LOUD") != ""

func (t *trace) add(format string, args ...any) { t.line(true, format, args...) }

func (t *trace) line(counts bool, format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).String()
	line := now + " " + strings.ReplaceAll(fmt.Sprintf(format, args...), t.dir, "")
	if counts {
		t.count++
		if now != t.now {
			t.flush()
		}
		t.now, t.these = now, append(t.these, line)
	}
	if loud {
		fmt.Println(line)
	}
	if t.lines = append(t.lines, line); len(t.lines) > 2*traceKept {
		t.lines = append(t.lines[:0], t.lines[traceKept:]...)
	}
}

// instant is when something happened last, in virtual time.
func (t *trace) instant() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// flush adds what happened at one instant, in whatever order: goroutines that one event wakes at once may go on in any.
func (t *trace) flush() {
	slices.Sort(t.these)
	for _, line := range t.these {
		fmt.Fprintln(t.sum, line)
	}
	t.these = nil
}

// tail is what happened last.
func (t *trace) tail(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines[max(0, len(t.lines)-n):], "\n")
}

func (t *trace) hash() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	return hex.EncodeToString(t.sum.Sum(nil)[:8])
}

// log is the program's log as a part of the trace; it does not count for whether two runs are the same. said hears each line.
func (t *trace) log(said func(line string)) *slog.Logger {
	return slog.New(slog.NewTextHandler(lines(func(line string) {
		said(line)
		t.line(false, "  log %s", line)
	}), nil))
}

// lines is a writer of lines.
type lines func(line string)

func (l lines) Write(line []byte) (int, error) {
	l(strings.TrimSpace(string(line)))
	return len(line), nil
}
