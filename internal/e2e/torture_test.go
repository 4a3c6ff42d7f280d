//go:build linux

package e2e

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
)

// The least number of kills of each office, for the quick run and for a long one.
const (
	killsQuick = 12
	killsLong  = 110
)

// torture is an office whose program is killed again and again.
type torture struct {
	*harness.Office
	seen   map[string][32]byte // every file that was ever found under its final name
	sent   []string            // the names of all packages that were, or were to be, sent
	denied []string            // of these, those that send invited to send again
	kills  int
}

// TestNothingIsLostOrDoneTwiceWhenTheProgramIsKilled kills the program at random moments while it starts, sends, signs
// in again, receives and saves, with a service that misbehaves and events that come late, twice and in any order. The
// choices come from a seed that is printed; COUNTERSIGN_E2E_SEED makes them again. What a choice meets depends on the
// machine, too.
func TestNothingIsLostOrDoneTwiceWhenTheProgramIsKilled(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("COUNTERSIGN_E2E_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("COUNTERSIGN_E2E_SEED=%d", seed)
	began, least := time.Now(), killsQuick
	lasting, err := time.ParseDuration(os.Getenv(harness.TortureTime))
	if err == nil {
		least = killsLong
	}
	for i, key := range []string{"a file", "the keyring"} {
		t.Run("key in "+key, func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, uint64(i)))
			c := newTorture(t, key == "a file")
			for n := 0; c.kills < least || time.Since(began) < lasting; n++ {
				c.play(n, choose(random, n))
			}
			c.settles()
			c.nothingIsMissing()
			c.Stop()
			c.leavesNothingBehind()
		})
	}
}

// newTorture sets an office up that everybody is signed in at, and that works a little more slowly than usual, so that
// there is something to be killed in.
func newTorture(t testing.TB, keyFile bool) *torture {
	t.Helper()
	c := &torture{Office: harness.UsualOffice(t, harness.NewDesktop(t)), seen: map[string][32]byte{}}
	if keyFile {
		c.Global = append(c.Global, "--key-file", filepath.Join(harness.ShortDir(t), "key"))
	}
	c.Ready()
	c.Service.Tell("POST", "/downloads/pad", map[string]int{"bytes": 1 << 20}, nil)
	return c
}

// choice is all that chance decides about one round.
type choice struct {
	phase  string
	after  time.Duration // from the beginning of the phase to the kill
	faults []map[string]any
	travel map[string]any // of events
	again  int            // which of the events comes once more
}

// phases are what the program is killed at, each with the longest it is given.
var phases = []struct {
	name  string
	limit time.Duration
}{
	{"sending", 300 * time.Millisecond},
	{"signing", 200 * time.Millisecond},
	{"saving", 400 * time.Millisecond},
	{"renewing", 150 * time.Millisecond},
	{"starting", 250 * time.Millisecond},
	{"alone", 400 * time.Millisecond}, // sending without a running instance
}

// choose makes the choices of a round. It takes from random the same way whatever happened before. The first rounds go
// through all phases.
func choose(random *rand.Rand, n int) choice {
	phase := phases[random.IntN(len(phases))]
	if n < len(phases) {
		phase = phases[n]
	}
	c := choice{
		phase: phase.name, after: time.Duration(random.Int64N(int64(phase.limit))), again: random.IntN(1 << 20),
		travel: map[string]any{"duplicate": random.IntN(3), "reorder": random.IntN(2) == 0, "delay_ms": random.IntN(3) * 50},
	}
	for range random.IntN(4) {
		c.faults = append(c.faults, unruly(random))
	}
	return c
}

// unruly is a fault that an office has to live with, and that ends by itself.
func unruly(random *rand.Rand) map[string]any {
	kinds := []map[string]any{
		{"drop": true},
		{"lose_answer": true},
		{"status": 500},
		{"delay_ms": 200},
		{"status": 429, "headers": map[string]string{"Retry-After": "1"}},
		{"status": 200, "body": "<html>be right back</html>", "headers": map[string]string{"Content-Type": "text/html"}},
		{"truncate_after": 700},
		{"status": 404},
	}
	// A renewal that is answered with nonsense ends the sign-in, rightly; and not every call may be absent.
	paths := map[string]int{
		"/connect/token": 4, "/events/endpoints/set": 5, "/files/upload": 7, "/packages/add": 5, "*/status": 7, "*/download": 8,
	}
	names := []string{"/connect/token", "/events/endpoints/set", "/files/upload", "/packages/add", "*/status", "*/download"}
	path := names[random.IntN(len(names))]
	fault := map[string]any{"path": path, "times": 1 + random.IntN(2), "skip": random.IntN(2)}
	maps.Copy(fault, kinds[random.IntN(paths[path])])
	return fault
}

