package outbox

import (
	"encoding/json"
	"testing"

	"countersign/internal/agent/loop/looptest"
	"countersign/internal/office"
	"countersign/internal/store"
)

// What an event or a list brings is followed all the same: an error would have it dropped.
func TestAPackageWhoseDraftCannotBeReadIsFollowedAsOneMadeElsewhere(t *testing.T) {
	r := New(looptest.Tools(t, func() {}), Needs{})
	if err := r.Data.Update(func(tx *store.Tx) error {
		return tx.PutDraft(office.Draft{ID: "draft", Name: "Lease", State: office.DraftUnknown})
	}); err != nil {
		t.Fatal(err)
	}
	claim := func() (p office.Package) {
		t.Helper()
		err := r.Data.Update(func(tx *store.Tx) error {
			p = office.Package{ID: "p", Origin: office.MadeElsewhere}
			if err := r.Claim(tx, &p, json.RawMessage(`{"countersign":"draft"}`)); err != nil {
				return err
			}
			return tx.PutPackage(p)
		})
		if err != nil {
			t.Error(err)
		}
		return p
	}
	looptest.Spoil(t, &r.Tools, "Lease", "drafts")
	if p := claim(); p.Origin != office.MadeElsewhere || p.DraftID != "" {
		t.Errorf("without its draft: %+v", p)
	}
}
