package hotfolder

import (
	"slices"
	"testing"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/office"
	"countersign/internal/store"
)

func TestWhatWasSentInATimeThatIsLostComesBackToTheFolderThatItCameFrom(t *testing.T) {
	for name, c := range map[string]struct {
		folder func(id string) string // as the package has it
		known  string                 // what its document was called
		want   int
	}{
		"as it was known here":        {func(id string) string { return id }, "Lease.pdf", 1},
		"as the package carries it":   {func(id string) string { return office.TagAt("one", id) }, "", 1},
		"a folder that sends no more": {func(string) string { return "gone" }, "Lease.pdf", 0},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			d.sendsLease(f)
			documents := []office.Document{{ID: "d", Name: "Offer", FileName: c.known}}
			p := office.Package{ID: "p", Name: "Offer", Source: office.Source{DraftID: "lost", Folder: c.folder(f.ID)}, Home: office.Home{Service: "one"}, Documents: documents}
			d.saved(p, "Offer.pdf", pdf("signed"))
			all, err := d.intakes()
			if noErr(t, err); len(all) != c.want || c.want == 1 && c.known != "" && all[0].Name != c.known {
				t.Errorf("on their way are %+v", all)
			}
			d.update(func(tx *store.Tx) error { WakeReturn(tx, p); return nil }) // the next file of it is saved
			for range 2 {
				d.looks()
				d.restart()
			}
			if want := []string{"Sent/Lease.pdf", "Signed/Offer signed.pdf"}; !slices.Equal(files(t, f.Path), want[:1+c.want]) || len(d.drafts()) != 1 {
				t.Errorf("there are %q, and %d drafts", files(t, f.Path), len(d.drafts()))
			}
			d.update(func(tx *store.Tx) error {
				WakeReturn(tx, office.Package{ID: "open", Source: office.Source{DraftID: "open", Folder: p.Folder}})
				return nil
			})
			if all, err := d.intakes(); err != nil || len(all) > 0 {
				t.Errorf("of what has nothing to give back there are %+v, %v", all, err)
			}
		})
	}
}

func TestAFileOfAfterTheRestoringIsSentThoughTheClockWasWrongThen(t *testing.T) {
	d := newDesk(t)
	now := d.Now()
	held := func(made, now time.Time) bool {
		draft := office.Draft{State: office.DraftQueued}
		noErr(t, d.Data.Update(func(tx *store.Tx) error { holdOld(tx, &draft, made, "offer.pdf", now); return nil }))
		return draft.State == office.DraftHeld
	}
	noErr(t, d.Data.Update(func(tx *store.Tx) error { data.MarkRestored(tx, now.Add(365*24*time.Hour)); return nil }))
	if !held(now.Add(-time.Hour), now) {
		t.Error("a file of before was sent")
	}
	if held(now.Add(time.Hour), now.Add(2*time.Hour)) {
		t.Error("a file of after was held")
	}
}
