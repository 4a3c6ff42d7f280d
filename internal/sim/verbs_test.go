package sim

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// verbs are all kinds of steps.
var verbs map[string]verb

func init() {
	verbs = map[string]verb{
		// Steps of the office.
		"send":      {20, drawSend, doSend},
		"withdraw":  {1, drawUpTo(1000), doWithdraw},
		"correct":   {2, drawUpTo(1000), doCorrect},
		"decide":    {1, nil, doDecide},
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
		"trial":  {0, drawWord(trialNames()...), doTrial},
		"settle": {0, nil, func(w *world, _ step) { w.settle() }},
	}
}

func verbNames() []string {
	var names []string
	for name := range verbs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
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
	var kinds []string
	for kind := range troubles {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	kind, route := oneOf(r, kinds...), oneOf(r, routes...)
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
