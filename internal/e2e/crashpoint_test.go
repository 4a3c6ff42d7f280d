//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
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
			c.Stop()
			c.leavesNothingBehind()
		})
	}
}

// untilCrash starts the program anew, to end when it passes a point of agent.Params.Crash for the nth time ("point:n"),
// and plays until it has. Then the program works again.
func (c *torture) untilCrash(point string, play func()) {
	c.T.Helper()
	c.Stop()
	c.More = []string{"COUNTERSIGN_CRASH_AT=" + point}
	c.Running = c.Begin("serve")
	c.More = nil
	play()
	if code := c.Running.Wait(); code != -1 {
		c.T.Errorf("at %s the program ended by itself, with %d: %s", point, code, c.Running.Stderr)
	}
	c.kills++
	harness.Suffered.Add(harness.Kills, 1)
	harness.Suffered.Add(harness.CrashPoints, 1)
	c.filesAreWhole()
	c.Serve()
	c.Registered()
}

func (c *torture) diesSending() {
	for _, x := range []struct {
		point string
		made  int // packages at the service
	}{{"added", 1}, {"adding", 0}} {
		name := "Dies while " + x.point
		c.sent = append(c.sent, name)
		c.untilCrash(x.point+":1", func() {
			c.sendsInVain(harness.Sample(c.T, "Offer 2026-118"), name)
		})
		// What was made is found out. What was not made stays a question, which the service cannot answer for certain.
		c.Until("it is known what became of "+name, func(s harness.Status) bool { return s.Outbox.Unknown == 1-x.made })
		if n := c.made(name); n != x.made {
			c.loss("killed at %q, the service has %d packages %q", x.point, n, name)
		}
	}
}

// sendsInVain sends a document with a program that ends before it has said what came of it.
func (c *torture) sendsInVain(document, name string) {
	c.T.Helper()
	c.Answers()
	c.Registered()
	send := c.Begin("send", document, "--name", name, "--to", ana)
	if code := send.Wait(); code != 1 || !strings.Contains(send.Stderr.String(), "Countersign ended before it said") {
		c.T.Errorf("send ended with %d: %s", code, send.Stderr)
	}
}

// made is how many packages of that name the service has.
func (c *torture) made(name string) (n int) {
	for _, p := range c.Service.Packages() {
		if p.Name == name {
			n++
		}
	}
	return n
}

// diesTaking ends the program with copies of the documents that belong to no draft yet, and with a draft that nobody was
// told of. The documents themselves are gone when it starts again.
func (c *torture) diesTaking() {
	for _, x := range []struct {
		point string
		made  int
	}{{"taken", 0}, {"stored", 1}} {
		name := "Dies with the files " + x.point
		document := filepath.Join(c.T.TempDir(), "Offer.pdf")
		b, err := os.ReadFile(harness.Sample(c.T, "Offer 2026-118"))
		if err == nil {
			err = os.WriteFile(document, b, 0o600)
		}
		harness.Must(c.T, err)
		if x.made == 1 {
			c.sent = append(c.sent, name)
		}
		c.untilCrash(x.point+":1", func() {
			c.sendsInVain(document, name)
			if err := os.Remove(document); err != nil {
				c.T.Error(err)
			}
		})
		c.mustSend("After "+name, harness.Sample(c.T, "Offer 2026-118")) // and so whatever went before it is sent
		if n := c.made(name); n != x.made {
			c.loss("killed with the files %s, the service has %d packages %q", x.point, n, name)
		}
		harness.Eventually(c.T, "no copy is left", func() bool {
			copies, err := os.ReadDir(filepath.Join(c.Data, "outbox"))
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
		c.mustSend(name, harness.Sample(c.T, "Lease Sonnenweg 4"), harness.Sample(c.T, "Mandate Keller"))
		harness.Eventually(c.T, "its making is reported", c.Service.AllDelivered)
		c.untilCrash(point, func() {
			c.Answers()
			c.Registered()
			c.Service.SignAll(c.Service.Named(name).ID)
		})
		n := len(c.Service.Packages())
		c.Until("the package of "+point+" is saved", func(s harness.Status) bool { return s.Packages.Saved == n })
		for _, f := range c.Files() {
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
	c.Service.Tell("POST", "/tokens/expire", nil, nil)
	c.mustSend("Still signed in", harness.Sample(c.T, "Offer 2026-118"))
}
