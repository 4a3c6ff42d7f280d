package outbox

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"countersign/internal/agent/loop/looptest"
	"countersign/internal/esign"
	"countersign/internal/office"
	"countersign/internal/store"
)

// What an event or a list brings is followed all the same: an error would have it dropped.
func TestAPackageWhoseDraftCannotBeReadIsFollowedAsOneMadeElsewhere(t *testing.T) {
	r := New(looptest.Base(t, func() {}), Deps{})
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
	looptest.Spoil(t, &r.Base, "Lease", "drafts")
	if p := claim(); p.Origin != office.MadeElsewhere || p.DraftID != "" {
		t.Errorf("without its draft: %+v", p)
	}
}

// What a package carries outlives what is kept here: after a restore it tells which packages are our own, and where they came from.
func TestAPackageOfALostDraftIsOursWhenThisInstallationHasSentIt(t *testing.T) {
	r := newService(t, refuse)
	d := office.Draft{ID: "draft", Folder: "folder", Service: "one", ExternalData: json.RawMessage(`{"reference":"7"}`)}
	ours := newPackage(d, r.sourceOf(d)).ExternalData
	asText, _ := json.Marshal(string(ours))
	byHand := withCorrelation(nil, source{"by hand", office.TagAt("one", "here"), ""}.String())
	for name, c := range map[string]struct {
		data json.RawMessage
		want office.Package
	}{
		"ours":                        {ours, office.Package{Origin: office.MadeHere, DraftID: "draft", Folder: office.TagAt("one", "folder")}},
		"ours, as a text":             {asText, office.Package{Origin: office.MadeHere, DraftID: "draft", Folder: office.TagAt("one", "folder")}},
		"ours, sent by a person":      {byHand, office.Package{Origin: office.MadeHere, DraftID: "by hand"}},
		"ours, of which there is one": {withCorrelation(nil, "twice/"+office.TagAt("one", "here")), office.Package{Origin: office.MadeElsewhere}},
		"ours, at another service":    {withCorrelation(nil, "draft/"+office.TagAt("other", "here")), office.Package{Origin: office.MadeElsewhere}},
		"another computer's":          {withCorrelation(nil, "draft/there/folder"), office.Package{Origin: office.MadeElsewhere}},
		"nobody's":                    {json.RawMessage(`{"reference":"7"}`), office.Package{Origin: office.MadeElsewhere}},
	} {
		p := office.Package{ID: "p", Origin: office.MadeElsewhere, Service: "one"}
		if err := r.Data.Update(func(tx *store.Tx) error {
			return errors.Join(tx.PutPackage(office.Package{ID: "other", DraftID: "twice"}), r.Claim(tx, &p, c.data))
		}); err != nil {
			t.Fatal(err)
		}
		if c.want.ID = "p"; p.Origin != c.want.Origin || p.DraftID != c.want.DraftID || p.Folder != c.want.Folder {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Its first event may come before the answer that tells its id, and write that in capitals.
func TestAPackageThatAnEventMadeKnownInCapitalsIsTheOneThatWasAdded(t *testing.T) {
	const id, capitals = "5b1e0000-0000-4000-8000-00000000000a", "5B1E0000-0000-4000-8000-00000000000A"
	for want, refused := range map[string]time.Time{capitals: {}, id: time.Now()} { // by that name the service does not know it
		r := newService(t, refuse)
		d := office.Draft{ID: "draft", Name: "Lease", State: office.DraftAdding}
		err := r.Data.Update(func(tx *store.Tx) error {
			p := office.Package{ID: capitals, Origin: office.MadeElsewhere, State: office.PackageOpen, Refused: refused}
			return errors.Join(tx.PutDraft(d), tx.PutPackage(p))
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := r.accepted(d, esign.Added{PackageID: id}); err != nil {
			t.Fatal(err)
		}
		if now, _, err := r.draft("draft"); err != nil || now.PackageID != want {
			t.Errorf("the draft became %+v, %v", now, err)
		}
	}
}
