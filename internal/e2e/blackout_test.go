//go:build linux

package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
	"countersign/internal/e2e/powercut"
)

// cutsQuick is how often the power fails in a quick run.
const cutsQuick = 18

// blackout is an office on a disk that forgets: data folder, key and documents. Its service is on another computer.
type blackout struct {
	*torture
	disk   *powercut.Disk
	home   string     // that was there before the program
	random *rand.Rand // of this round
	cuts   int
	signed []string            // ids of packages that everyone has signed
	served map[[32]byte]string // what the service serves of them
	asked  map[string]bool     // those it was asked for
}

// TestNothingIsLostWhenThePowerFails has the power fail while the program starts, sends, receives, saves and is set up.
// The disk loses what was not flushed, as chance decides. COUNTERSIGN_E2E_CUTS says how often, and that it must; the choices come from a seed
// that is printed, and COUNTERSIGN_E2E_SEED makes them again.
func TestNothingIsLostWhenThePowerFails(t *testing.T) {
	t.Parallel()
	cuts, asked := cutsQuick, os.Getenv("COUNTERSIGN_E2E_CUTS")
	if n, err := strconv.Atoi(asked); err == nil {
		cuts = n
	}
	if err := powercut.Available(); err != nil && asked == "" {
		t.Skipf("NOT RUN: the power cannot fail, for %v", err)
	} else if err != nil {
		t.Fatalf("the power cannot fail %s times: %v", asked, err)
	}
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("COUNTERSIGN_E2E_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("COUNTERSIGN_E2E_SEED=%d COUNTERSIGN_E2E_CUTS=%d", seed, cuts)
	t.Run("at the very first", func(t *testing.T) {
		t.Parallel()
		failsAtFirst(t, seed, cuts/3)
	})
	for i, key := range []string{"a file", "the keyring"} {
		t.Run("at work, key in "+key, func(t *testing.T) {
			t.Parallel()
			c := newBlackout(t, harness.UsualOffice(t, harness.NewDesktop(t)), rand.New(rand.NewPCG(seed, uint64(i+1))), key == "a file")
			c.Ready("--name-template", []string{"{package} - {document}", "{month}/{package}/{document}"}[i])
			c.Service.Tell("POST", "/downloads/pad", map[string]int{"bytes": 100_000}, nil)
			c.fail(c.Running)
			for n := 0; c.cuts < cuts/3; n++ {
				c.random = rand.New(rand.NewPCG(seed+uint64(n), uint64(i+1))) // whatever the rounds before took from theirs
				c.play(n)
			}
			c.Serve()
			c.settles()
			c.nothingIsMissing()
			c.Stop()
			c.leavesNothingBehind()
			t.Logf("%d power cuts", c.cuts)
		})
	}
}

// newBlackout puts an office on a disk of its own, in a home that was there before.
func newBlackout(t testing.TB, o *harness.Office, random *rand.Rand, keyFile bool) *blackout {
	t.Helper()
	c := &blackout{
		torture: &torture{Office: o, seen: map[string][32]byte{}}, disk: powercut.New(), random: random,
		served: map[[32]byte]string{}, asked: map[string]bool{},
	}
	dir := harness.ShortDir(t)
	if err := c.disk.Mount(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // before what lies there is removed
		if err := c.disk.Unmount(); err != nil {
			t.Error(err)
		}
	})
	c.home = filepath.Join(dir, "clerk")
	if err := os.MkdirAll(filepath.Join(c.home, "Documents"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.disk.Flush()
	o.Data, o.Folder = filepath.Join(c.home, ".config", "countersign"), filepath.Join(c.home, "Documents", "Signed")
	o.Global = []string{"--data", o.Data}
	if keyFile {
		o.Global = append(o.Global, "--key-file", filepath.Join(c.home, "keys", "office.key"))
	}
	return c
}

// steps is a number of requests to the disk before the power fails.
func (c *blackout) steps() int { return 1 + c.random.IntN([]int{10, 60, 300}[c.random.IntN(3)]) }

// fail cuts the power, ends what ran and looks at what the disk has kept.
func (c *blackout) fail(running ...*harness.Process) {
	c.T.Helper()
	c.kill(running...)
	if err := c.disk.Restore(c.random); err != nil {
		c.T.Fatal(err)
	}
	c.cuts++
	harness.Suffered.Add(harness.Cuts, 1)
	c.filesAreWhole()
	c.filesAreServed()
	c.nothingIsSetAside()
	c.stopsIfFailed()
}

// kill ends what runs; nothing happens on the disk any more.
func (c *blackout) kill(running ...*harness.Process) {
	c.T.Helper()
	c.disk.Cut()
	for _, p := range running {
		p.Signal(syscall.SIGKILL)
	}
	c.disk.LetGo()
	for _, p := range running {
		p.Kill()
	}
}

// isKilled has what runs end by a kill, and no power fail: what it did is there for the next one, and not flushed.
func (c *blackout) isKilled(running ...*harness.Process) {
	c.T.Helper()
	c.kill(running...)
	if err := c.disk.Resume(); err != nil {
		c.T.Fatal(err)
	}
	c.kills++
	harness.Suffered.Add(harness.Kills, 1)
}

// stopsIfFailed ends the test with the first loss: what follows from it says nothing more.
func (c *blackout) stopsIfFailed() {
	c.T.Helper()
	if c.T.Failed() {
		c.T.Fatalf("that was after %d power cuts", c.cuts)
	}
}

// nothingIsSetAside checks that no data file was found damaged.
func (c *blackout) nothingIsSetAside() {
	c.T.Helper()
	for name := range c.disk.Files("clerk") {
		if strings.Contains(name, ".damaged") || strings.Contains(name, ".lost") {
			c.loss("there is %q", name)
		}
	}
}

// isUnharmed checks that nothing of what is kept is damaged, missing or out of reach.
func (c *blackout) isUnharmed(s harness.Status) {
	c.T.Helper()
	for _, id := range []string{"setup", "keyring", "keyring-replaced", "secret", "signin", "data", "data-restored", "data-not-read", "records", "aside"} {
		if text := s.Issue(id); text != "" {
			c.loss("after the power came back: %s: %s", id, text)
		}
	}
}

// play works until the power fails, at the latest when the work is done.
func (c *blackout) play(n int) {
	c.T.Helper()
	name := fmt.Sprintf("Round %d", n)
	if c.random.IntN(4) == 0 {
		out := c.disk.CutAfter(c.steps())
		c.Running = c.Begin("serve")
		c.awaits(out, c.comesUp(out))
		c.T.Logf("%s: the power failed at the start", name)
		c.fail(c.Running)
		return
	}
	accepted := len(c.Front.Accepted())
	if c.random.IntN(4) == 0 {
		out := c.disk.CutAfter(c.steps())
		c.Running = c.Begin("serve")
		c.awaits(out, c.comesUp(out))
		c.isKilled(c.Running)
	}
	c.Serve()
	s, err := c.Ask()
	if err != nil || s.Events.Received < accepted || !s.SignedIn {
		c.loss("%s: after the power came back: %+v, %v; %d events were answered", name, s, err, accepted)
	}
	c.isUnharmed(s)
	if there := c.filesNamed(); there < s.Saves.Done {
		c.loss("%s: %d files were saved, %d are there", name, s.Saves.Done, there)
	}
	c.stopsIfFailed()
	c.isUnharmed(c.Registered())
	if n%25 == 24 {
		c.signEverything()
		c.catchesUp()
	}
	c.Service.Tell("POST", "/events/disturb", map[string]any{
		"duplicate": c.random.IntN(2), "reorder": c.random.IntN(2) == 0, "delay_ms": c.random.IntN(2) * 20,
	}, nil)
	c.work(name)
}

// comesUp is closed when the program that was just started answers, or cannot any more.
func (c *blackout) comesUp(out <-chan struct{}) <-chan struct{} {
	up, p := make(chan struct{}), c.Running
	go func() {
		defer close(up)
		for range int(harness.Patience / (10 * time.Millisecond)) {
			select {
			case <-out:
				return
			case <-p.Ended:
				return
			case <-time.After(10 * time.Millisecond):
			}
			if _, err := os.Lstat(filepath.Join(c.Data, "control.sock")); err == nil {
				return
			}
		}
	}()
	return up
}

// awaits waits for the end of the power, or for a little after the end of the work.
func (c *blackout) awaits(out, done <-chan struct{}) {
	little := time.Duration(c.random.IntN(150)) * time.Millisecond
	select {
	case <-out:
		return
	case <-done:
	}
	select {
	case <-out:
	case <-time.After(little):
	}
}

// work has several things done at the same time until the power fails, and compares what was answered.
func (c *blackout) work(name string) {
	c.T.Helper()
	if c.random.IntN(4) == 0 {
		c.Service.Tell("POST", "/tokens/expire", nil, nil)
	}
	open := c.unsigned()
	signs, sends, sets := c.random.IntN(4) > 0 && open != "", c.random.IntN(3) > 0, c.random.IntN(6) == 0
	if !signs && !sends && !sets {
		sends = true
	}
	steps := c.steps()
	out := c.disk.CutAfter(steps)
	running := []*harness.Process{c.Running}
	var send, set *harness.Process
	if sends {
		c.sent = append(c.sent, name)
		send = c.Begin("send", harness.Sample(c.T, "Offer 2026-118"), "--name", name, "--to", ana)
		running = append(running, send)
	}
	template := fmt.Sprintf("{package} %s/{document}", strings.ToLower(name))
	if sets {
		set = c.Begin("setup", "--name-template", template)
		set.In.Close()
		running = append(running, set)
	}
	signed := make(chan error, 1)
	if signs {
		c.signed = append(c.signed, open)
		go func() { signed <- c.Service.Try("POST", "/sign", map[string]string{"package_id": open}, nil) }()
	} else {
		signed <- nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, p := range running[1:] {
			<-p.Ended
		}
		if err := <-signed; err != nil {
			c.T.Error(err)
		}
	}()
	c.awaits(out, done)
	wasSet := set != nil && ended(set, 0)
	c.fail(running...)
	<-done
	if send != nil {
		c.judge(name, send)
	}
	if wasSet {
		c.isSet("name_template", template)
	}
	c.T.Logf("%s: the power failed after up to %d steps (signs %v, sends %v, sets %v)", name, steps, signs, sends, sets)
}

// ended reports whether a process has ended by itself with a code.
func ended(p *harness.Process, code int) bool {
	select {
	case <-p.Ended:
		return p.Cmd.ProcessState.ExitCode() == code
	default:
		return false
	}
}

// isSet checks that a setting that was answered is kept.
func (c *blackout) isSet(field, want string) {
	c.T.Helper()
	path := filepath.Join(c.T.TempDir(), fmt.Sprint(c.cuts))
	c.Must("setup", "--export", path)
	b, err := os.ReadFile(path + ".countersign")
	if err != nil {
		c.T.Fatal(err)
	}
	if !strings.Contains(string(b), fmt.Sprintf("%q: %q", field, want)) {
		c.loss("the setting %s %q is lost: %s", field, want, b)
	}
}

// unsigned is a package that not everyone has signed, "" for none.
func (c *blackout) unsigned() string {
	c.T.Helper()
	for _, p := range c.Service.Packages() {
		if !c.isSigned(p.ID) {
			return p.ID
		}
	}
	return ""
}

func (c *blackout) isSigned(id string) bool {
	for _, s := range c.signed {
		if s == id {
			return true
		}
	}
	return false
}

func (c *blackout) signEverything() {
	c.T.Helper()
	for id := c.unsigned(); id != ""; id = c.unsigned() {
		c.Service.SignAll(id)
		c.signed = append(c.signed, id)
	}
}

// filesAreServed checks that what has a final name is, byte for byte, what the service serves.
func (c *blackout) filesAreServed() {
	c.T.Helper()
	token := ""
	for name, b := range c.disk.Files("clerk/Documents/Signed") {
		sum := sha256.Sum256(b)
		if onItsWay(name) || c.served[sum] != "" {
			continue
		}
		if token == "" {
			token = c.Service.Token()
			c.fetch(token)
		}
		if c.served[sum] == "" {
			c.loss("the service serves no file like %q, of %d bytes", name, len(b))
		}
	}
}

// filesNamed is how many files have their final names.
func (c *blackout) filesNamed() (n int) {
	for name := range c.disk.Files("clerk/Documents/Signed") {
		if !onItsWay(name) {
			n++
		}
	}
	return n
}

// fetch asks the service for what it serves of the packages that everyone has signed since it was asked last.
func (c *blackout) fetch(token string) {
	c.T.Helper()
	for _, p := range c.Service.Packages() {
		if c.asked[p.ID] || !c.isSigned(p.ID) {
			continue
		}
		c.asked[p.ID] = true
		paths := []string{"/masterfiles/" + p.ID + "/pdf/download"}
		for _, d := range p.Documents {
			of := "/packages/" + p.ID + "/documents/" + d.ID + "/pdf/"
			paths = append(paths, of+"executed/download", of+"cac/download")
		}
		for _, path := range paths {
			c.served[sha256.Sum256(c.Service.Download(token, path))] = path
		}
	}
}

// failsAtFirst has the power fail in the first minutes of one new office after another, at least so often.
func failsAtFirst(t *testing.T, seed uint64, cuts int) {
	desk := harness.NewDesktop(t)
	usual := harness.UsualOffice(t, desk)
	made := 0
	for n := 0; made < cuts; n++ {
		t.Run(fmt.Sprintf("office %d", n), func(t *testing.T) { // which ends all that is its own
			o := harness.NewOffice(t, desk, usual.Service, usual.Front)
			c := newBlackout(t, o, rand.New(rand.NewPCG(seed+uint64(n), 0)), n%2 == 0)
			c.failsAtSetup()
			c.failsAtLogin()
			c.failsAtStart()
			made += c.cuts
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d power cuts", made)
}

// beginsSetup begins to set the office up.
func (c *blackout) beginsSetup() *harness.Process {
	c.T.Helper()
	p := c.Begin("setup", c.SetupFlags()...)
	p.In.Close()
	return p
}

// failsAtSetup has the power fail while the office is set up for the first time.
func (c *blackout) failsAtSetup() {
	c.T.Helper()
	if c.random.IntN(2) == 0 {
		out := c.disk.CutAfter(c.steps())
		p := c.beginsSetup()
		c.awaits(out, p.Ended)
		c.isKilled(p)
	}
	steps := c.steps()
	out := c.disk.CutAfter(steps)
	p := c.beginsSetup()
	c.awaits(out, p.Ended)
	answered := ended(p, 0)
	c.fail(p)
	c.T.Logf("the power failed after up to %d steps of the setup, which had answered: %v", steps, answered)
	if answered {
		c.isSet("client_id", "office-client")
		return
	}
	c.Setup()
}

// failsAtLogin has the power fail while somebody signs in for the first time.
func (c *blackout) failsAtLogin() {
	c.T.Helper()
	ctx, cancel := context.WithCancel(c.T.Context())
	defer cancel()
	steps := c.steps()
	out := c.disk.CutAfter(steps)
	p := c.Begin("login", "--no-browser")
	walked := make(chan struct{})
	go func() {
		defer close(walked)
		if address, ok := p.Said("http", out); ok {
			harness.NewVisitor(c.Front.Authority).SignIn(ctx, "http"+address, harness.Olivia, true) // whose end is p's
		}
	}()
	c.awaits(out, p.Ended)
	answered := ended(p, 0)
	c.fail(p)
	cancel()
	<-walked
	c.T.Logf("the power failed after up to %d steps of the sign-in, which had answered: %v", steps, answered)
	s := c.Status()
	if answered {
		c.isUnharmed(s)
		c.stopsIfFailed()
	}
	if !s.SignedIn {
		c.MustLogin()
	}
}

// failsAtStart has the power fail while the program runs for the first time.
func (c *blackout) failsAtStart() {
	c.T.Helper()
	steps := c.steps()
	out := c.disk.CutAfter(steps)
	c.Running = c.Begin("serve")
	c.awaits(out, c.comesUp(out))
	c.fail(c.Running)
	c.T.Logf("the power failed after up to %d steps of the first start", steps)
	c.Serve()
	c.isUnharmed(c.Registered())
	c.fail(c.Running)
	c.Serve()
	c.isUnharmed(c.Registered())
	c.Stop()
}
