package agent

import (
	"testing"

	"countersign/internal/sandbox"
	"countersign/internal/store"
)

// A person who pressed Send has some seconds to take it back. A program that ends meanwhile has neither sent nor lost it.
func TestAHeldDraftIsNeitherSentNorLost(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	id, err := o.Hold(o.draft())
	if err != nil {
		t.Fatal(err)
	}
	o.restart()
	if held := o.Drafts(); len(held) != 1 || held[0].ID != id || held[0].State != store.DraftHeld || o.Status().Packages.Total != 0 {
		t.Fatalf("after a restart there is %+v", held)
	}
	sent := o.draft()
	sent.Replaces = []string{id}
	if state, err := o.Send(t.Context(), sent, nil); err != nil || state.State != store.DraftSent {
		t.Fatalf("%+v, %v", state, err)
	}
	if left := o.Drafts(); len(left) != 0 {
		t.Errorf("what is sent is still held: %+v", left)
	}
	id, err = o.Hold(o.draft())
	if err != nil {
		t.Fatal(err)
	}
	if inTime, err := o.Cancel(id); err != nil || !inTime || len(o.Drafts()) != 0 {
		t.Errorf("taken back: %v, %v, %d left", inTime, err, len(o.Drafts()))
	}
}
