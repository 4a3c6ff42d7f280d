//go:build linux

package e2e

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// crashRounds is how often the program is killed.
const crashRounds = 9

// crash is an office whose program is killed again and again.
type crash struct {
	*office
	random *rand.Rand
	seen   map[string][32]byte // every file that was ever found under its final name
}

// TestNothingIsLostOrDoneTwiceWhenTheProgramIsKilled kills the program while it sends, receives and saves. The moments
// come from a seed that is printed; COUNTERSIGN_E2E_SEED plays them again, as far as a busy machine lets it.
func TestNothingIsLostOrDoneTwiceWhenTheProgramIsKilled(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	if s, err := strconv.ParseUint(os.Getenv("COUNTERSIGN_E2E_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("COUNTERSIGN_E2E_SEED=%d", seed)
	desk := newDesktop(t)
	c := &crash{office: usualOffice(t, desk), random: rand.New(rand.NewPCG(seed, 0)), seen: map[string][32]byte{}}
	s := c.service
	c.setup()
	c.serve()
	c.mustLogin()
	c.registered()
	// Everything takes a little longer, so that there is something to be killed in.
	s.tell("POST", "/downloads/pad", map[string]int{"bytes": 2 << 20}, nil)
	for path, ms := range map[string]int{"/files/upload": 40, "/packages/add": 40, "*/download": 40} {
		s.tell("POST", "/faults", map[string]any{"path": path, "delay_ms": ms}, nil)
	}

	phases := []struct {
		name string
		play func(name string)
	}{{"sending", c.whileSending}, {"signing", c.whileSigning}, {"saving", c.whileSaving}}
	for round := range crashRounds {
		phase := phases[round%len(phases)]
		name := fmt.Sprintf("Round %d %s", round, phase.name)
		phase.play(name)
		c.filesAreWhole()
		c.serve()
		c.registered()
	}
	c.settles()
	c.nothingIsMissing()
}

// killSoon kills the program at a moment within limit: the wait is the experiment.
func (c *crash) killSoon(limit time.Duration) {
	<-time.After(time.Duration(c.random.Int64N(int64(limit))))
	c.running.kill()
	whole, begun := 0, 0
	if _, err := os.Stat(c.folder); err == nil {
		for _, name := range c.files() {
			if onItsWay(name) {
				begun++
			} else {
				whole++
			}
		}
	}
	c.t.Logf("killed with %d files whole and %d begun, %d events answered", whole, begun, len(c.front.accepted()))
}

// onItsWay reports whether a file has not got its final name yet.
func onItsWay(name string) bool { return strings.HasPrefix(filepath.Base(name), ".countersign-") }

func (c *crash) whileSending(name string) {
	send := c.begin("send", sample(c.t, "Offer 2026-118"), "--name", name, "--to", "Ana Ruiz <ana.ruiz@example.com>")
	c.killSoon(250 * time.Millisecond)
	code := send.wait()
	c.t.Logf("send ended with %d: %s", code, send.stderr)
	if code == 0 {
		c.service.named(name)
	} else if said := send.stderr.String(); said == "" || strings.Contains(strings.TrimSpace(said), "\n") || strings.Contains(said, "try again") {
		c.t.Errorf("send says %q, want one line that leads nobody to send it twice", said)
	}
}

func (c *crash) whileSigning(name string) {
	c.must("send", sample(c.t, "Offer 2026-118"), "--name", name, "--to", "Ana Ruiz <ana.ruiz@example.com>", "--to", "Jan Weber <jan.weber@example.com>")
	id := c.service.named(name).ID
	signed := make(chan error, 1)
	go func() { signed <- c.service.try("POST", "/sign", map[string]string{"package_id": id}, nil) }()
	c.killSoon(150 * time.Millisecond)
	if err := <-signed; err != nil {
		c.t.Error(err)
	}
}

func (c *crash) whileSaving(name string) {
	c.must("send", sample(c.t, "Lease Sonnenweg 4"), sample(c.t, "Mandate Keller"), "--name", name, "--to", "Ana Ruiz <ana.ruiz@example.com>")
	c.service.signAll(c.service.named(name).ID)
	c.killSoon(300 * time.Millisecond)
}

// filesAreWhole checks, with the program dead, that whatever has its final name is complete and stays as it is.
func (c *crash) filesAreWhole() {
	c.t.Helper()
	if _, err := os.Stat(c.folder); err != nil {
		return
	}
	for _, name := range c.files() {
		if onItsWay(name) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(c.folder, name))
		if err != nil {
			c.t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if before, known := c.seen[name]; known && before != sum {
			c.t.Errorf("%q was overwritten", name)
		}
		c.seen[name] = sum
		if !strings.HasPrefix(string(b), "%PDF-") || !strings.Contains(string(b[max(0, len(b)-1024):]), "%%EOF") {
			c.t.Errorf("%q is not whole: %d bytes", name, len(b))
		}
	}
}

// settles lets everyone sign and waits until the program has caught up.
func (c *crash) settles() {
	c.t.Helper()
	c.until("nothing waits in the outbox", func(s status) bool { return s.Outbox.Pending == 0 })
	for _, p := range c.service.packages() {
		c.service.signAll(p.ID)
	}
	c.must("send", sample(c.t, "Offer 2026-118"), "--name", "In peace", "--to", "Ana Ruiz <ana.ruiz@example.com>")
	c.service.signAll(c.service.named("In peace").ID)
	n := len(c.service.packages())
	c.until("every package is saved", func(s status) bool { return s.Packages.Saved == n && s.Saves.Pending == 0 })
	eventually(c.t, "every event is delivered", c.service.allDelivered)
	c.until("every event is dealt with", func(s status) bool { return s.Events.Pending == 0 })
}

// nothingIsMissing compares what the program has with what the service and the proxy know.
func (c *crash) nothingIsMissing() {
	c.t.Helper()
	packages := c.service.packages()
	byName := map[string]int{}
	for _, p := range packages {
		if byName[p.Name]++; byName[p.Name] > 1 {
			c.t.Errorf("%q was sent %d times", p.Name, byName[p.Name])
		}
	}
	s := c.status()
	if accepted := len(c.front.accepted()); s.Events.Received != accepted {
		c.t.Errorf("%d events were answered 2xx, %d are stored", accepted, s.Events.Received)
	}
	if s.Events.Problems != 0 || s.Saves.Failed != 0 || s.Outbox.Failed != 0 || s.Packages.Total != len(packages) {
		c.t.Errorf("at the end: %+v; the service has %d packages", s, len(packages))
	}
	// A draft may stay unknown only when there is no package of it.
	if missing := c.neverSent(byName); s.Outbox.Unknown > missing {
		c.t.Errorf("%d drafts are unknown, %d never became packages", s.Outbox.Unknown, missing)
	}
	c.savedAsServed(packages...)
	c.filesAreWhole()

	told := map[string]int{}
	for _, n := range c.desk.notes.list() {
		key := n.Title
		if document, _, ok := strings.Cut(n.Body, ". "); ok && strings.HasPrefix(document, "Document: ") {
			key += "|" + document
		}
		if told[key]++; told[key] > 1 {
			c.t.Errorf("told %d times: %s", told[key], key)
		}
	}
	for _, key := range []string{"Ana Ruiz signed " + quoted("In peace") + ".", quoted("In peace") + " is signed by everyone."} {
		eventually(c.t, "told: "+key, func() bool {
			return slices.ContainsFunc(c.desk.notes.list(), func(n note) bool { return n.Title == key })
		})
	}
}

// neverSent is how many rounds have no package at the service.
func (c *crash) neverSent(byName map[string]int) (n int) {
	for round := 0; round < crashRounds; round += 3 {
		if byName[fmt.Sprintf("Round %d sending", round)] == 0 {
			n++
		}
	}
	return n
}
