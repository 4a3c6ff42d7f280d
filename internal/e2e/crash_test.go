//go:build linux

package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
	"countersign/internal/e2e/powercut"
	"countersign/internal/record"
	"countersign/internal/store"
)

// interruptionsQuick is how often each of three series interrupts the program in a quick run, interruptionsLong in a long
// one.
const (
	interruptionsQuick = 8
	interruptionsLong  = 110
)

// crashTest is an office whose program is interrupted again and again: it is killed, or the power fails. Data folder, key
// and documents are on a disk that forgets unflushed data; the service is on another computer.
type crashTest struct {
	*harness.Office
	disk         *powercut.Disk // nil if none can be mounted: then the program is only killed
	home         string         // it existed before the program
	random       *rand.Rand     // of this round
	interrupted  int
	seen         map[string][32]byte // every file ever found under its final name
	served       map[[32]byte]string // hashes of what the service serves for executed packages
	asked        map[string]bool     // packages whose files were fetched from it
	sent, denied []string            // names of packages to be sent; and those for which send suggested sending again
}

// TestNothingIsLostOrDoneTwice kills the program and cuts the power while it is being set up, signs in, starts, sends,
// receives and saves, with a misbehaving service and late, duplicate and reordered events. COUNTERSIGN_E2E_CUTS sets the
// number of interruptions and requires power cuts, COUNTERSIGN_E2E_TORTURE the minimum duration. The choices come from a
// seed that is printed; COUNTERSIGN_E2E_SEED repeats them. What a choice hits also depends on the machine.
func TestNothingIsLostOrDoneTwice(t *testing.T) {
	t.Parallel()
	least := interruptionsQuick
	lasting, err := time.ParseDuration(os.Getenv(harness.TortureTime))
	if err == nil {
		least = interruptionsLong
	}
	cuts := os.Getenv("COUNTERSIGN_E2E_CUTS")
	if n, err := strconv.Atoi(cuts); err == nil {
		least = n / 3
	}
	err = powercut.Available()
	if err != nil && cuts != "" {
		t.Fatalf("the power cannot fail %s times: %v", cuts, err)
	}
	forgets := err == nil
	if !forgets {
		t.Logf("NOT RUN: the power cannot fail, for %v; the program is killed instead", err)
	}
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("COUNTERSIGN_E2E_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("COUNTERSIGN_E2E_SEED=%d COUNTERSIGN_E2E_CUTS=%d", seed, 3*least)
	began := time.Now()
	t.Run("at the very first", func(t *testing.T) {
		t.Parallel()
		interruptedAtFirst(t, seed, least, forgets)
	})
	for i, key := range []string{"a file", "the keyring"} {
		t.Run("at work, key in "+key, func(t *testing.T) {
			t.Parallel()
			c := newCrashTest(t, harness.UsualOffice(t, harness.NewDesktop(t)), rand.New(rand.NewPCG(seed, uint64(i+1))), key == "a file", forgets)
			c.Ready("--name-template", []string{"{package} - {document}", "{month}/{package}/{document}"}[i])
			c.Service.Tell("POST", "/downloads/pad", map[string]int{"bytes": 100_000}, nil)
			c.interrupt(c.Running)
			for n := 0; c.interrupted < least || time.Since(began) < lasting; n++ {
				c.random = rand.New(rand.NewPCG(seed+uint64(n), uint64(i+1))) // independent of earlier rounds
				c.play(n)
			}
			c.Serve()
			c.settles()
			c.nothingIsMissing()
			c.Stop()
			c.leavesNothingBehind()
			c.recordVerifies()
		})
	}
}

// recordVerifies computes the head of the record from its lines after all those interruptions, and looks for duplicate
// events.
func (c *crashTest) recordVerifies() {
	c.T.Helper()
	s, err := store.Open(filepath.Join(c.Data, "state.db"), store.Options{})
	if err != nil {
		c.T.Fatal(err)
	}
	defer s.Close()
	err = s.View(func(tx *store.Tx) error {
		var tree record.Tree
		lines := map[string]int{}
		err := tx.Log().From(0, func(_ int64, line []byte) bool {
			var f record.Fact
			if err := json.Unmarshal(line, &f); err != nil {
				c.T.Errorf("the record cannot be read: %v: %s", err, line)
			}
			if f.Event != nil {
				lines[f.Event.ID]++
			}
			tree.Add(line)
			return true
		})
		head, failed := tx.Log().Head()
		if tree.Head() != head {
			c.T.Errorf("the record of %d lines does not verify", head.N)
		}
		for id, n := range lines {
			if n > 1 {
				c.T.Errorf("event %s is in the record %d times", id, n)
			}
		}
		c.T.Logf("the record has %d lines, %d of them events", head.N, len(lines))
		return errors.Join(err, failed)
	})
	if err != nil {
		c.T.Error(err)
	}
}

// newCrashTest puts an office on a disk of its own, in a home that existed before.
func newCrashTest(t testing.TB, o *harness.Office, random *rand.Rand, keyFile, forgets bool) *crashTest {
	t.Helper()
	c := &crashTest{Office: o, random: random, seen: map[string][32]byte{}, served: map[[32]byte]string{}, asked: map[string]bool{}}
	dir := harness.ShortDir(t)
	if forgets {
		c.disk = powercut.New()
		harness.Must(t, c.disk.Mount(dir))
		t.Cleanup(func() { // before the contents are removed
			if err := c.disk.Unmount(); err != nil {
				t.Error(err)
			}
		})
	}
	c.home = filepath.Join(dir, "clerk")
	harness.Must(t, os.MkdirAll(filepath.Join(c.home, "Documents"), 0o755))
	if forgets {
		c.disk.Flush()
	}
	o.Data, o.Folder = filepath.Join(c.home, ".config", "countersign"), filepath.Join(c.home, "Documents", "Signed")
	o.Global = []string{"--data", o.Data}
	if keyFile {
		o.Global = append(o.Global, "--key-file", filepath.Join(c.home, "keys", "office.key"))
	}
	return c
}

// soon returns a channel that is closed when the program is to be interrupted: after some disk requests, or some time.
func (c *crashTest) soon() <-chan struct{} {
	size := c.random.IntN(3)
	steps, while := 1+c.random.IntN([]int{10, 60, 300}[size]), time.Duration(c.random.IntN([]int{50, 400, 3000}[size]))*time.Millisecond
	if c.disk != nil && c.random.IntN(2) == 0 {
		return c.disk.CutAfter(steps)
	}
	out := make(chan struct{})
	time.AfterFunc(while, func() { close(out) })
	return out
}

// interrupt ends the running processes and checks what the disk has kept. Every third time the power stays on: the next
// process sees everything, but unflushed.
func (c *crashTest) interrupt(running ...*harness.Process) {
	c.T.Helper()
	killed := c.disk == nil || c.random.IntN(3) == 0
	if c.disk != nil {
		c.disk.Cut()
	}
	for _, p := range running {
		p.Signal(syscall.SIGKILL)
	}
	if c.disk != nil {
		c.disk.LetGo()
	}
	for _, p := range running {
		p.Kill()
	}
	switch {
	case !killed:
		harness.Must(c.T, c.disk.Restore(c.random))
		harness.Suffered.Add(harness.Cuts, 1)
	case c.disk != nil:
		harness.Must(c.T, c.disk.Resume())
	}
	if killed {
		harness.Suffered.Add(harness.Kills, 1)
	}
	c.interrupted++
	c.behaves()
	c.filesAreServed()
	c.nothingIsSetAside()
	c.stopsIfFailed()
}

// stopsIfFailed ends the test at the first loss: later failures would only be consequences.
func (c *crashTest) stopsIfFailed() {
	c.T.Helper()
	if c.T.Failed() {
		c.T.Fatalf("that was after %d interruptions", c.interrupted)
	}
}

// misbehaves makes the service misbehave temporarily, in ways that an office must cope with.
func (c *crashTest) misbehaves() {
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
	// A nonsensical answer to a renewal rightly ends the sign-in, and not every call may be missing.
	paths := []struct {
		path  string
		kinds int
	}{{"/connect/token", 4}, {"/events/endpoints/set", 5}, {"/files/upload", 7}, {"/packages/add", 5}, {"*/status", 7}, {"*/download", 8}}
	for range c.random.IntN(4) {
		p := paths[c.random.IntN(len(paths))]
		fault := map[string]any{"path": p.path, "times": 1 + c.random.IntN(2), "skip": c.random.IntN(2)}
		maps.Copy(fault, kinds[c.random.IntN(p.kinds)])
		c.Service.Misbehave(fault)
	}
}

// behaves ends the misbehaviour, and counts it.
func (c *crashTest) behaves() {
	c.T.Helper()
	var list []struct{ Applied int }
	c.Service.Tell("GET", "/faults", nil, &list)
	for _, f := range list {
		harness.Suffered.Add(harness.Faults, f.Applied)
	}
	c.Service.Tell("DELETE", "/faults", nil, nil)
}

// play works until the program is interrupted, or until the work is done.
func (c *crashTest) play(n int) {
	c.T.Helper()
	name := fmt.Sprintf("Round %d", n)
	for c.random.IntN(3) == 0 {
		c.misbehaves()
		c.startsInterrupted()
	}
	accepted := len(c.Front.Accepted())
	c.misbehaves()
	c.Serve()
	s, err := c.Ask()
	if err != nil || s.Events.Received < accepted || !s.SignedIn {
		c.loss("%s: after the interruption: %+v, %v; %d events were answered", name, s, err, accepted)
	}
	c.isUnharmed(s)
	if there := len(c.filesNamed()); there < s.Saves.Done {
		c.loss("%s: %d files were saved, %d are there", name, s.Saves.Done, there)
	}
	c.stopsIfFailed()
	c.behaves()
	c.isUnharmed(c.Registered())
	if n%25 == 24 {
		c.signEverything()
		c.catchesUp()
	}
	c.Service.Tell("POST", "/events/disturb", map[string]any{
		"duplicate": c.random.IntN(3), "reorder": c.random.IntN(2) == 0, "delay_ms": c.random.IntN(3) * 20,
	}, nil)
	if all := c.Service.Events(); len(all) > 0 {
		c.Service.Tell("POST", "/events/redeliver", map[string]string{"event_id": all[c.random.IntN(len(all))].ID}, nil)
	}
	c.work(name)
}

// startsInterrupted starts the program and interrupts it, soon after it answers at the latest.
func (c *crashTest) startsInterrupted() {
	c.T.Helper()
	out := c.soon()
	c.Running = c.Begin("serve")
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
	c.awaits(out, up)
	c.interrupt(c.Running)
}

// awaits waits for the interruption, or until shortly after the end of the work.
func (c *crashTest) awaits(out, done <-chan struct{}) {
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

// work does several things at once until the program is interrupted, and checks the answers.
func (c *crashTest) work(name string) {
	c.T.Helper()
	if c.random.IntN(4) == 0 {
		c.Service.Tell("POST", "/tokens/expire", nil, nil)
	}
	open := c.unsigned()
	signs, sends, sets := c.random.IntN(4) > 0 && open != "", c.random.IntN(3) > 0, c.random.IntN(6) == 0
	if !signs && !sends && !sets {
		sends = true
	}
	var running []*harness.Process
	if sends && c.random.IntN(4) == 0 { // sometimes without a running program
		c.Stop()
	} else {
		running = append(running, c.Running)
	}
	c.misbehaves()
	out := c.soon()
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
		go func() { signed <- c.Service.Try("POST", "/sign", map[string]string{"package_id": open}, nil) }()
	} else {
		signed <- nil
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, p := range running {
			if p != c.Running {
				<-p.Ended
			}
		}
		if err := <-signed; err != nil {
			c.T.Error(err)
		}
	}()
	c.awaits(out, done)
	wasSet := set != nil && ended(set, 0)
	c.interrupt(running...)
	<-done
	if send != nil {
		c.judge(name, send)
	}
	if wasSet {
		c.isSet("name_template", template)
	}
	c.T.Logf("%s: interrupted (signs %v, sends %v, sets %v)", name, signs, sends, sets)
}

// ended reports whether a process has ended by itself with this exit code.
func ended(p *harness.Process, code int) bool {
	select {
	case <-p.Ended:
		return p.Cmd.ProcessState.ExitCode() == code
	default:
		return false
	}
}

// judge records what a send said. Whatever it was, it must be true and must not lead anybody to send the package twice.
func (c *crashTest) judge(name string, send *harness.Process) {
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

// isSet checks that a setting that was confirmed is kept.
func (c *crashTest) isSet(field, want string) {
	c.T.Helper()
	path := filepath.Join(c.T.TempDir(), fmt.Sprint(c.interrupted))
	c.Must("setup", "--export", path)
	b, err := os.ReadFile(path + ".countersign")
	harness.Must(c.T, err)
	if !strings.Contains(string(b), fmt.Sprintf("%q: %q", field, want)) {
		c.loss("the setting %s %q is lost: %s", field, want, b)
	}
}

// unsigned is a package that not everyone has signed, "" if there is none.
func (c *crashTest) unsigned() string {
	c.T.Helper()
	for _, p := range c.Service.Packages() {
		if p.State != "executed" {
			return p.ID
		}
	}
	return ""
}

func (c *crashTest) signEverything() {
	c.T.Helper()
	for id := c.unsigned(); id != ""; id = c.unsigned() {
		c.Service.SignAll(id)
	}
}

// onItsWay reports whether a file does not have its final name yet.
func onItsWay(name string) bool { return strings.HasPrefix(filepath.Base(name), ".countersign-") }

// filesNamed are the files with their final names.
func (c *crashTest) filesNamed() []string {
	if _, err := os.Stat(c.Folder); err != nil {
		return nil
	}
	return slices.DeleteFunc(c.Files(), onItsWay)
}

// filesAreServed checks that every file with a final name is byte for byte what the service serves, and does not change.
func (c *crashTest) filesAreServed() {
	c.T.Helper()
	for _, name := range c.filesNamed() {
		b, err := os.ReadFile(filepath.Join(c.Folder, name))
		harness.Must(c.T, err)
		sum := sha256.Sum256(b)
		if before, known := c.seen[name]; known && before != sum {
			c.loss("%q was overwritten", name)
		}
		c.seen[name] = sum
		if c.served[sum] == "" {
			c.fetch()
		}
		if c.served[sum] == "" {
			c.loss("the service serves no file like %q, of %d bytes", name, len(b))
		}
	}
}

// fetch downloads the files of packages completed since the last call.
func (c *crashTest) fetch() {
	c.T.Helper()
	token := ""
	for _, p := range c.Service.Packages() {
		if c.asked[p.ID] || p.State != "executed" {
			continue
		}
		if token == "" {
			token = c.Service.Token()
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

// nothingIsSetAside checks that no data file was found damaged.
func (c *crashTest) nothingIsSetAside() {
	c.T.Helper()
	harness.Must(c.T, filepath.WalkDir(c.home, func(path string, _ fs.DirEntry, err error) error {
		if strings.Contains(path, ".damaged") || strings.Contains(path, ".lost") {
			c.loss("there is %q", path)
		}
		return err
	}))
}

// isUnharmed checks that none of the stored data is damaged, missing or unreachable.
func (c *crashTest) isUnharmed(s harness.Status) {
	c.T.Helper()
	for _, id := range []string{"setup", "keyring", "keyring-replaced", "secret", "signin", "data", "data-restored", "data-not-read", "records", "aside"} {
		if text := s.Issue(id); text != "" {
			c.loss("after the interruption: %s: %s", id, text)
		}
	}
}

// settling is how long the program may take to catch up at the end: it may have been told to wait.
const settling = 3 * time.Minute

// settles lets everyone sign, waits until the program has caught up, and makes it do one more thing, undisturbed.
func (c *crashTest) settles() {
	c.T.Helper()
	c.Service.Tell("POST", "/events/disturb", map[string]any{}, nil)
	c.UntilWithin(settling, "nothing waits in the outbox", func(s harness.Status) bool { return s.Outbox.Pending == 0 })
	c.signEverything()
	c.catchesUp()
	c.endsInPeace()
}

// endsInPeace sends a package without disturbances, which must be announced by name. A summary of earlier events includes
// whatever is signed before it is shown, and names only a few packages: then it tries with the next package.
func (c *crashTest) endsInPeace() {
	c.T.Helper()
	for n := range 3 {
		name := fmt.Sprintf("In peace %d", n)
		before := len(c.Desk.Notes.List())
		c.sent = append(c.sent, name)
		c.Must("send", "--name", name, "--to", ana, harness.Sample(c.T, "Offer 2026-118"))
		c.Service.SignAll(c.Service.Named(name).ID)
		c.catchesUp()
		key, told, summary := "Everyone has signed "+quoted(name)+".", false, false
		harness.Eventually(c.T, "told: "+key, func() bool {
			notes := c.Desk.Notes.List()[before:]
			// If the files come long before or after the signature, the signature has its own notification.
			alone := slices.ContainsFunc(notes, func(n harness.Note) bool { return n.Title == "Ana Ruiz signed "+quoted(name)+"." })
			for _, note := range notes {
				told = told || note.Title == key && (alone || strings.HasPrefix(note.Body, "Ana Ruiz signed. ")) || strings.Contains(note.Body, key) ||
					alone && note.Title == quoted(name)+" is saved."
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

// catchesUp waits until the program has recorded everything that happened at the service.
func (c *crashTest) catchesUp() {
	c.T.Helper()
	n := len(c.Service.Packages())
	// The service waits ever longer before it retries failed events, so redeliver them now.
	for _, e := range c.Service.Events() {
		if e.Delivered == nil {
			c.Service.Tell("POST", "/events/redeliver", map[string]string{"event_id": e.ID}, nil)
		}
	}
	c.UntilWithin(settling, "every event is delivered and dealt with", func(s harness.Status) bool { return c.Service.AllDelivered() && s.Events.Pending == 0 })
	c.UntilWithin(settling, "every package is saved", func(s harness.Status) bool { return s.Packages.Saved == n && s.Saves.Pending == 0 })
}

// nothingIsMissing compares what the program has with what the service and the proxy know.
func (c *crashTest) nothingIsMissing() {
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
	// A draft may only stay unknown if there is no package for it.
	missing := 0
	for _, name := range c.sent {
		if byName[name] == 0 {
			missing++
		}
	}
	if s.Outbox.Unknown > missing {
		c.loss("%d drafts are unknown, %d never became packages", s.Outbox.Unknown, missing)
	}
	for _, name := range c.denied {
		if byName[name] != 0 {
			c.loss("%q was sent, though send said that it could be tried again", name)
		}
	}
	savedAsServed(c.Office, packages...)
	c.filesAreServed()
	c.toldAtMostOnce()
	harness.Suffered.Add(harness.Events, len(accepted))
	harness.Suffered.Add(harness.Repeats, came-len(accepted))
	harness.Suffered.Add(harness.PackagesMade, len(packages))
	harness.Suffered.Add(harness.FilesSaved, len(c.Files()))
	c.T.Logf("%d interruptions, %d packages, %d files, %d events and %d copies of them",
		c.interrupted, len(packages), len(c.Files()), len(accepted), came-len(accepted))
}

// toldAtMostOnce checks the notifications: none is repeated, not even in a summary.
func (c *crashTest) toldAtMostOnce() {
	c.T.Helper()
	told, summaries := map[string]int{}, ""
	for _, n := range c.Desk.Notes.List() {
		if strings.Contains(n.Title, "packages changed") {
			summaries += n.Body
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
		if document == "" { // a summary names no documents, so it cannot be attributed to one of several
			times += strings.Count(summaries, title)
		}
		if times > 1 {
			c.loss("told %d times: %s", times, key)
		}
	}
}

// leavesNothingBehind checks the folders after a clean end: no temporary file, no socket.
func (c *crashTest) leavesNothingBehind() {
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

// loss fails the test and counts.
func (c *crashTest) loss(format string, args ...any) {
	c.T.Helper()
	harness.Suffered.Add(harness.Losses, 1)
	c.T.Errorf(format, args...)
}

// interruptedAtFirst interrupts the first minutes of new offices, at least that often.
func interruptedAtFirst(t *testing.T, seed uint64, least int, forgets bool) {
	desk := harness.NewDesktop(t)
	usual := harness.UsualOffice(t, desk)
	made := 0
	for n := 0; made < least; n++ {
		t.Run(fmt.Sprintf("office %d", n), func(t *testing.T) { // a subtest, which ends everything it started
			o := harness.NewOffice(t, desk, usual.Service, usual.Front)
			c := newCrashTest(t, o, rand.New(rand.NewPCG(seed+uint64(n), 0)), n%2 == 0, forgets)
			c.setsUpInterrupted()
			c.signsInInterrupted()
			c.startsInterrupted()
			c.Serve()
			c.isUnharmed(c.Registered())
			c.interrupt(c.Running)
			c.Serve()
			c.isUnharmed(c.Registered())
			c.Stop()
			made += c.interrupted
		})
		if t.Failed() {
			return
		}
	}
}

// setsUpInterrupted interrupts the first set-up, perhaps several times.
func (c *crashTest) setsUpInterrupted() {
	c.T.Helper()
	for {
		out := c.soon()
		p := c.Begin("setup", c.SetupFlags()...)
		p.In.Close()
		c.awaits(out, p.Ended)
		answered := ended(p, 0)
		c.interrupt(p)
		if answered {
			c.isSet("client_id", "office-client")
			return
		}
		if c.random.IntN(2) == 0 {
			c.Setup()
			return
		}
	}
}

// signsInInterrupted interrupts the first sign-in.
func (c *crashTest) signsInInterrupted() {
	c.T.Helper()
	ctx, cancel := context.WithCancel(c.T.Context())
	defer cancel()
	out := c.soon()
	p := c.Begin("login", "--no-browser")
	walked := make(chan struct{})
	go func() {
		defer close(walked)
		if address, ok := p.Said("http", out); ok {
			harness.NewVisitor(c.Front.Authority).SignIn(ctx, "http"+address, harness.Olivia, true) // p reports how it ends
		}
	}()
	c.awaits(out, p.Ended)
	answered := ended(p, 0)
	c.interrupt(p)
	cancel()
	<-walked
	s := c.Status()
	if answered {
		c.isUnharmed(s)
		c.stopsIfFailed()
	}
	if !s.SignedIn {
		c.MustLogin()
	}
}
