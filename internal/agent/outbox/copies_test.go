package outbox

import (
	"bytes"
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
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/store"
)

// given is what newPackage gives, as it stands in an upload.
var given = []byte("\r\n\r\n%PDF-1.7\r\n--")

func TestWhatGoesOutIsWhatWasGivenWhateverBecomesOfTheFile(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"edited, of the same length": func(path string) error { return os.WriteFile(path, []byte("%PDF-2.0"), 0o600) },
		"longer":                     func(path string) error { return os.WriteFile(path, []byte("%PDF-1.7\nmore"), 0o600) },
		"deleted":                    os.Remove,
	} {
		r := newService(t, accept)
		d := r.newPackage(t)
		id := must(r.Hold(d))
		held, _, err := r.Data.Draft(id)
		if err != nil || held.State != office.DraftHeld || !held.Stopped {
			t.Errorf("%s: what was stopped is %+v, %v", name, held, err)
		}
		if path, err := r.Original(held.Files[0]); err != nil || path != d.Files[0] {
			t.Errorf("%s: before that, opened is %q, %v", name, path, err)
		}
		noErr(t, change(d.Files[0]))
		if path, err := r.Original(held.Files[0]); path != "" || message.For(err) != message.OriginalChanged("Lease.pdf") {
			t.Errorf("%s: opened is %q, %v", name, path, err)
		}
		noErr(t, r.Resolve(id, true, 0))
		eventually(t, "it is sent", func() bool { return r.service.added() == 1 })
		if got := r.service.sent(); len(got) != 1 || !bytes.Contains(got[0], given) {
			t.Errorf("%s: sent was %q", name, got)
		}
	}
}

func TestARefusedDraftIsChangedFromItsCopyWhichStaysUntilAnotherTakesItsPlace(t *testing.T) {
	r := newService(t, refuse)
	d := r.newPackage(t)
	state := must(r.Send(t.Context(), d, nil))
	noErr(t, os.Remove(d.Files[0]))
	keep := func(_ context.Context, name string, _ int64, from io.Reader) (string, error) {
		path := filepath.Join(t.TempDir(), name)
		b := must(io.ReadAll(from))
		return path, os.WriteFile(path, b, 0o600)
	}
	again, lost, err := r.Again(t.Context(), state.DraftID, keep)
	if err != nil || len(lost) != 0 || len(again.Files) != 1 || again.Files[0] == d.Files[0] {
		t.Fatalf("to be changed: %+v, lost %q, %v", again, lost, err)
	}
	again.Name, again.Replaces = "Lease, second try", []string{state.DraftID}
	state, err = r.Send(t.Context(), again, nil)
	if drafts, err2 := r.Drafts(); err != nil || err2 != nil || len(drafts) != 1 || drafts[0].Name != again.Name {
		t.Errorf("drafts: %+v, %v, %v", drafts, err, err2)
	}
	eventually(t, "the first copy is gone", func() bool { return r.copiesKept() == 1 })
	r.service.answer(accept, nil)
	noErr(t, r.Resolve(state.DraftID, true, 0))
	eventually(t, "it is sent", func() bool { return r.service.added() == 3 })
	for _, got := range r.service.sent() {
		if !bytes.Contains(got, given) {
			t.Errorf("sent was %q", got)
		}
	}
	eventually(t, "the copy is gone", func() bool { return r.copiesKept() == 0 })
}

func TestWhatAKillLeavesIsSweptAndNothingElse(t *testing.T) {
	r := newService(t, accept)
	id := must(r.Hold(r.newPackage(t)))
	back := must(r.Hold(r.newPackage(t)))
	if inTime, err := r.Cancel(back); err != nil || !inTime {
		t.Errorf("taken back: %v, %v", inTime, err)
	}
	r.end()
	for _, left := range []string{"4b3c0000-0000-4000-8000-000000000000-1", ".countersign-0011223344556677-0011223344556677.part", "held-x"} {
		noErr(t, os.WriteFile(filepath.Join(locations.Outbox(r.dir), left), []byte("%PDF-"), 0o600))
	}
	r.sweepCopies()
	if _, err := os.Stat(filepath.Join(locations.Outbox(r.dir), id+"-1")); err != nil || r.copiesKept() != 1 {
		t.Errorf("%d are kept, %v", r.copiesKept(), err)
	}
	if sent, err := os.ReadDir(locations.Sent(r.dir)); err == nil {
		t.Errorf("what was taken back is kept as sent: %v", sent)
	}
}

// What lies at the path by now is another document.
func TestADraftWithoutItsWholeCopySendsNothing(t *testing.T) {
	for name, lose := range map[string]func(f *office.DraftFile, copied string) error{
		"its copy was let go of":       func(f *office.DraftFile, _ string) error { f.Copy = ""; return nil },
		"its copy is gone":             func(_ *office.DraftFile, copied string) error { return os.Remove(copied) },
		"its name leads elsewhere":     func(f *office.DraftFile, _ string) error { f.Copy = "../dropped/Lease.pdf"; return nil },
		"nobody knows what it is like": func(f *office.DraftFile, _ string) error { f.SHA256 = ""; return nil },
		"its copy is damaged":          func(_ *office.DraftFile, copied string) error { return os.WriteFile(copied, []byte("%PDF-1.8"), 0o600) },
	} {
		r := newService(t, accept)
		r.end() // the test does what it runs
		d := r.newPackage(t)
		id := must(r.Hold(d))
		noErr(t, os.MkdirAll(locations.Dropped(r.dir), 0o700))
		noErr(t, os.WriteFile(filepath.Join(locations.Dropped(r.dir), "Lease.pdf"), []byte("%PDF-1.7"), 0o600))
		held, _, err := r.Data.Draft(id)
		noErr(t, err)
		noErr(t, lose(&held.Files[0], filepath.Join(locations.Outbox(r.dir), held.Files[0].Copy)))
		noErr(t, r.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(held) }))
		if file, err := r.OpenSent(held.Files[0]); err == nil {
			t.Errorf("%s: shown is %s", name, file.Name())
		}
		noErr(t, r.Resolve(id, true, 0))
		_, err = r.sendDue(t.Context())
		state, _ := r.draftState(id)
		if err != nil || state.State != office.DraftFailed || state.Problem.IsZero() || len(r.service.sent())+r.service.added() != 0 {
			t.Errorf("%s: %+v, %v; sent was %q", name, state, err, r.service.sent())
		}
	}
}

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
