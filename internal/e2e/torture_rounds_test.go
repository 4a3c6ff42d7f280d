//go:build linux

package e2e

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/internal/e2e/harness"
)

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
