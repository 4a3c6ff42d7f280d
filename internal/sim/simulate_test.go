package sim

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The parameters of `make simulate`: how long, from which seed on and, for the worker processes, which seeds are theirs.
const (
	envTime = "COUNTERSIGN_SIM_TIME"
	envSeed = "COUNTERSIGN_SIM_SEED"
	envDays = "COUNTERSIGN_SIM_DAYS"     // of a life
	envMany = "COUNTERSIGN_SIM_PACKAGES" // a day
	envYear = "COUNTERSIGN_SIM_YEAR"     // total number of days of all lives, however long they take
	envPart = "COUNTERSIGN_SIM_PART"     // n/of: this process plays the seeds with seed modulo of equal to n
)

const (
	lifeDays      = 10 // of one run: long enough for tokens, lists and forgetting, short enough to shrink
	lifePackages  = 20 // a day
	shrinkFor     = 3 * time.Minute
	briefly       = 8 * time.Second // processor time
	freshly       = 4 * time.Second // processor time
	briefDays     = 3
	briefPackages = 8
)

// firstSeed is the requested seed, or a random one.
func firstSeed(t *testing.T) uint64 {
	if s := os.Getenv(envSeed); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return seed
	}
	return uint64(time.Now().UnixNano()/1000) % 1_000_000_000
}

// TestThePromisesHold plays lives for some seconds of processor time: first with seeds that are always the same, so that a
// change that breaks a promise there is always noticed, then with random new ones. A single seed can be requested.
func TestThePromisesHold(t *testing.T) {
	if os.Getenv(envTime) != "" {
		t.Skip("make simulate plays longer lives")
	}
	if elsewhere(t) {
		return
	}
	if os.Getenv(envSeed) != "" {
		live(t, firstSeed(t), briefDays, briefPackages)
		return
	}
	began := spent()
	for seed := uint64(1505); seed <= 1510 && spent()-began < briefly; seed++ {
		live(t, seed, briefDays, briefPackages)
	}
	began = spent()
	for seed := firstSeed(t); spent()-began < freshly && !t.Failed(); seed++ { // shrinking one that breaks a promise takes long
		live(t, seed, briefDays, briefPackages)
	}
}

// live plays one life, and shrinks it if it breaks a promise. If a planted fault must be found soon, every other life has no
// trials, which take most of its time.
func live(t *testing.T, seed uint64, days, packages int) (ok bool, lived time.Duration) {
	steps := life(seed, days, packages)
	if os.Getenv(envPlanted) != "" && seed%2 == 0 {
		steps = slices.DeleteFunc(steps, func(s step) bool { return s.what == "trial" })
	}
	o, ok := attempt(t, seed, steps)
	if !ok {
		t.Fatalf("seed %d: the run ended early", seed)
	}
	t.Logf("seed %d: %d steps, %.1f days in %.1fs, %s", seed, len(steps), o.lived.Hours()/24, o.took.Seconds(), o.trace.hash())
	if len(o.broken) == 0 {
		return true, o.lived
	}
	t.Error(report(seed, steps, o))
	if os.Getenv(envPlanted) != "" { // finding it is enough
		return false, o.lived
	}
	short := shrink(t, seed, steps, o, shrinkFor)
	if again, _ := attempt(t, seed, short); len(again.broken) > 0 {
		t.Errorf("the shortest way there, for regressions_test.go:\n%s\nwhat happened on it:\n%s", regression(seed, short, again), again.trace.tail(120))
	} else {
		t.Error("it does not happen again: the run does not replay")
	}
	return false, o.lived
}

