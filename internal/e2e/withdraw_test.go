//go:build linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"countersign/internal/e2e/harness"
)

// rescinds is how often the service was asked to withdraw a package.
func rescinds(s *harness.Service) int { return len(s.Requests("/packages/rescind")) }

// TestPackagesAreWithdrawnByCommandAndThroughKills withdraws packages beside the running program and without it, and through
// kills right before and right after the service was asked.
func TestPackagesAreWithdrawnByCommandAndThroughKills(t *testing.T) {
	t.Parallel()
	o := harness.UsualOffice(t, harness.NewDesktop(t))
	o.Serve()
	o.Setup()
	o.MustLogin()
	o.Registered()
	offer := harness.Sample(t, "Offer 2026-118")
	send := func(name string) harness.Pack {
		o.Must("send", offer, "--name", name, "--to", "Ana Ruiz <ana@example.com>")
		return o.Service.Named(name)
	}
	want := func(id, state string, told int) {
		t.Helper()
		for _, p := range o.Service.Packages() {
			if p.ID == id && (p.State != state || len(p.Notified) != told) {
				t.Errorf("%s is %s, and its people were told %q", p.Name, p.State, p.Notified)
			}
		}
	}

	beside, signed := send("Beside"), send("Signed")
	if out := o.Must("withdraw", beside.ID, "--message", "The rent was wrong."); strings.TrimSpace(out) != "Withdrawn. Package "+beside.ID {
		t.Errorf("withdraw printed %q", out)
	}
	want(beside.ID, "rescinded", 1)

	kept := send("Kept")
	if r := o.Command("withdraw", kept.ID, "nobody's"); r.Code != 1 || !strings.Contains(r.Stderr, `There is no package "nobody's".`) {
		t.Errorf("withdraw of an unknown package ended with %d: %s", r.Code, r.Stderr)
	}
	want(kept.ID, "open", 0) // one word that names nothing withdraws nothing

	o.Service.SignAll(signed.ID)
	r := o.Command("withdraw", "--json", beside.ID, signed.ID)
	var said struct {
		Packages []struct {
			ID    string `json:"id"`
			State string `json:"state"`
			Text  string `json:"problem"`
		} `json:"packages"`
	}
	harness.Must(t, json.Unmarshal([]byte(r.Stdout), &said))
	var states []string
	for _, p := range said.Packages {
		states = append(states, p.State)
	}
	if got := strings.Join(states, " "); r.Code != 1 || got != "done late" || !strings.Contains(said.Packages[1].Text, "igned") {
		t.Errorf("withdraw ended with %d and said %s", r.Code, r.Stdout)
	}
	o.Until("what was signed is saved", func(s harness.Status) bool { return s.Packages.Saved == 1 })

	for _, point := range []string{"rescinding", "rescinded"} {
		p := send("Dies while " + point)
		o.Stop()
		o.More = []string{"COUNTERSIGN_CRASH_AT=" + point + ":1"}
		o.Running = o.Begin("serve")
		o.More = nil
		o.Answers()
		r := o.Command("withdraw", p.ID)
		if r.Code != 1 || !strings.Contains(r.Stderr, "goes on with that at its next start") {
			t.Errorf("withdraw ended with %d and said %q", r.Code, r.Stderr)
		}
		if code := o.Running.Wait(); code != -1 {
			t.Errorf("at %s the program ended by itself, with %d", point, code)
		}
		before := rescinds(o.Service)
		o.Serve()
		o.Registered()
		harness.Eventually(t, "it is withdrawn", func() bool {
			var all map[string]any
			return json.Unmarshal([]byte(o.Must("show", p.ID, "--json")), &all) == nil && all["state"] == "withdrawn"
		})
		want(p.ID, "rescinded", 1)
		if n := rescinds(o.Service) - before; n != map[string]int{"rescinding": 1, "rescinded": 0}[point] {
			t.Errorf("killed at %s, the service was asked %d times more", point, n)
		}
	}

	alone := send("Alone")
	o.Stop()
	o.Must("withdraw", alone.Name, "--quiet") // without a running program
	want(alone.ID, "rescinded", 0)
}
