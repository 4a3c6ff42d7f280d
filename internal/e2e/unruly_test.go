//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// misbehave makes the service misbehave, as the sandbox's faults describe it.
func (s *service) misbehave(fault map[string]any) {
	s.t.Helper()
	s.tell("POST", "/faults", fault, nil)
}

func TestAnUnrulyServiceCostsNothing(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	o := usualOffice(t, desk, "--token-lifetime", "3s")
	s := o.service
	o.setup()
	o.serve()
	o.mustLogin()
	o.registered()

	// The new refresh token of one renewal is lost on its way, and so are whole answers and halves of files.
	s.misbehave(map[string]any{"path": "/connect/token", "lose_answer": true, "times": 1})
	s.misbehave(map[string]any{"path": "/files/upload", "drop": true, "times": 1})
	s.misbehave(map[string]any{"path": "*/status", "status": 500, "times": 1})
	s.misbehave(map[string]any{"path": "*/pdf/executed/download", "status": 404, "times": 1})
	s.misbehave(map[string]any{"path": "*/pdf/executed/download", "truncate_after": 2000, "times": 1})
	s.misbehave(map[string]any{"path": "*/pdf/cac/download", "status": 429, "headers": map[string]string{"Retry-After": "1"}, "times": 1})
	s.misbehave(map[string]any{"path": "/masterfiles/*", "status": 200, "body": `{"error":"not_yet"}`, "times": 1})
	lease, offer := o.sendLease(), o.sendOffer()
	s.tell("POST", "/tokens/expire", nil, nil)
	s.signAll(lease.ID)
	s.signAll(offer.ID)
	eventuallyWithin(t, 2*patience, "both packages are saved", func() bool {
		st, err := o.ask()
		return err == nil && st.Packages.Saved == 2
	})
	o.savedAsServed(lease, offer)
	o.toldOnce(false, lease, offer)
	if st := o.status(); !st.SignedIn || st.Saves.Failed != 0 {
		t.Errorf("after all that: %+v", st)
	}
}

func TestALostAnswerNeverMakesASecondPackage(t *testing.T) {
	t.Parallel()
	desk := newDesktop(t)
	o := usualOffice(t, desk, "--bare")
	s := o.service
	o.setup()
	o.serve()
	o.mustLogin()
	o.registered()
	s.tell("POST", "/events/hold", nil, nil)
	s.misbehave(map[string]any{"path": "/packages/add", "lose_answer": true, "times": 1})
	s.misbehave(map[string]any{"path": "/packages/list", "status": 404}) // as where interface.md is all there is

	r := o.command("send", sample(t, "Offer 2026-118"), "--name", "Lost", "--to", "Ana Ruiz <ana.ruiz@example.com>")
	if r.code != 1 || !strings.Contains(r.stderr, "did not confirm") {
		t.Errorf("send ended with %d: %s", r.code, r.stderr)
	}
	if st := o.status(); st.Outbox.Unknown != 1 || st.Packages.Total != 0 {
		t.Errorf("after the lost answer: %+v", st)
	}
	o.stop()
	o.serve()
	o.registered()
	s.tell("POST", "/events/release", nil, nil)
	o.until("an event has told how it went", func(s status) bool { return s.Outbox.Unknown == 0 && s.Packages.Total == 1 })
	p := s.named("Lost") // and no other
	s.signAll(p.ID)
	o.until("the package is saved", func(s status) bool { return s.Packages.Saved == 1 })
	o.savedAsServed(p)
}
