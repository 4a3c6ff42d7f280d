//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

func TestAnUnrulyServiceCostsNothing(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk, "--token-lifetime", "3s")
	s := o.Service
	o.Setup()
	o.Serve()
	o.MustLogin()
	o.Registered()

	// The new refresh token of one renewal is lost on its way, and so are whole answers and halves of files.
	s.Misbehave(map[string]any{"path": "/connect/token", "lose_answer": true, "times": 1})
	s.Misbehave(map[string]any{"path": "/files/upload", "drop": true, "times": 1})
	s.Misbehave(map[string]any{"path": "*/status", "status": 500, "times": 1})
	s.Misbehave(map[string]any{"path": "*/pdf/executed/download", "status": 404, "times": 1})
	s.Misbehave(map[string]any{"path": "*/pdf/executed/download", "truncate_after": 2000, "times": 1})
	s.Misbehave(map[string]any{"path": "*/pdf/cac/download", "status": 429, "headers": map[string]string{"Retry-After": "1"}, "times": 1})
	s.Misbehave(map[string]any{"path": "/masterfiles/*", "status": 200, "body": `{"error":"not_yet"}`, "times": 1})
	lease, offer := sendLease(o), sendOffer(o)
	s.Tell("POST", "/tokens/expire", nil, nil)
	s.SignAll(lease.ID)
	s.SignAll(offer.ID)
	harness.EventuallyWithin(t, 2*harness.Patience, "both packages are saved", func() bool {
		st, err := o.Ask()
		return err == nil && st.Packages.Saved == 2
	})
	savedAsServed(o, lease, offer)
	toldOnce(o, false, lease, offer)
	if st := o.Status(); !st.SignedIn || st.Saves.Failed != 0 {
		t.Errorf("after all that: %+v", st)
	}
}

func TestALostAnswerNeverMakesASecondPackage(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk, "--bare")
	s := o.Service
	o.Setup()
	o.Serve()
	o.MustLogin()
	o.Registered()
	s.Tell("POST", "/events/hold", nil, nil)
	s.Misbehave(map[string]any{"path": "/packages/add", "lose_answer": true, "times": 1})
	s.Misbehave(map[string]any{"path": "/packages/list", "status": 404}) // as where interface.md is all there is

	r := o.Command("send", harness.Sample(t, "Offer 2026-118"), "--name", "Lost", "--to", "Ana Ruiz <ana.ruiz@example.com>")
	if r.Code != 1 || !strings.Contains(r.Stderr, "did not confirm") {
		t.Errorf("send ended with %d: %s", r.Code, r.Stderr)
	}
	if st := o.Status(); st.Outbox.Unknown != 1 || st.Packages.Total != 0 {
		t.Errorf("after the lost answer: %+v", st)
	}
	o.Stop()
	o.Serve()
	o.Registered()
	s.Tell("POST", "/events/release", nil, nil)
	o.Until("an event has told how it went", func(s harness.Status) bool { return s.Outbox.Unknown == 0 && s.Packages.Total == 1 })
	p := s.Named("Lost") // and no other
	s.SignAll(p.ID)
	o.Until("the package is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })
	savedAsServed(o, p)
}