// settling is how long the program may take to catch up after everything: it may have been told to wait.
const settling = 3 * time.Minute

// settles lets everyone sign, waits until the program has caught up, and has it do one thing more, in peace.
func (c *torture) settles() {
	c.T.Helper()
	c.Service.Tell("POST", "/events/disturb", map[string]any{}, nil)
	c.eventually("nothing waits in the outbox", func(s harness.Status) bool { return s.Outbox.Pending == 0 })
	for _, p := range c.Service.Packages() {
		c.Service.SignAll(p.ID)
	}
	c.catchesUp()
	c.endsInPeace()
}

// endsInPeace sends a package that nothing disturbs, of which people are told by its name. A summary of what went before takes in
// whatever is signed until it is raised, and names no more than a few: then it is the next package's turn.
func (c *torture) endsInPeace() {
	c.T.Helper()
	for n := range 3 {
		name := fmt.Sprintf("In peace %d", n)
		before := len(c.Desk.Notes.List())
		c.mustSend(name, harness.Sample(c.T, "Offer 2026-118"))
		c.Service.SignAll(c.Service.Named(name).ID)
		c.catchesUp()
		key, told, summary := "Everyone has signed "+quoted(name)+".", false, false
		harness.Eventually(c.T, "told: "+key, func() bool {
			notes := c.Desk.Notes.List()[before:]
			// Where the files come long before or after the signature, it has a notification of its own.
			alone := slices.ContainsFunc(notes, func(n harness.Note) bool { return n.Title == "Ana Ruiz signed "+quoted(name)+"." })
			for _, note := range notes {
				told = told || note.Title == key && (alone || strings.HasPrefix(note.Body, "Ana Ruiz signed. ")) || strings.Contains(note.Body, key)
				summary = summary || strings.Contains(note.Title, "packages changed")
			}
			return told || summary
		})
		if told {
			return
		}
	}
	c.loss("people were told of no package by its name: %+v", c.Desk.Notes.List())
}

// catchesUp waits until all that has happened at the service has happened here.
func (c *torture) catchesUp() {
	c.T.Helper()
	n := len(c.Service.Packages())
	// The service itself waits ever longer with events it could not deliver: have them come now.
	for _, e := range c.Service.Events() {
		if e.Delivered == nil {
			c.Service.Tell("POST", "/events/redeliver", map[string]string{"event_id": e.ID}, nil)
		}
	}
	c.eventually("every event is delivered and dealt with", func(s harness.Status) bool { return c.Service.AllDelivered() && s.Events.Pending == 0 })
	c.eventually("every package is saved", func(s harness.Status) bool { return s.Packages.Saved == n && s.Saves.Pending == 0 })
}

func (c *torture) eventually(what string, ok func(s harness.Status) bool) {
	c.T.Helper()
	var last harness.Status
	defer func() {
		if c.T.Failed() {
			c.T.Logf("last status: %+v", last)
		}
	}()
	harness.EventuallyWithin(c.T, settling, what, func() bool {
		s, err := c.Ask()
		if err == nil {
			last = s
		}
		return err == nil && ok(s)
	})
}

