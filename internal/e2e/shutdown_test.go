//go:build linux

package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
)

// endsWithin is how long the program may take to end, whatever hangs: 5 s where it has a processor to itself, and as many
// times as long as there are programs that share one. That it counts right, the tests of the ending show in virtual time.
func endsWithin() time.Duration {
	return time.Duration(float64(5*time.Second) * max(1, harness.Crowding()))
}

// TestItEndsInTheMiddleOfEverything asks the program to end while it does something, with a service that is slow or does
// not move at all. It ends in time and well, and the next start goes on where it was.
func TestItEndsInTheMiddleOfEverything(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*torture){
		"sending": func(c *torture) {
			c.Service.Misbehave(map[string]any{"path": "/files/upload", "delay_ms": 60000, "times": 1})
			c.sendAndEnd("Cut while sending", "/files/upload")
		},
		"adding a package": func(c *torture) {
			c.Service.Misbehave(map[string]any{"path": "/packages/add", "delay_ms": 60000, "times": 1})
			c.sendAndEnd("Cut while adding", "/packages/add")
		},
		"saving": func(c *torture) {
			c.Service.Tell("POST", "/downloads/pad", map[string]int{"bytes": 256 << 20}, nil)
			c.mustSend("Cut while saving", harness.Sample(c.T, "Lease Sonnenweg 4"), harness.Sample(c.T, "Mandate Keller"))
			c.Service.SignAll(c.Service.Named("Cut while saving").ID)
			harness.Eventually(c.T, "a file is on its way", func() bool { return c.onTheirWay() > 0 })
			c.endsWell()
			c.Service.Tell("POST", "/downloads/pad", map[string]int{"bytes": 1 << 20}, nil)
		},
		"a service that hangs": func(c *torture) {
			c.mustSend("Hanging", harness.Sample(c.T, "Offer 2026-118"))
			c.Service.SignAll(c.Service.Named("Hanging").ID)
			c.Service.P.Signal(syscall.SIGSTOP)
			c.sent = append(c.sent, "Hanging too")
			send := c.Begin("send", harness.Sample(c.T, "Offer 2026-118"), "--name", "Hanging too", "--to", ana)
			c.Until("something waits for the service", func(s harness.Status) bool { return s.Outbox.Pending > 0 })
			c.endsWell()
			c.Service.P.Signal(syscall.SIGCONT)
			c.tellsTheTruth(send)
		},
		"renewing the sign-in": func(c *torture) {
			c.Service.Misbehave(map[string]any{"path": "/connect/token", "delay_ms": 60000, "times": 1})
			c.Service.Tell("POST", "/tokens/expire", nil, nil)
			c.sent = append(c.sent, "Cut while renewing")
			send := c.Begin("send", harness.Sample(c.T, "Offer 2026-118"), "--name", "Cut while renewing", "--to", ana)
			c.applied()
			c.endsWell()
			c.tellsTheTruth(send)
		},
		"a client that says nothing": func(c *torture) {
			s := harness.Besiege(c.T, c.Office)
			defer s.End()
			open := c.Running.Costs().Files
			s.Crowd(50, time.Minute, func(int) { s.Dawdle("") })
			s.Crowd(50, time.Minute, func(int) {
				s.Dawdle("POST /webhook HTTP/1.1\r\nHost: " + s.Host + "\r\nX-Service-Signature: " + strings.Repeat("A", 43) + "=\r\nContent-Length: 9\r\n\r\n{")
			})
			harness.Eventually(c.T, "they are connected", func() bool { return c.Running.Costs().Files > open+50 })
			c.endsWell()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTorture(t, true)
			play(c)
			c.Service.Tell("DELETE", "/faults", nil, nil)
			c.Serve()
			c.Registered()
			c.settles()
			c.nothingIsMissing()
			c.Stop()
			c.leavesNothingBehind()
		})
	}
}

// endsWell asks the running program to end.
func (c *torture) endsWell() {
	c.T.Helper()
	began := time.Now()
	code := c.Running.Stop()
	if took := time.Since(began); code != 0 || took > endsWithin() {
		c.T.Errorf("it ended with %d after %v: %s", code, took, c.Running.Stderr)
	}
	c.filesAreWhole()
}

// sendAndEnd sends a package and ends the program once the service has begun to answer late.
func (c *torture) sendAndEnd(name, path string) {
	c.T.Helper()
	c.sent = append(c.sent, name)
	send := c.Begin("send", harness.Sample(c.T, "Offer 2026-118"), "--name", name, "--to", ana)
	c.applied()
	c.endsWell()
	c.tellsTheTruth(send)
}

// applied waits until the service misbehaves.
func (c *torture) applied() {
	c.T.Helper()
	harness.Eventually(c.T, "the service is slow", func() bool {
		var list []struct{ Applied int }
		c.Service.Tell("GET", "/faults", nil, &list)
		return list[0].Applied > 0
	})
}

// tellsTheTruth waits for a send whose program has ended.
func (c *torture) tellsTheTruth(send *harness.Process) {
	c.T.Helper()
	code, said := send.Wait(), strings.TrimSpace(send.Stderr.String())
	kept := slices.ContainsFunc([]string{"goes out by itself", "will not be sent twice", "before sending it again"}, func(s string) bool { return strings.Contains(said, s) })
	if code != 1 || !kept || strings.Contains(said, "\n") {
		c.T.Errorf("send ended with %d and says %q, want one line that leads nobody to send it twice", code, said)
	}
}

// onTheirWay is how many files have no final name yet.
func (c *torture) onTheirWay() (n int) {
	names, err := harness.ReadNames(c.Folder)
	if err != nil {
		return 0
	}
	for _, name := range names {
		if onItsWay(name) {
			n++
		}
	}
	return n
}
