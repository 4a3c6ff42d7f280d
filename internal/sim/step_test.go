package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// step is one thing that happens: after a pause, somebody or something does something, with arguments.
type step struct {
	pause time.Duration
	what  string
	args  []string
}

// String is the step in the format of parse: "1h20m0s send 2 3".
func (s step) String() string {
	return strings.TrimSpace(s.pause.String() + " " + s.what + " " + strings.Join(s.args, " "))
}

// number is the nth argument as a number, 0 if there is none.
func (s step) number(n int) int {
	i, _ := strconv.Atoi(s.word(n))
	return i
}

// span is the nth argument as a duration, 0 if there is none.
func (s step) span(n int) time.Duration {
	d, _ := time.ParseDuration(s.word(n))
	return d
}

// word is the nth argument, "" if there is none.
func (s step) word(n int) string {
	if n < len(s.args) {
		return s.args[n]
	}
	return ""
}

// parse reads steps, a line each; what follows a # is a comment.
func parse(text string) (steps []step, err error) {
	for _, line := range strings.Split(text, "\n") {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		pause, err := time.ParseDuration(fields[0])
		if err != nil || len(fields) < 2 {
			return nil, fmt.Errorf("%q is no step", line)
		}
		if _, ok := verbs[fields[1]]; !ok {
			return nil, fmt.Errorf("nobody knows how to %q", fields[1])
		}
		steps = append(steps, step{pause, fields[1], fields[2:]})
	}
	return steps, nil
}

// text is the steps in the format of parse.
func text(steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintln(&b, s)
	}
	return b.String()
}

// verb is a kind of step. draw makes its arguments; do performs it, in the goroutine that plays the world, while nothing
// else in the bubble can run.
type verb struct {
	often int // relative frequency
	draw  func(r *rand.Rand) []string
	do    func(w *world, s step)
}

// life is a life of that many days with that many packages a day. Each has its own character: some kinds of steps are four
// times as frequent in it, and others are missing, so that what is rare in most lives is common in some. Some steps follow
// the previous one within seconds. After everything has settled, trials are held.
func life(seed uint64, days, packages int) []step {
	r := keyed(seed, "life")
	var names []string
	total := 0
	for _, name := range verbNames() {
		often := verbs[name].often
		if name != "send" && name != "sign" {
			often *= oneOf(r, 0, 1, 1, 4)
		}
		total += often
		for range often {
			names = append(names, name)
		}
	}
	// Sending is one of the steps, so this many packages a day need this many steps a day.
	each := max(4, packages*total/max(1, verbs["send"].often))
	steps := []step{{time.Minute, "trial", []string{"silence"}}}
	for day := range days {
		left := 10 * time.Hour // the office's opening hours
		for i := range each {
			name := oneOf(r, names...)
			pause := between(r, time.Second, max(2*time.Second, 2*left/time.Duration(each-i)))
			if r.IntN(5) == 0 {
				pause = between(r, 10*time.Millisecond, 5*time.Second)
			}
			left = max(time.Second, left-pause)
			s := step{pause: pause, what: name}
			if draw := verbs[name].draw; draw != nil {
				s.args = draw(r)
			}
			steps = append(steps, s)
		}
		night := "sleep"
		if r.IntN(4) == 0 {
			night = "wait"
		}
		steps = append(steps, step{between(r, time.Minute, time.Hour), night, []string{between(r, 10*time.Hour, 14*time.Hour).Round(time.Second).String()}})
		if day%10 == 9 || day == days-1 {
			steps = append(steps, step{time.Minute, "settle", nil})
			steps = append(steps, drawTrials(r)...)
		}
	}
	return steps
}

// keyed is a source of randomness for a single thing. What happens to a request is drawn from the request's identity and not
// from a source shared by several goroutines, so that it does not depend on which of them was faster.
func keyed(seed uint64, key ...any) *rand.Rand {
	h := fnv.New64a()
	h.Write(binary.LittleEndian.AppendUint64(nil, seed))
	fmt.Fprint(h, key...)
	return rand.New(rand.NewPCG(h.Sum64(), seed))
}

// between is a duration of from to to, to the nanosecond: so no two goroutines wake at the same instant.
func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(r.Int64N(int64(to-from)))
}

// oneOf chooses.
func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }
