//go:build linux

package e2e

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// endsWithin is how long the program may take to end, whatever hangs.
const endsWithin = 5 * time.Second

// TestItEndsInTheMiddleOfEverything asks the program to end while it does something, with a service that is slow or does
// not move at all. It ends in time and well, and the next start goes on where it was.
func TestItEndsInTheMiddleOfEverything(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*torture){
		"sending": func(c *torture) {
			c.service.misbehave(map[string]any{"path": "/files/upload", "delay_ms": 60000, "times": 1})
			c.sendAndEnd("Cut while sending", "/files/upload")
		},
		"adding a package": func(c *torture) {
			c.service.misbehave(map[string]any{"path": "/packages/add", "delay_ms": 60000, "times": 1})
			c.sendAndEnd("Cut while adding", "/packages/add")
		},
		"saving": func(c *torture) {
			c.service.tell("POST", "/downloads/pad", map[string]int{"bytes": 256 << 20}, nil)
			c.mustSend("Cut while saving", sample(c.t, "Lease Sonnenweg 4"), sample(c.t, "Mandate Keller"))
			c.service.signAll(c.service.named("Cut while saving").ID)
			eventually(c.t, "a file is on its way", func() bool { return c.onTheirWay() > 0 })
			c.endsWell()
			c.service.tell("POST", "/downloads/pad", map[string]int{"bytes": 1 << 20}, nil)
		},
		"a service that hangs": func(c *torture) {
			c.mustSend("Hanging", sample(c.t, "Offer 2026-118"))
			c.service.signAll(c.service.named("Hanging").ID)
			c.service.p.signal(syscall.SIGSTOP)
			c.sent = append(c.sent, "Hanging too")
			send := c.begin("send", sample(c.t, "Offer 2026-118"), "--name", "Hanging too", "--to", ana)
			c.until("something waits for the service", func(s status) bool { return s.Outbox.Pending > 0 })
			c.endsWell()
			c.service.p.signal(syscall.SIGCONT)
			c.tellsTheTruth(send)
		},
		"renewing the sign-in": func(c *torture) {
			c.service.misbehave(map[string]any{"path": "/connect/token", "delay_ms": 60000, "times": 1})
			c.service.tell("POST", "/tokens/expire", nil, nil)
			c.sent = append(c.sent, "Cut while renewing")
			send := c.begin("send", sample(c.t, "Offer 2026-118"), "--name", "Cut while renewing", "--to", ana)
			c.applied()
			c.endsWell()
			c.tellsTheTruth(send)
		},
		"a client that says nothing": func(c *torture) {
			s := besiege(c.t, c.office)
			defer s.end()
			open := c.running.costs().files
			s.crowd(50, time.Minute, func(int) { s.dawdle("") })
			s.crowd(50, time.Minute, func(int) {
				s.dawdle("POST /webhook HTTP/1.1\r\nHost: " + s.host + "\r\nX-Service-Signature: " + strings.Repeat("A", 43) + "=\r\nContent-Length: 9\r\n\r\n{")
			})
			eventually(c.t, "they are connected", func() bool { return c.running.costs().files > open+50 })
			c.endsWell()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTorture(t, true)
			play(c)
			c.service.tell("DELETE", "/faults", nil, nil)
			c.serve()
			c.registered()
			c.settles()
			c.nothingIsMissing()
			c.stop()
			c.leavesNothingBehind()
		})
	}
}

// endsWell asks the running program to end.
func (c *torture) endsWell() {
	c.t.Helper()
	began := time.Now()
	code := c.running.stop()
	if took := time.Since(began); code != 0 || took > endsWithin {
		c.t.Errorf("it ended with %d after %v: %s", code, took, c.running.stderr)
	}
	c.filesAreWhole()
}

// sendAndEnd sends a package and ends the program once the service has begun to answer late.
func (c *torture) sendAndEnd(name, path string) {
	c.t.Helper()
	c.sent = append(c.sent, name)
	send := c.begin("send", sample(c.t, "Offer 2026-118"), "--name", name, "--to", ana)
	c.applied()
	c.endsWell()
	c.tellsTheTruth(send)
}

// applied waits until the service misbehaves.
func (c *torture) applied() {
	c.t.Helper()
	eventually(c.t, "the service is slow", func() bool {
		var list []struct{ Applied int }
		c.service.tell("GET", "/faults", nil, &list)
		return list[0].Applied > 0
	})
}

// tellsTheTruth waits for a send whose program has ended.
func (c *torture) tellsTheTruth(send *process) {
	c.t.Helper()
	code, said := send.wait(), strings.TrimSpace(send.stderr.String())
	kept := slices.ContainsFunc([]string{"goes out by itself", "will not be sent twice", "before sending it again"}, func(s string) bool { return strings.Contains(said, s) })
	if code != 1 || !kept || strings.Contains(said, "\n") {
		c.t.Errorf("send ended with %d and says %q, want one line that leads nobody to send it twice", code, said)
	}
}

// onTheirWay is how many files have no final name yet.
func (c *torture) onTheirWay() (n int) {
	names, err := readNames(c.folder)
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