// TestSimulate is `make simulate`: one process per processor plays lives until the time is over, and all stop at the first
// broken promise.
func TestSimulate(t *testing.T) {
	d, err := time.ParseDuration(os.Getenv(envTime))
	if err != nil {
		t.Skip("make simulate runs it")
	}
	if part := os.Getenv(envPart); part != "" {
		simulatePart(t, part, d)
		return
	}
	seed := firstSeed(t)
	t.Logf("seeds from %d on", seed)
	if _, err := orderly(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	var running sync.WaitGroup
	var used atomic.Int64
	if year := number(envYear, 0); year > 0 {
		lives := months(seed, year, number(envDays, 31))
		for range runtime.NumCPU() {
			running.Go(func() {
				for m := range lives {
					if t.Failed() {
						return
					}
					used.Add(simulated(t, m.seed, "0/1", fmt.Sprintf("%s=%d", envDays, m.days)))
				}
			})
		}
	} else {
		for i := range runtime.NumCPU() {
			running.Go(func() { used.Add(simulated(t, seed, fmt.Sprintf("%d/%d", i, runtime.NumCPU()))) })
		}
	}
	running.Wait()
	t.Logf("%v by the clock, %v of a processor", time.Since(began).Round(time.Second), time.Duration(used.Load()).Round(time.Second))
}

// month is one of the lives of a year.
type month struct {
	seed uint64
	days int
}

// months are the lives of a year, with consecutive seeds. A processor that finishes one takes the next.
func months(seed uint64, year, days int) <-chan month {
	all := make(chan month, year)
	for ; year > 0; year -= days {
		all <- month{seed, min(days, year)}
		seed++
	}
	close(all)
	return all
}

// simulated plays the seeds of a part in a separate process, and returns its processor time in nanoseconds.
func simulated(t *testing.T, seed uint64, part string, env ...string) int64 {
	process := again(t)
	process.Env = append(append(process.Env, fmt.Sprintf("%s=%d", envSeed, seed), envPart+"="+part), env...)
	out, err := process.CombinedOutput()
	t.Logf("part %s from seed %d on:\n%s", part, seed, summary(out, err != nil))
	if err != nil {
		t.Errorf("part %s from seed %d on: %v", part, seed, err)
		return 0
	}
	return int64(process.ProcessState.UserTime() + process.ProcessState.SystemTime())
}

// number is a number from the environment, or a default.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// summary is the output of one process: everything it broke, or how much it played.
func summary(out []byte, broke bool) string {
	if broke {
		return string(out)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	for _, line := range lines {
		if bytes.Contains(line, []byte("in all:")) {
			return strings.TrimSpace(string(line))
		}
	}
	return string(out)
}

func simulatePart(t *testing.T, part string, d time.Duration) {
	var n, of uint64
	if _, err := fmt.Sscanf(part, "%d/%d", &n, &of); err != nil {
		t.Fatal(err)
	}
	days, packages := lifeDays, lifePackages
	planted := os.Getenv(envPlanted) != ""
	if planted { // checks at the end of a life must run soon
		days, packages = briefDays, briefPackages
	}
	days, packages = number(envDays, days), number(envMany, packages)
	began, used, runs, inOffice := time.Now(), spent(), 0, 0
	goesOn := func() bool {
		switch {
		case number(envYear, 0) > 0: // this life is one of its months
			return runs == 0
		case planted: // a minute of real time means nothing on a busy machine
			return spent()-used < d
		default:
			return time.Since(began) < d
		}
	}
	var all time.Duration
	for seed := firstSeed(t) + n; goesOn(); seed += of {
		long := days
		if planted && runs == 0 {
			long = 1
		}
		ok, lived := live(t, seed, long, packages)
		runs++
		inOffice += long
		all += lived
		if !ok {
			break
		}
	}
	t.Logf("in all: %d lives, %d days in the office with %d packages each, %.0f days in %v, %v of a processor",
		runs, inOffice, packages, all.Hours()/24, time.Since(began).Round(time.Second), (spent() - used).Round(time.Second))
}

// shrink finds the shortest list of steps that breaks the same promise as o: it removes ever smaller parts as long as that
// promise is still broken (delta debugging), and then simplifies the pauses. It stops after patience.
func shrink(t *testing.T, seed uint64, steps []step, o outcome, patience time.Duration) []step {
	until := time.Now().Add(patience)
	what := brokenPromise(o)
	still := func(steps []step) bool {
		if time.Now().After(until) {
			return false
		}
		o, ok := attempt(t, seed, steps)
		return ok && len(o.broken) > 0 && brokenPromise(o) == what
	}
	steps = steps[:o.at+1]
	for size := len(steps) / 2; size > 0 && time.Now().Before(until); {
		shorter := false
		for from := 0; from < len(steps); {
			left := append(append([]step{}, steps[:from]...), steps[min(len(steps), from+size):]...)
			if len(left) > 0 && still(left) {
				steps, shorter = left, true
				continue
			}
			from += size
		}
		if !shorter || size > len(steps) {
			size /= 2
		}
	}
	for i := range steps {
		plain := append([]step{}, steps...)
		plain[i].pause = time.Minute
		if steps[i].pause != time.Minute && still(plain) {
			steps = plain
		}
	}
	return steps
}

// brokenPromise is the name of the broken promise, without details.
func brokenPromise(o outcome) string {
	first, _, _ := strings.Cut(o.broken[0], ":")
	return first
}

// attempt plays steps in a subtest.
func attempt(t *testing.T, seed uint64, steps []step) (o outcome, ok bool) {
	ok = t.Run("attempt", func(t *testing.T) { o = play(t, seed, steps) })
	return o, ok
}

// report describes a broken promise: what, why, how to replay it, and the shortest steps to it.
func report(seed uint64, steps []step, o outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d breaks a promise after step %d (%s):\n", seed, o.at, steps[o.at])
	for _, line := range o.broken {
		fmt.Fprintf(&b, "  %s\n", line)
	}
	return b.String()
}

// regression is the entry for the table in regressions_test.go.
func regression(seed uint64, steps []step, o outcome) string {
	return fmt.Sprintf("\t{%q, %d, `\n%s`},\n", brokenPromise(o), seed, text(steps))
}
