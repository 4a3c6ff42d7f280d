//go:build linux

package e2e

import (
	"slices"
	"testing"

	"countersign/internal/e2e/harness"
)

// TestDroppedFilesAreSentByKeysAlone takes a file that another program drops and one that a second start hands over,
// and needs nothing but the keyboard from there to the package in the service.
func TestDroppedFilesAreSentByKeysAlone(t *testing.T) {
	t.Parallel()
	o, w := harness.OpenOffice(t)
	o.MustLogin()
	o.Registered()

	before := w.Still()
	o.Desk.Dragger().Drop(w.ID, harness.Sample(t, "Mandate Keller"))
	dropped := w.ChangesFrom(before)
	second := harness.Start(t, o.Desk.Env(), harness.Program, append(o.Global, harness.Sample(t, "Offer 2026-118"))...)
	if code := second.Wait(); code != 0 {
		t.Fatalf("the second start ended with %d: %s", code, second.Stderr)
	}
	w.ChangesFrom(dropped)
	w.Still() // both are looked at

	w.Active().Keys("ctrl+n") // the cursor is where work goes on: at the first person
	w.Types("Ana")
	w.Keys("Tab")
	w.Types("Ruiz")
	w.Keys("Tab")
	w.Types("ana.ruiz@example.com")
	w.Keys("Return") // goes on, and sends nothing
	w.Keys("ctrl+Return")
	if s, err := o.Ask(); err != nil || s.Packages.Total+s.Outbox.Pending > 0 {
		t.Errorf("it is sent before it can be taken back: %+v, %v", s, err)
	}

	o.Until("the service has the package", func(s harness.Status) bool { return s.Packages.Total == 1 && s.Outbox.Pending == 0 })
	p := o.Service.Named("Mandate Keller")
	var names []string
	for _, d := range p.Documents {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"Mandate Keller", "Offer 2026-118"}) || len(p.Signers) != 1 {
		t.Errorf("the service got %+v", p)
	}
}
