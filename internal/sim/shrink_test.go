package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// shrink finds the shortest list of steps that still breaks what o broke: it leaves parts out, ever smaller ones, for as
// long as the same promise is broken (delta debugging), and then makes the pauses plain. It ends after patience.
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

// brokenPromise is which promise was broken, without what it was broken for.
func brokenPromise(o outcome) string {
	first, _, _ := strings.Cut(o.broken[0], ":")
	return first
}

// attempt plays steps in a test of its own.
func attempt(t *testing.T, seed uint64, steps []step) (o outcome, ok bool) {
	ok = t.Run("attempt", func(t *testing.T) { o = play(t, seed, steps) })
	return o, ok
}

// report is how a broken promise is told: what, why, how to see it again, and the shortest way to it.
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
