//go:build linux

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"countersign/internal/e2e/harness"
)

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
