package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"log/slog"
	"math"
	"os"
	"path/filepath"
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

type outcome struct {
	broken []string // broken promises; none is the aim
	at     int      // the step after which they were broken
	trace  *trace
	took   time.Duration
	lived  time.Duration // virtual
}

// play runs steps in a new world.
func play(t *testing.T, seed uint64, steps []step) (o outcome) {
	cryptotest.SetGlobalRandom(t, 0)  // the same keys in each process
	if _, err := made(); err != nil { // outside the bubble, because it listens on a port
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

// perform does a step. A panic counts as a broken promise, too.
func (w *world) perform(s step) {
	defer func() {
		if p := recover(); p != nil && p != any(errBrokenOff) {
			w.model.breaks("nothing panics: %v\n%s", p, debug.Stack())
		}
	}()
	if !quietVerbs[s.what] {
		w.model.list.lookAtChanges() // while it may be judged
		w.stirred = time.Now()
	}
	verbs[s.what].do(w, s)
}

// mostGarbage is how many bytes may be allocated before garbage is collected.
const mostGarbage = 256 << 20

// tidy collects garbage while nothing else runs: if the runtime chose the moment, goroutines would continue in another
// order.
func (w *world) tidy() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(heap); heap[0].Value.Uint64() > w.tidyAt {
		runtime.GC()
		metrics.Read(heap)
		w.tidyAt = heap[0].Value.Uint64() + mostGarbage
	}
}

var scratches int

// envPlace overrides the number in the names of a process's folders.
const envPlace = "COUNTERSIGN_SIM_PLACE"

// scratch is a folder, in memory if possible, because flushing there costs nothing.
func scratch(t *testing.T) string {
	t.Helper()
	base := "/dev/shm"
	if _, err := os.Stat(base); err != nil {
		base = os.TempDir()
	}
	// The path always has the same length: it is part of the data, whose size decides what a full disk accepts. A replay has
	// the same path, because backups are compressed.
	place := os.Getpid()
	if n, err := strconv.Atoi(os.Getenv(envPlace)); err == nil {
		place = n
	}
	scratches++
	dir := filepath.Join(base, fmt.Sprintf("countersign-sim-%010d-%010d", place, scratches))
	os.RemoveAll(dir) // left by a killed process with the same number
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// fail reports what was broken.
func (o outcome) fail(t *testing.T, seed uint64, steps []step) {
	t.Helper()
	t.Errorf("seed %d, after step %d (%s):\n%s\nwhat happened last:\n%s", seed, o.at, steps[o.at], strings.Join(o.broken, "\n"), o.trace.tail(60))
}

// TestASeedReplaysItsRun plays some lives twice, each time in its own process.
func TestASeedReplaysItsRun(t *testing.T) {
	if otherGo() {
		t.Skipf("turns/runtime.edits is for %s, this is %s: lives do not replay exactly", turnsGo, runtime.Version())
	}
	if os.Getenv(envTurns) != "" {
		for seed := uint64(1); seed <= 3; seed++ {
			lived := play(t, seed, life(seed, 2, 5)).trace
			fmt.Printf("%s\ntrace %s\n", lived.tail(math.MaxInt), lived.hash())
		}
		return
	}
	lines := func() []string {
		cmd := again(t)
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=1%09d", envPlace, os.Getpid())) // not the number of any process
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return strings.Split(string(out), "\n")
	}
	traces := func(lines []string) []string {
		return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return !strings.HasPrefix(line, "trace ") })
	}
	once, again := lines(), lines()
	if was, now := traces(once), traces(again); len(was) == 0 || !slices.Equal(was, now) {
		at := 0
		for at < min(len(once), len(again)) && once[at] == again[at] {
			at++
		}
		part := func(lines []string) string { return strings.Join(lines[max(0, at-20):min(at+20, len(lines))], "\n") }
		t.Errorf("played again, %q went on as %q. The first difference, of one:\n%s\nand of the other:\n%s", was, now, part(once), part(again))
	}
}

// How much processor time one instant of virtual time may take, and a whole run with its steps. A planted fault must be
// found within a minute. Deadlocks are found by the bubble or, those over a mutex, when that much real time brings less work.
const (
	longestInstant = 3 * time.Minute
	longestPlanted = 30 * time.Second
	longestRun     = 30 * time.Minute
	longestStep    = time.Second
	longestStill   = 3 * time.Minute
	leastWork      = time.Second / 10
)

// watchdog reports a run that loops instead of letting it hang: virtual time stands still while anything runs, and no test
// in the bubble can read a real clock.
type watchdog struct {
	trace atomic.Pointer[trace]
	step  atomic.Int64
}

// watch ends the process, with a report, if the run hangs. done ends the watch.
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
			if spent()-since > instant || spent()-began > longestRun+time.Duration(len(steps))*longestStep || time.Since(moved) > longestStill && spent()-since < leastWork {
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

// trace is what happened, in a line each with its virtual time. Two runs are the same if their checksums are.
type trace struct {
	dir   string // of this run; removed from the lines
	mu    sync.Mutex
	sum   hash.Hash
	lines []string
	count int
	now   string   // the current instant
	these []string // what has happened at that instant
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

// instant is the virtual time of the last event.
func (t *trace) instant() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// flush adds what happened at one instant, sorted: goroutines that one event wakes may continue in any order.
func (t *trace) flush() {
	slices.Sort(t.these)
	for _, line := range t.these {
		fmt.Fprintln(t.sum, line)
	}
	t.these = nil
}

// tail is the last events.
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

// log adds the program's log to the trace, but not to its checksum. said gets each line.
func (t *trace) log(said func(line string)) *slog.Logger {
	return slog.New(slog.NewTextHandler(lines(func(line string) {
		said(line)
		t.line(false, "  log %s", line)
	}), nil))
}

// lines is a writer that passes on whole lines.
type lines func(line string)

func (l lines) Write(line []byte) (int, error) {
	l(strings.TrimSpace(string(line)))
	return len(line), nil
}
