package agent

import (
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/agent/webhook"
	"countersign/internal/office"
	"countersign/internal/sandbox"
)

const otherComputer = "https://localhost:1/other"

// listening is an office with an open package that was asked about while the service reported to it.
func listening(t *testing.T) (o *testOffice, c *wallClock, packageID string) {
	t.Helper()
	o, c = sleepy(t, sandbox.Options{})
	packageID = o.send()
	o.eventually("what is under way has arrived", func() bool {
		all, err := o.service.Deliveries()
		return err == nil && !slices.ContainsFunc(all, func(d sandbox.Delivery) bool { return d.Delivered == nil && !d.GivenUp }) && o.Status().Events.Pending == 0
	})
	o.eventually("the package was asked about", func() bool {
		c.jump(time.Second)
		o.packages.Sweep("test")
		since := o.webhook.ListeningSince()
		return !since.IsZero() && o.packageOrZero(packageID).Checked.After(since)
	})
	return o, c, packageID
}

// lose has the office find out that the service does not report to it, by what signing does.
func (o *testOffice) lose(c *wallClock, packageID string, sign func(packageID string) error) {
	o.t.Helper()
	noErr(o.t, sign(packageID))
	o.eventually("it was found out", func() bool {
		o.packages.Sweep("test")
		p := o.packageOrZero(packageID)
		return p.SignersDone > 0 || p.State == office.PackageExecuted
	})
	o.pass(c, 2*webhook.MissedGrace)
	o.eventually("people are told", func() bool { return o.issue("endpoint-lost") != nil })
}

// signOne lets the person sign whose turn it is.
func (o *testOffice) signOne(packageID string) error {
	for _, p := range o.service.Packages() {
		for _, s := range p.Signers {
			if p.PackageID == packageID && s.Turn {
				return o.service.Sign(packageID, s.SignerID)
			}
		}
	}
	return nil
}

func TestAnEndpointThatIsGoneIsToldAndTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		url  string
		sign func(o *testOffice) func(string) error
	}{
		"taken over, found by a signature":  {otherComputer, func(o *testOffice) func(string) error { return o.signOne }},
		"deleted, found by a signature":     {"", func(o *testOffice) func(string) error { return o.signOne }},
		"deleted, found when all is signed": {"", func(o *testOffice) func(string) error { return o.service.SignAll }},
	} {
		t.Run(name, func(t *testing.T) {
			o, clock, id := listening(t)
			noErr(t, o.service.ReplaceEndpoint("", c.url))
			o.lose(clock, id, c.sign(o))
			o.restart()
			issue := o.issue("endpoint-lost")
			if issue == nil || issue.Action != ActTakeEndpoint {
				t.Fatalf("after a restart health is %+v", o.Status().Health)
			}
			o.eventually("the public address is open", func() bool { return o.Status().Tunnel.State == "up" })
			noErr(t, o.Act(t.Context(), *issue))
			if urls := o.service.EndpointURLs(""); len(urls) != 1 || urls[0] != o.Status().Endpoint.URL || o.issue("endpoint-lost") != nil {
				t.Errorf("registered is %v, health is %+v", urls, o.Status().Health)
			}
			o.restart()
			if o.issue("endpoint-lost") != nil {
				t.Error("it was taken back and is told all the same")
			}
		})
	}
}

func TestSigningOutLeavesTheEndpointThatIsKnownToBeAnothers(t *testing.T) {
	o, clock, id := listening(t)
	noErr(t, o.service.ReplaceEndpoint("", otherComputer))
	o.lose(clock, id, o.signOne)
	o.restart() // what is known outlives the program
	noErr(t, o.SignOut(t.Context()))
	if urls := o.service.EndpointURLs(""); !slices.Equal(urls, []string{otherComputer}) {
		t.Errorf("registered is %v", urls)
	}
	if o.issue("endpoint-lost") != nil || o.Status().Endpoint.ID != "" {
		t.Errorf("signed out: %+v", o.Status())
	}
	// Whoever signs in here again wants the reports here.
	noErr(t, o.SignIn(t.Context(), SignInOptions{}, visit))
	o.eventually("it is registered", func() bool { return !slices.Contains(o.service.EndpointURLs(""), otherComputer) })
}

func TestSigningOutSaysThatAnothersEndpointWasDeleted(t *testing.T) {
	o, _, _ := listening(t)
	noErr(t, o.service.ReplaceEndpoint("", otherComputer))
	err := o.SignOut(t.Context())
	if err == nil || !strings.Contains(Message(err).String(), "events for another computer") {
		t.Errorf("said: %v", err)
	}
	if o.Status().SignedIn {
		t.Error("still signed in")
	}
}

func TestSigningOutDeletesTheOwnEndpoint(t *testing.T) {
	o, _, _ := listening(t)
	if err := o.SignOut(t.Context()); err != nil {
		t.Error(err)
	}
	if urls := o.service.EndpointURLs(""); len(urls) > 0 {
		t.Errorf("registered is %v", urls)
	}
}

func TestTakingTheReportsBackSaysWhyItCannotBe(t *testing.T) {
	o, _, _ := listening(t)
	o.stop()
	o.open()
	if err := o.Act(t.Context(), Issue{ID: "endpoint-lost", Action: ActTakeEndpoint}); err == nil || !strings.Contains(Message(err).String(), "public address is connected") {
		t.Errorf("said: %v", err)
	}
}