// nothingIsMissing compares what the program has with what the service and the proxy know.
func (c *torture) nothingIsMissing() {
	c.T.Helper()
	packages := c.Service.Packages()
	byName := map[string]int{}
	for _, p := range packages {
		if byName[p.Name]++; byName[p.Name] > 1 {
			c.loss("%q was sent %d times", p.Name, byName[p.Name])
		}
		if !slices.Contains(c.sent, p.Name) {
			c.loss("%q was never to be sent", p.Name)
		}
	}
	s, accepted, came := c.Status(), c.Front.Accepted(), 0
	for _, a := range c.Front.Passed() {
		if a.Status/100 == 2 {
			came++
		}
	}
	if s.Events.Received != len(accepted) {
		c.loss("%d events were answered 2xx, %d are stored", len(accepted), s.Events.Received)
	}
	if !s.SignedIn || s.Issue("signin") != "" {
		c.loss("the sign-in was lost: %+v", s.Health)
	}
	if s.Events.Problems != 0 || s.Saves.Failed != 0 || s.Outbox.Failed != 0 || s.Packages.Total != len(packages) {
		c.loss("at the end: %+v; the service has %d packages", s, len(packages))
	}
	// A draft may stay unknown only when there is no package of it.
	if missing := c.neverSent(byName); s.Outbox.Unknown > missing {
		c.loss("%d drafts are unknown, %d never became packages", s.Outbox.Unknown, missing)
	}
	for _, name := range c.denied {
		if byName[name] != 0 {
			c.loss("%q was sent, though send said that it could be tried again", name)
		}
	}
	failed := c.T.Failed()
	savedAsServed(c.Office, packages...)
	c.filesAreWhole()
	c.toldAtMostOnce()
	if c.T.Failed() && !failed {
		harness.Suffered.Add(harness.Losses, 1)
	}
	harness.Suffered.Add(harness.Events, len(accepted))
	harness.Suffered.Add(harness.Repeats, came-len(accepted))
	harness.Suffered.Add(harness.PackagesMade, len(packages))
	harness.Suffered.Add(harness.FilesSaved, len(c.Files()))
	c.T.Logf("%d kills, %d packages, %d files, %d events and %d copies of them", c.kills, len(packages), len(c.Files()), len(accepted), came-len(accepted))
}

// neverSent is how many of the packages that were to be sent the service has not got.
func (c *torture) neverSent(byName map[string]int) (n int) {
	for _, name := range c.sent {
		if byName[name] == 0 {
			n++
		}
	}
	return n
}

// toldAtMostOnce checks the notifications: none of them twice, none again in a summary.
func (c *torture) toldAtMostOnce() {
	c.T.Helper()
	told := map[string]int{}
	all := c.Desk.Notes.List()
	for _, n := range all {
		if strings.Contains(n.Title, "packages changed") {
			continue
		}
		key := n.Title
		if document, _, ok := strings.Cut(n.Body, ". "); ok && strings.HasPrefix(document, "Document: ") {
			key += "|" + document
		}
		told[key]++
	}
	for key, times := range told {
		title, document, _ := strings.Cut(key, "|")
		for _, n := range all {
			// A summary names no documents, so that it cannot be held against one of several.
			if document == "" && strings.Contains(n.Title, "packages changed") {
				times += strings.Count(n.Body, title)
			}
		}
		if times > 1 {
			c.loss("told %d times: %s", times, key)
		}
	}
}

// leavesNothingBehind checks the folders after a clean end: no file on its way, no socket.
func (c *torture) leavesNothingBehind() {
	c.T.Helper()
	for _, name := range c.Files() {
		if onItsWay(name) {
			c.loss("%q was left behind", name)
		}
	}
	names, err := harness.ReadNames(c.Data)
	harness.Must(c.T, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".sock") || strings.Contains(name, ".tmp") {
			c.loss("%q was left behind in the data folder", name)
		}
	}
}

// ana signs everything that the tortured offices send.
const ana = "Ana Ruiz <ana.ruiz@example.com>"

// play plays one round: the program works when it begins, and works again when it ends.
func (c *torture) play(n int, how choice) {
	c.T.Helper()
	name := fmt.Sprintf("Round %d %s", n, how.phase)
	prepared := c.prepare(name, how.phase)
	for _, f := range how.faults {
		c.Service.Misbehave(f)
	}
	c.Service.Tell("POST", "/events/disturb", how.travel, nil)
	if all := c.Service.Events(); len(all) > 0 {
		c.Service.Tell("POST", "/events/redeliver", map[string]string{"event_id": all[how.again%len(all)].ID}, nil)
	}
	switch how.phase {
	case "sending", "renewing":
		c.whileSending(name, how.after, c.Running)
	case "signing":
		c.whileSigning(prepared, how.after)
	case "saving":
		c.Service.SignAll(prepared.ID)
		c.killAfter(how.after, c.Running)
	case "starting":
		c.killAfter(0, c.Running)
		c.killAfter(how.after, c.Begin("serve"))
	case "alone":
		c.killAfter(0, c.Running)
		c.whileSending(name, how.after, nil)
	}
	c.filesAreWhole()
	c.Serve()
	c.countFaults()
	c.Service.Tell("DELETE", "/faults", nil, nil)
	c.Registered()
	c.T.Logf("%s: killed after %v with %d faults", name, how.after.Round(time.Millisecond), len(how.faults))
}

