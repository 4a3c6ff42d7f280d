package sim

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
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
	for _, name := range slices.Sorted(maps.Keys(verbs)) {
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

func oneOf[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// verbs are all kinds of steps.
var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		// Steps of the office.
		"send":      {20, drawSend, doSend},
		"withdraw":  {1, drawUpTo(1000), doWithdraw},
		"correct":   {2, drawUpTo(1000), doCorrect},
		"decide":    {1, nil, doDecide},
		"take-back": {2, drawWord("stop", "undo"), doTakeBack},
		"keep":      {1, drawWord("in-time", "late"), doKeep},
		"sign-in":   {1, nil, doSignIn},
		"sign-out":  {1, nil, doSignOut},
		"choose":    {1, drawChoice, doChoose},
		"folder":    {1, drawUpTo(3), doFolder},
		"address":   {1, drawWord("none", "external"), doAddress},
		"domain":    {1, nil, doDomain},
		"service":   {1, nil, doService},
		"rename":    {2, drawUpTo(1000), doRename},
		"move":      {1, drawUpTo(1000), doMove},
		"delete":    {1, drawUpTo(1000), doDelete},
		"archive":   {1, drawUpTo(1000), doArchive},
		"export":    {1, drawUpTo(1000), doExport},
		"again":     {1, drawUpTo(1000), doSaveAgain},
		"retry":     {1, drawUpTo(1000), doRetry},
		"try-again": {1, nil, doTryAgain},
		"replace":   {1, nil, doReplace},

		// Steps of others.
		"sign":      {50, drawUpTo(1000), doSign},
		"decline":   {1, drawUpTo(1000), doDecline},
		"elsewhere": {3, nil, func(w *world, _ step) { w.elsewhere() }},
		"desk":      {1, drawWord("takes", "deletes"), doDesk},
		"forge":     {2, drawWord("wrong", "other-url", "none", "garbage"), doForge},
		"revoke":    {1, drawWord("access", "refresh"), doRevoke},

		// Failures.
		"trouble": {8, drawTrouble, doTrouble},
		"hook":    {5, drawHook, doHook},
		"disturb": {1, drawUpTo(3), doDisturb},
		"list":    {1, drawUpTo(6), doList},
		"offline": {2, drawSpan(time.Second, 4*time.Hour), doOffline},
		"lock":    {1, drawSpan(time.Minute, 4*time.Hour), doLock},
		"unplug":  {1, drawSpan(time.Minute, 6*time.Hour), doUnplug},
		"full":    {2, drawSpan(time.Minute, 5*time.Hour), doFill},
		"clock":   {1, drawClock, doClock},
		"flaky":   {2, drawFlaky, doFlaky},

		// The life of the program.
		"wait":   {2, drawSpan(time.Minute, 2*time.Hour), func(w *world, s step) { w.sleep(s.span(0)) }},
		"sleep":  {1, drawSpan(10*time.Minute, 3*time.Hour), doSleep},
		"kill":   {2, nil, func(w *world, _ step) { w.kill() }},
		"crash":  {3, drawCrash, doCrash},
		"quit":   {1, drawSpan(time.Second, time.Hour), doQuit},
		"trial":  {0, drawWord(slices.Sorted(maps.Keys(trials))...), doTrial},
		"settle": {0, nil, func(w *world, _ step) { w.settle() }},
	}
}

func drawUpTo(n int) func(*rand.Rand) []string {
	return func(r *rand.Rand) []string { return []string{strconv.Itoa(r.IntN(n))} }
}

func drawWord(all ...string) func(*rand.Rand) []string {
	return func(r *rand.Rand) []string { return []string{oneOf(r, all...)} }
}

func drawSpan(from, to time.Duration) func(*rand.Rand) []string {
	return func(r *rand.Rand) []string { return []string{between(r, from, to).Round(time.Second).String()} }
}

func drawSend(r *rand.Rand) []string {
	files, signers, due := 1, 1+r.IntN(3), "0s"
	if r.IntN(4) == 0 {
		files += 1 + r.IntN(2)
	}
	if r.IntN(5) == 0 {
		due = between(r, time.Hour, 72*time.Hour).Round(time.Hour).String()
	}
	return []string{strconv.Itoa(files), strconv.Itoa(signers), oneOf(r, "sequential", "parallel"), due}
}

func drawChoice(r *rand.Rand) []string {
	return []string{oneOf(r, "each", "executed", "none", "certificates", "masterfiles", "documents-alone", "template", "index", "index", "no-index", "copies")}
}

// The parts of a service that trouble affects; "/" is all of them.
var routes = []string{"/", "/connect", "/packages", "/packages/add", "/packages/*/status", "/packages/*/documents", "/packages/list", "/files/upload", "/events/endpoints/set"}

func drawTrouble(r *rand.Rand) []string {
	kind, route := oneOf(r, slices.Sorted(maps.Keys(troubles))...), oneOf(r, routes...)
	switch kind {
	case "oddtoken":
		route = "/connect/token"
	case "forbidden": // a permission is withdrawn for an hour
		return []string{kind, oneOf(r, "/packages", "/packages/*/documents", "/packages/*/status"), "-1", "1h0m0s"}
	case "cut", "short":
		route = oneOf(r, "/packages/*/documents", "/packages", "/")
	}
	times, span := strconv.Itoa(1+r.IntN(6)), between(r, time.Minute, 3*time.Hour)
	if r.IntN(3) == 0 {
		times = "-1"
	}
	return []string{kind, route, times, span.Round(time.Second).String()}
}

func drawHook(r *rand.Rand) []string {
	return []string{oneOf(r, "hook-lost", "hook-twice", "hook-dropped", "hook-late"), strconv.Itoa(1 + r.IntN(8))}
}

func drawFlaky(r *rand.Rand) []string {
	return []string{oneOf(r, "7", "29", "101"), between(r, time.Minute, 2*time.Hour).Round(time.Second).String()}
}

func drawClock(r *rand.Rand) []string {
	by := oneOf(r, between(r, time.Minute, 2*time.Hour), between(r, 2*time.Hour, 60*time.Hour), between(r, 60*time.Hour, 400*24*time.Hour))
	if r.IntN(2) == 0 {
		by = -by
	}
	return []string{by.Round(time.Second).String(), between(r, time.Minute, 20*time.Hour).Round(time.Second).String()}
}

// crashPoints are where the program can be killed, or ended by its menu, in the middle of its work; see agent.Params.Crash.
var crashPoints = []string{
	"event stored", "adding", "added", "taken", "stored", "save created", "save written", "save flushed", "save named", "save done", "save committed",
	"renewed", "renewal kept", "rescinding", "rescinded",
}

func drawCrash(r *rand.Rand) []string {
	return []string{strconv.Itoa(r.IntN(len(crashPoints))), strconv.Itoa(r.IntN(4)), oneOf(r, "killed", "killed", "quit")}
}
