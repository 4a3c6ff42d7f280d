package outbox

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/esign"
	"countersign/internal/locations"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/store"
)

// A SIGKILL between the record of what was sent and the move of its copy is as if the sweep had not come yet.
func TestWhatWasSentIsKeptUntilItsPackageHasEndedLongAgo(t *testing.T) {
	const keep = 5
	r := newService(t, accept)
	state := must(r.Send(t.Context(), r.newPackage(t), nil))
	r.end() // the test does what it runs
	r.sweepCopies()
	d, _, err := r.DraftOf(state.PackageID)
	noErr(t, err)
	in := func(dir string) bool { _, err := os.Lstat(filepath.Join(dir, d.Files[0].Copy)); return err == nil }
	if in(locations.Outbox(r.dir)) || !in(locations.Sent(r.dir)) {
		t.Fatal("it was not moved")
	}
	file := must(r.OpenSent(d.Files[0]))
	b, err := io.ReadAll(file)
	noErr(t, errors.Join(err, file.Close()))
	expect(t, int64(len(b)), d.Files[0].Size, "it has %d bytes")

	left := filepath.Join(locations.Sent(r.dir), "of-a-draft-that-a-backup-does-not-know-1")
	noErr(t, os.WriteFile(left, []byte("%PDF-"), 0o600))
	day := time.Now()
	work := func(days int) bool {
		for range days {
			day = day.AddDate(0, 0, 1)
			noErr(t, r.Data.Update(func(tx *store.Tx) error { _, err := tx.CountDay(day); return err }))
		}
		noErr(t, r.ForgetSent(t.Context(), keep))
		return in(locations.Sent(r.dir))
	}
	job := office.Job{PackageID: state.PackageID, DocumentID: "d", Kind: office.FileSigned, Folder: r.dir, Target: "d.pdf"}
	put := func(change func(*office.Package, *office.Job)) {
		t.Helper()
		noErr(t, r.Data.Update(func(tx *store.Tx) error {
			p, _, err := tx.Package(state.PackageID)
			_, planned := tx.PlanJob(job)
			change(&p, &job)
			return errors.Join(err, planned, tx.PutPackage(p), tx.PutJob(job))
		}))
	}
	if !work(3 * keep) {
		t.Fatal("it is gone while the package is open")
	}
	put(func(p *office.Package, _ *office.Job) { p.State = office.PackageExpired })
	work(keep)
	put(func(p *office.Package, _ *office.Job) { p.State = office.PackageOpen }) // it was given more time
	if !work(3 * keep) {
		t.Fatal("it is gone while the package is open again")
	}
	put(func(p *office.Package, j *office.Job) {
		p.State, p.Saved, j.State = office.PackageExecuted, true, office.JobDone
	})
	if !work(1) || !work(keep+1) {
		t.Fatal("it is gone before it was compared")
	}
	put(func(_ *office.Package, j *office.Job) { j.Match.State = office.MatchSame })
	if _, err := os.Lstat(left); work(0) || err != nil {
		t.Errorf("it is still there, or what nobody knows is not: %v", err)
	}
	if d, _, err = r.DraftOf(state.PackageID); err != nil || d.Files[0].Copy != "" || d.Files[0].SHA256 == "" {
		t.Errorf("%+v, %v", d.Files[0], err)
	}
	if _, err := r.OpenSent(d.Files[0]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is opened: %v", err)
	}
	noErr(t, os.Chtimes(left, time.Time{}, time.Now().AddDate(0, 0, -keep-1)))
	work(0)
	if _, err := os.Lstat(left); err == nil {
		t.Error("what nobody knows is still there")
	}
}

// Of a list that is stopped nothing waits any more, from the commit on that stops it; what it cannot commit stops nothing.
func TestNothingOfAListWaitsOnceItIsStopped(t *testing.T) {
	r := newService(t, accept)
	r.end()
	given := r.newPackage(t)
	sums := must(r.Sums(t.Context(), given))
	pages := r.deps.Pages
	r.deps.Pages = func(context.Context, string) (int, error) { return 0, preview.ErrPassword }
	var refused *DraftError
	if err := r.KeepList(t.Context(), given, sums, nil); !errors.As(err, &refused) {
		t.Errorf("of a document with a password: %v", err)
	}
	r.deps.Pages = pages
	var common office.Draft
	noErr(t, r.KeepList(t.Context(), given, sums, func(_ *store.Tx, d *office.Draft) error { common = *d; return nil }))
	noErr(t, r.Data.Store.View(func(tx *store.Tx) (err error) { common, _, err = tx.Draft(common.ID); return err }))
	line := given
	line.Files = nil
	nothing := func(*store.Tx, *office.Draft) error { return nil }
	noErr(t, errors.Join(r.FromList(t.Context(), common, "one", line, nothing), r.FromList(t.Context(), common, "two", line, nothing)))
	common.ID = "another list"
	noErr(t, r.FromList(t.Context(), common, "other", line, nothing))
	states := func() (said string) {
		for _, id := range []string{"one", "two", "other"} {
			d, _, err := r.Data.Draft(id)
			noErr(t, err)
			said += string(d.State) + " "
		}
		return said
	}
	id := ""
	noErr(t, r.Data.Store.View(func(tx *store.Tx) error { d, _, err := tx.Draft("one"); id = d.List; return err }))
	noErr(t, r.Data.Update(func(tx *store.Tx) error { // sent again after an answer that was lost: the service may have it
		d, _, err := tx.Draft("two")
		d.Was = office.DraftUnknown
		return errors.Join(err, tx.PutDraft(d))
	}))
	var unsent []string
	noErr(t, r.Data.Update(func(tx *store.Tx) (err error) { unsent, err = r.TakeBackList(tx, id); return err }))
	if states() != "cancelled cancelled queued " || !slices.Equal(unsent, []string{"one"}) {
		t.Error(states(), unsent)
	}

	stopped := false
	r.deps.Requeued = func(tx *store.Tx, list string) (err error) {
		if unsent = nil; stopped {
			unsent, err = r.TakeBackList(tx, list)
		}
		return err
	}
	for again, want := range map[office.DraftState]string{office.DraftQueued: "other", office.DraftUnknown: ""} {
		for _, stopped = range []bool{false, true} {
			d := office.Draft{ID: "other", List: "another list", State: office.DraftAdding}
			d.Was = again
			noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(d) }))
			noErr(t, r.refused(t.Context(), d, &esign.Error{Kind: esign.TooMany}))
			if state := states(); strings.HasSuffix(state, "queued ") == stopped || stopped && strings.Join(unsent, " ") != want {
				t.Errorf("stopped while it was being sent, %v: %s, %q", stopped, state, unsent)
			}
		}
	}
}