// prepare brings about, in peace, what a phase is about.
func (c *torture) prepare(name, phase string) (p harness.Pack) {
	c.T.Helper()
	switch phase {
	case "signing":
		c.mustSend(name, "--to", "Jan Weber <jan.weber@example.com>", harness.Sample(c.T, "Offer 2026-118"))
		p = c.Service.Named(name)
	case "saving":
		c.mustSend(name, harness.Sample(c.T, "Lease Sonnenweg 4"), harness.Sample(c.T, "Mandate Keller"))
		p = c.Service.Named(name)
	case "renewing":
		c.Service.Tell("POST", "/tokens/expire", nil, nil)
	}
	return p
}

// mustSend sends to Ana; the outbox may still have to do with what earlier rounds left it.
func (c *torture) mustSend(name string, args ...string) {
	c.T.Helper()
	c.sent = append(c.sent, name)
	c.Must("send", append([]string{"--name", name, "--to", ana}, args...)...)
}

// killAfter kills a process; the wait is the experiment.
func (c *torture) killAfter(wait time.Duration, p *harness.Process) {
	c.T.Helper()
	<-time.After(wait)
	p.Kill()
	c.kills++
	harness.Suffered.Add(harness.Kills, 1)
}

// whileSending kills victim, or the command itself when that is nil, while a package is being sent. Whatever the command
// says, it is true and leads nobody to send the package twice.
func (c *torture) whileSending(name string, after time.Duration, victim *harness.Process) {
	c.T.Helper()
	c.sent = append(c.sent, name)
	send := c.Begin("send", harness.Sample(c.T, "Offer 2026-118"), "--name", name, "--to", ana)
	if victim == nil {
		victim = send
	}
	c.killAfter(after, victim)
	c.judge(name, send)
}

// judge notes what a send said. Whatever it was, it is true.
func (c *torture) judge(name string, send *harness.Process) {
	c.T.Helper()
	code, said := send.Wait(), strings.TrimSpace(send.Stderr.String())
	switch {
	case code == 0:
		c.Service.Named(name)
	case code == 1 && (said == "" || strings.Contains(said, "\n")):
		c.T.Errorf("send says %q, want one line", said)
	case code == 1 && strings.Contains(said, "try again"):
		c.denied = append(c.denied, name)
	}
}

func (c *torture) whileSigning(p harness.Pack, after time.Duration) {
	c.T.Helper()
	signed := make(chan error, 1)
	go func() { signed <- c.Service.Try("POST", "/sign", map[string]string{"package_id": p.ID}, nil) }()
	c.killAfter(after, c.Running)
	if err := <-signed; err != nil {
		c.T.Error(err)
	}
}

// countFaults adds up how often the service misbehaved in this round.
func (c *torture) countFaults() {
	c.T.Helper()
	var list []struct{ Applied int }
	c.Service.Tell("GET", "/faults", nil, &list)
	for _, f := range list {
		harness.Suffered.Add(harness.Faults, f.Applied)
	}
}

// onItsWay reports whether a file has not got its final name yet.
func onItsWay(name string) bool { return strings.HasPrefix(filepath.Base(name), ".countersign-") }

// filesAreWhole checks, with the program dead, that whatever has its final name is complete and stays as it is.
func (c *torture) filesAreWhole() {
	c.T.Helper()
	if _, err := os.Stat(c.Folder); err != nil {
		return
	}
	for _, name := range c.Files() {
		if onItsWay(name) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(c.Folder, name))
		harness.Must(c.T, err)
		sum := sha256.Sum256(b)
		if before, known := c.seen[name]; known && before != sum {
			c.loss("%q was overwritten", name)
		}
		c.seen[name] = sum
		if !strings.HasPrefix(string(b), "%PDF-") || !strings.Contains(string(b[max(0, len(b)-1024):]), "%%EOF") {
			c.loss("%q is not whole: %d bytes", name, len(b))
		}
	}
}

