package hotfolder

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"countersign/internal/agent/loop/looptest"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// lostState is an office whose folder has a document in Waiting, of which it knows nothing any more.
func lostState(t *testing.T, installation func(before string) string) (*desk, office.HotFolder) {
	t.Helper()
	before := newDesk(t)
	f := before.folder()
	write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
	before.looks()
	d := newDesk(t)
	name := installation(before.deps.Installation())
	d.deps.Installation = func() string { return name }
	d.restart()
	return d, d.folder(func(x *office.HotFolder) { x.Path = f.Path })
}

func same(before string) string { return before }

func TestADocumentInWaitingThatNobodyKnowsWaitsForAPerson(t *testing.T) {
	for state, want := range map[office.DraftState][]string{
		office.DraftHeld:      {"Waiting/Lease.pdf"},
		office.DraftSent:      {"Sent/Lease.pdf"},
		office.DraftCancelled: {"Problems/Lease.pdf", "Problems/Lease.pdf.txt"},
	} {
		looptest.Bubble(t, string(state), func(t *testing.T) {
			d, f := lostState(t, same)
			d.looks()
			d.restart()
			d.looks()
			all := d.drafts()
			if len(all) != 1 || all[0].State != office.DraftHeld || all[0].Problem != message.FileOfBefore("Lease.pdf") {
				t.Fatalf("the drafts are %+v", all)
			}
			expect(t, d.rows()[0].Waiting, 1, "%d documents wait")
			if len(d.facts) != 1 || d.facts[0].About() != office.DraftSubject(all[0].ID) {
				t.Errorf("told were %+v", d.facts)
			}
			d.decide(func(x *office.Draft) { x.State = state })
			d.looks()
			expect(t, files(t, f.Path), want, "there are %q, want %q", want)
		})
	}
}

func TestWhatAnotherComputerHasInWaitingIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, f := lostState(t, func(string) string { return "another one" })
		write(t, filepath.Join(f.Path, office.HotWaiting, "Letter.pdf"), pdf("letter"))
		noErr(t, os.Mkdir(filepath.Join(f.Path, office.HotWaiting, "2025"), 0o755))
		write(t, filepath.Join(f.Path, office.HotWaiting, "2025", "Old.pdf"), pdf("old"))
		d.looks()
		if n, got := len(d.drafts()), files(t, f.Path); n != 0 || len(got) != 3 {
			t.Errorf("%d drafts, and there are %q", n, got)
		}
	})
}

// The record alone was lost: its draft is the one that waits.
func TestADocumentInWaitingWhoseRecordIsLostIsItsDraftsAgain(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		d.takesLease(f)
		name := d.records()[0]
		noErr(t, d.tools.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(name, nil) }))
		d.restart()
		d.looks()
		expect(t, d.rows()[0].Waiting, 1, "%d documents wait")
		d.executed("Lease.pdf", pdf("signed"))
		d.looks()
		if got := files(t, f.Path); len(d.drafts()) != 1 || !slices.Equal(got, []string{"Sent/Lease.pdf", "Signed/Lease signed.pdf"}) {
			t.Errorf("%d drafts, and there are %q", len(d.drafts()), got)
		}
	})
}

// Its draft may have been sent, or the same document waits beside it.
func TestADocumentInWaitingWhoseRecordIsLostIsAQuestionWhereItsDraftDoesNotWaitForIt(t *testing.T) {
	for want, c := range map[message.Message]func(d *desk, f office.HotFolder, place string){
		message.FileSentBefore("Lease.pdf"): func(d *desk, _ office.HotFolder, _ string) {
			d.accepted(func(*office.Package) {})
			name := d.records()[0]
			d.update(func(tx *store.Tx) error { return tx.PutDoc(name, nil) })
		},
		message.FileWaitsAlready("Lease.pdf"): func(_ *desk, _ office.HotFolder, place string) {
			write(t, filepath.Join(filepath.Dir(place), "Copy.pdf"), pdf("lease"))
		},
	} {
		atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
			d.takesLease(f)
			place, err := filepath.Glob(filepath.Join(f.Path, office.HotWaiting, "*", "Lease.pdf"))
			if noErr(t, err); len(place) != 1 {
				t.Fatal(place)
			}
			c(d, f, place[0])
			d.restart()
			d.looks()
			if held := d.drafts(office.DraftHeld); len(held) != 1 || held[0].Problem != want || len(d.drafts()) != 2 {
				t.Errorf("%v: held are %+v of %d", want, held, len(d.drafts()))
			}
		})
	}
}

func TestADocumentInWaitingIsFoundWhenItsShareIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, f := lostState(t, same)
		d.looksWhileAway(f.Path)
		d.looks()
		if held := d.drafts(office.DraftHeld); len(held) != 1 {
			t.Errorf("held are %+v", held)
		}
	})
}
