package store

import (
	"testing"

	"countersign/internal/office"
)

func TestTheSumOfDraftsChangesWithThemAlone(t *testing.T) {
	s := newTest(t)
	sum := func() uint64 {
		return read(t, s, func(tx *Tx) (uint64, error) { return tx.DraftsSum(office.DraftQueued, office.DraftFailed) })
	}
	put := func(d office.Draft) {
		t.Helper()
		if err := s.Update(func(tx *Tx) error { return tx.PutDraft(d) }); err != nil {
			t.Fatal(err)
		}
	}
	last := sum()
	for _, d := range []office.Draft{
		{ID: "a", State: office.DraftQueued}, {ID: "b", State: office.DraftFailed}, {ID: "a", State: office.DraftFailed},
		{ID: "a", State: office.DraftFailed, Files: []office.DraftFile{{Copy: "a-1"}}}, {ID: "b", State: office.DraftSent},
	} {
		put(d)
		if now := sum(); now == last || now != sum() {
			t.Errorf("%+v changes nothing, or the sum changes by itself", d)
		} else {
			last = now
		}
	}
	if put(office.Draft{ID: "c", State: office.DraftSent}); sum() != last {
		t.Error("a draft in another state counts")
	}
}