// loss fails the test and counts.
func (c *torture) loss(format string, args ...any) {
	c.T.Helper()
	harness.Suffered.Add(harness.Losses, 1)
	c.T.Errorf(format, args...)
}

// TestManySendsAtOnceAreEachSentOnce sends from many processes at once, where none runs and beside one: each is told the
// truth, and no package is there twice.
func TestManySendsAtOnceAreEachSentOnce(t *testing.T) {
	t.Parallel()
	const each = 8
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Ready()

	// The running program sends for all of them, and renews once for all of them.
	asked := tokens(o)
	o.Service.Tell("POST", "/tokens/expire", nil, nil)
	sendsAtOnce(o, "beside", each)
	if n := tokens(o) - asked; n != 1 {
		t.Errorf("beside the program %d tokens were asked for, want one for all", n)
	}
	o.Stop()

	// An access token is never kept, so whichever process sends for itself, or for those that find it, renews once.
	asked = tokens(o)
	o.Service.Tell("POST", "/tokens/expire", nil, nil)
	sendsAtOnce(o, "alone", each)
	if n := tokens(o) - asked; n < 1 || n > each {
		t.Errorf("alone %d tokens were asked for by %d processes", n, each)
	}

	// Started together with the program, they find it, wait for it or are waited for.
	asked = tokens(o)
	o.Running = o.Begin("serve")
	sendsAtOnce(o, "starting", each)
	o.Answers()
	st := o.Until("all are known", func(s harness.Status) bool { return s.Packages.Total == 3*each })
	if !st.SignedIn || st.Outbox != (struct{ Pending, Unknown, Failed int }{}) {
		t.Errorf("at the end: %+v", st)
	}
	if n := tokens(o) - asked; n < 1 || n > each+1 {
		t.Errorf("with the program starting %d tokens were asked for by %d processes", n, each+1)
	}
}

// tokens is how often the service was asked for tokens.
func tokens(o *harness.Office) int { return len(o.Service.Requests("/connect/token")) }

func sendsAtOnce(o *harness.Office, how string, n int) {
	o.T.Helper()
	var all []*harness.Process
	for i := range n {
		all = append(all, o.Begin("send", harness.Sample(o.T, "Offer 2026-118"), "--name", fmt.Sprintf("%s %d", how, i), "--to", ana))
	}
	for i, p := range all {
		name := fmt.Sprintf("%s %d", how, i)
		if code := p.Wait(); code != 0 {
			o.T.Errorf("%s ended with %d: %s", name, code, p.Stderr)
			continue
		}
		if id := o.Service.Named(name).ID; strings.TrimSpace(p.Stdout.String()) != "Sent. Package "+id {
			o.T.Errorf("%s says %q, and is %s", name, p.Stdout, id)
		}
	}
	if made := len(o.Service.Packages()); made%n != 0 {
		o.T.Errorf("after %s the service has %d packages", how, made)
	}
}

// TestTwoStartsLeaveOne starts the program many times at once, on a data folder that is new and on one that is not.
func TestTwoStartsLeaveOne(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	for range 3 {
		const starts = 4
		ended := make(chan *harness.Process, starts)
		var all []*harness.Process
		for range starts {
			p := o.Begin("serve")
			all = append(all, p)
			go func() {
				<-p.Ended
				ended <- p
			}()
		}
		for range starts - 1 {
			p := <-ended
			if code := p.Wait(); code != 1 || !strings.Contains(p.Stderr.String(), "already running") {
				t.Errorf("a further start ended with %d: %s", code, p.Stderr)
			}
		}
		for _, p := range all {
			select {
			case <-p.Ended:
			default:
				o.Running = p
			}
		}
		o.Answers()
		o.Setup()
		if st := o.Status(); st.Issue("setup") != "" {
			t.Errorf("the one that is left was not set up: %+v", st.Health)
		}
		o.Stop()
	}
}
