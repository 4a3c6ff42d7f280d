//go:build linux

package e2e

import (
	"slices"
	"testing"
	"time"

	"countersign/internal/e2e/harness"
)

// takenBackWithin is how long what is sent from the window can be taken back.
const takenBackWithin = 10 * time.Second

// TestDroppedFilesAreSentByKeysAlone takes a file that another program drops and one that a second start hands over,
// and needs nothing but the keyboard from there to the package in the service.
func TestDroppedFilesAreSentByKeysAlone(t *testing.T) {
	t.Parallel()
	o, w := harness.OpenSignedIn(t)

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
	pressed := time.Now()
	w.Keys("ctrl+Return")
	if s, err := o.Ask(); err != nil || s.Packages.Total+s.Outbox.Pending > 0 && time.Since(pressed) < takenBackWithin {
		t.Errorf("it is sent before it can be taken back: %+v, %v", s, err)
	}

	sendsByKey(o, w)
	p := o.Service.Named("Mandate Keller")
	var names []string
	for _, d := range p.Documents {
		names = append(names, d.Name)
	}
	if !slices.Equal(names, []string{"Mandate Keller", "Offer 2026-118"}) || len(p.Signers) != 1 {
		t.Errorf("the service got %+v", p)
	}
}
