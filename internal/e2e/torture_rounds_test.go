//go:build linux

package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ana signs everything that the tortured offices send.
const ana = "Ana Ruiz <ana.ruiz@example.com>"

// play plays one round: the program works when it begins, and works again when it ends.
func (c *torture) play(n int, how choice) {
	c.t.Helper()
	name := fmt.Sprintf("Round %d %s", n, how.phase)
	prepared := c.prepare(name, how.phase)
	for _, f := range how.faults {
		c.service.misbehave(f)
	}
	c.service.tell("POST", "/events/disturb", how.travel, nil)
	if all := c.service.events(); len(all) > 0 {
		c.service.tell("POST", "/events/redeliver", map[string]string{"event_id": all[how.again%len(all)].ID}, nil)
	}
	switch how.phase {
	case "sending", "renewing":
		c.whileSending(name, how.after, c.running)
	case "signing":
		c.whileSigning(prepared, how.after)
	case "saving":
		c.service.signAll(prepared.ID)
		c.killAfter(how.after, c.running)
	case "starting":
		c.killAfter(0, c.running)
		c.killAfter(how.after, c.begin("serve"))
	case "alone":
		c.killAfter(0, c.running)
		c.whileSending(name, how.after, nil)
	}
	c.filesAreWhole()
	c.serve()
	c.countFaults()
	c.service.tell("DELETE", "/faults", nil, nil)
	c.registered()
	c.t.Logf("%s: killed after %v with %d faults", name, how.after.Round(time.Millisecond), len(how.faults))
}

// prepare brings about, in peace, what a phase is about.
func (c *torture) prepare(name, phase string) (p pack) {
	c.t.Helper()
	switch phase {
	case "signing":
		c.mustSend(name, "--to", "Jan Weber <jan.weber@example.com>", sample(c.t, "Offer 2026-118"))
		p = c.service.named(name)
	case "saving":
		c.mustSend(name, sample(c.t, "Lease Sonnenweg 4"), sample(c.t, "Mandate Keller"))
		p = c.service.named(name)
	case "renewing":
		c.service.tell("POST", "/tokens/expire", nil, nil)
	}
	return p
}

// mustSend sends to Ana; the outbox may still have to do with what earlier rounds left it.
func (c *torture) mustSend(name string, args ...string) {
	c.t.Helper()
	c.sent = append(c.sent, name)
	c.must("send", append([]string{"--name", name, "--to", ana}, args...)...)
}

// killAfter kills a process; the wait is the experiment.
func (c *torture) killAfter(wait time.Duration, p *process) {
	c.t.Helper()
	<-time.After(wait)
	p.kill()
	c.kills++
	suffered.add(kills, 1)
}

// whileSending kills victim, or the command itself when that is nil, while a package is being sent. Whatever the command
// says, it is true and leads nobody to send the package twice.
func (c *torture) whileSending(name string, after time.Duration, victim *process) {
	c.t.Helper()
	c.sent = append(c.sent, name)
	send := c.begin("send", sample(c.t, "Offer 2026-118"), "--name", name, "--to", ana)
	if victim == nil {
		victim = send
	}
	c.killAfter(after, victim)
	code, said := send.wait(), strings.TrimSpace(send.stderr.String())
	switch {
	case code == 0:
		c.service.named(name)
	case code == 1 && (said == "" || strings.Contains(said, "\n")):
		c.t.Errorf("send says %q, want one line", said)
	case code == 1 && strings.Contains(said, "try again"):
		c.denied = append(c.denied, name)
	}
}

func (c *torture) whileSigning(p pack, after time.Duration) {
	c.t.Helper()
	signed := make(chan error, 1)
	go func() { signed <- c.service.try("POST", "/sign", map[string]string{"package_id": p.ID}, nil) }()
	c.killAfter(after, c.running)
	if err := <-signed; err != nil {
		c.t.Error(err)
	}
}

// countFaults adds up how often the service misbehaved in this round.
func (c *torture) countFaults() {
	c.t.Helper()
	var list []struct{ Applied int }
	c.service.tell("GET", "/faults", nil, &list)
	for _, f := range list {
		suffered.add(faults, f.Applied)
	}
}

// onItsWay reports whether a file has not got its final name yet.
func onItsWay(name string) bool { return strings.HasPrefix(filepath.Base(name), ".countersign-") }

// filesAreWhole checks, with the program dead, that whatever has its final name is complete and stays as it is.
func (c *torture) filesAreWhole() {
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
	c.t.Helper()
	suffered.add(losses, 1)
	c.t.Errorf(format, args...)
}
