package outbox

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
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
