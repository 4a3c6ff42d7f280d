//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingIsLostBetweenTwoSteps ends the program exactly between two steps that belong together, each of which a kill
// at a random moment hits but rarely.
func TestNothingIsLostBetweenTwoSteps(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(*torture){
		"taking the files": (*torture).diesTaking, "sending": (*torture).diesSending, "receiving and saving": (*torture).diesReceiving, "renewing the sign-in": (*torture).diesRenewing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newTorture(t, true)
			play(c)
			c.settles()
			c.nothingIsMissing()
			c.stop()
			c.leavesNothingBehind()
		})
	}
}

// untilCrash starts the program anew, to end when it passes a point of agent.Params.Crash for the nth time ("point:n"),
// and plays until it has. Then the program works again.
func (c *torture) untilCrash(point string, play func()) {
	c.t.Helper()
	c.stop()
	c.more = []string{"COUNTERSIGN_CRASH_AT=" + point}
	c.running = c.begin("serve")
	c.more = nil
	play()
	if code := c.running.wait(); code != -1 {
		c.t.Errorf("at %s the program ended by itself, with %d: %s", point, code, c.running.stderr)
	}
	c.kills++
	suffered.add(kills, 1)
	suffered.add(crashPoints, 1)
	c.filesAreWhole()
	c.serve()
	c.registered()
}

func (c *torture) diesSending() {
	for _, x := range []struct {
		point string
		made  int // packages at the service
	}{{"added", 1}, {"adding", 0}} {
		name := "Dies while " + x.point
		c.sent = append(c.sent, name)
		c.untilCrash(x.point+":1", func() {
			c.answers()
			c.registered()
			send := c.begin("send", sample(c.t, "Offer 2026-118"), "--name", name, "--to", ana)
			if code := send.wait(); code != 1 || !strings.Contains(send.stderr.String(), "Countersign ended before it said") {
				c.t.Errorf("send ended with %d: %s", code, send.stderr)
			}
		})
		// What was made is found out. What was not made stays a question, which the service cannot answer for certain.
		c.until("it is known what became of "+name, func(s status) bool { return s.Outbox.Unknown == 1-x.made })
		n := 0
		for _, p := range c.service.packages() {
			if p.Name == name {
				n++
			}
		}
		if n != x.made {
			c.loss("killed at %q, the service has %d packages %q", x.point, n, name)
		}
	}
}

// diesTaking ends the program with copies of the documents that belong to no draft yet, and with a draft that nobody was
// told of. The documents themselves are gone when it starts again.
func (c *torture) diesTaking() {
	for _, x := range []struct {
		point string
		made  int
	}{{"taken", 0}, {"stored", 1}} {
		name := "Dies with the files " + x.point
		document := filepath.Join(c.t.TempDir(), "Offer.pdf")
		b, err := os.ReadFile(sample(c.t, "Offer 2026-118"))
		if err == nil {
			err = os.WriteFile(document, b, 0o600)
		}
		if err != nil {
			c.t.Fatal(err)
		}
		if x.made == 1 {
			c.sent = append(c.sent, name)
		}
		c.untilCrash(x.point+":1", func() {
			c.answers()
			c.registered()
			send := c.begin("send", document, "--name", name, "--to", ana)
			if code := send.wait(); code != 1 || !strings.Contains(send.stderr.String(), "Countersign ended before it said") {
				c.t.Errorf("send ended with %d: %s", code, send.stderr)
			}
			if err := os.Remove(document); err != nil {
				c.t.Error(err)
			}
		})
		c.mustSend("After "+name, sample(c.t, "Offer 2026-118")) // and so whatever went before it is sent
		n := 0
		for _, p := range c.service.packages() {
			if p.Name == name {
				n++
			}
		}
		if n != x.made {
			c.loss("killed with the files %s, the service has %d packages %q", x.point, n, name)
		}
		eventually(c.t, "no copy is left", func() bool {
			copies, err := os.ReadDir(filepath.Join(c.data, "outbox"))
			return err == nil && len(copies) == 0
		})
	}
}

// savePoints are the points of a save, and of the event before it.
var savePoints = []string{
	"event stored:1", "event stored:2", "save created:1", "save written:2", "save flushed:1", "save committed:1", "save committed:5",
	"save named:1", "save named:5", "save done:1", "save done:5",
}

func (c *torture) diesReceiving() {
	for _, point := range savePoints {
		name := "Dies at " + point
		c.mustSend(name, sample(c.t, "Lease Sonnenweg 4"), sample(c.t, "Mandate Keller"))
		eventually(c.t, "its making is reported", c.service.allDelivered)
		c.untilCrash(point, func() {
			c.answers()
			c.registered()
			c.service.signAll(c.service.named(name).ID)
		})
		n := len(c.service.packages())
		c.until("the package of "+point+" is saved", func(s status) bool { return s.Packages.Saved == n })
		for _, f := range c.files() {
			if onItsWay(f) {
				c.loss("after %s, %q was left behind", point, f)
			}
		}
	}
}

// diesRenewing has the program die with a new refresh token that only it and the service know of, twice in a row, and
// with one that is kept but not used. The access token is not kept, so every start renews.
func (c *torture) diesRenewing() {
	for _, point := range []string{"renewed:1", "renewed:1", "renewal kept:1"} {
		c.untilCrash(point, func() {})
	}
	c.service.tell("POST", "/tokens/expire", nil, nil)
	c.mustSend("Still signed in", sample(c.t, "Offer 2026-118"))
}
