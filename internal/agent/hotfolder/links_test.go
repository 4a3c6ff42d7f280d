package hotfolder

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Whoever may write to a folder puts a link in the place of one of its subfolders: nothing goes there, nothing comes from there,
// the other folders go on, and people are told.
func TestALinkInThePlaceOfASubfolderLeadsNowhere(t *testing.T) {
	for _, place := range []string{office.HotWaiting, office.HotSent, office.HotProblems, office.HotSigned} {
		looptest.Bubble(t, place, func(t *testing.T) {
			d := newDesk(t)
			f, well := d.folder(), d.folder()
			elsewhere := t.TempDir()
			write(t, filepath.Join(elsewhere, "private.pdf"), pdf("private"))
			noErr(t, os.Symlink(elsewhere, filepath.Join(f.Path, place)))
			write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
			write(t, filepath.Join(f.Path, "film.mov"), []byte("film"))
			d.looks()
			d.executed("Lease.pdf", pdf("signed"))
			d.looks()
			expect(t, files(t, elsewhere), []string{"private.pdf"}, "elsewhere there are %q")
			waits := message.SendFolderLink(f.Called(), place)
			if rows, err := d.Folders(); err != nil || rows[0].Problem != waits || !rows[1].Problem.IsZero() {
				t.Errorf("people read %+v, %v", rows, err)
			}
			if d.Health.Has(health.HotFolderWaits) == d.Health.Has(health.HotFolderFails) {
				t.Errorf("health has %v", d.Health.List())
			}
			write(t, filepath.Join(well.Path, "Offer.pdf"), pdf("offer"))
			d.looks()
			if waiting := d.drafts(office.DraftQueued); len(waiting) != 1 || waiting[0].Folder != well.ID {
				t.Errorf("the other folder has sent %+v", waiting)
			}
			noErr(t, os.Remove(filepath.Join(f.Path, place)))
			for range 6 { // it was tried ever more rarely
				d.looks()
			}
			d.decide(func(x *office.Draft) { x.State = office.DraftSent })
			d.looks()
			want := []string{"Problems/film.mov", "Problems/film.mov.txt", "Sent/Lease.pdf", "Signed/Lease signed.pdf"}
			if place == office.HotWaiting {
				want = []string{"Problems/film.mov", "Problems/film.mov.txt", "Sent/Lease.pdf"}
			}
			if got := files(t, f.Path); !slices.Equal(got, want) || d.Health.Has(health.HotFolderWaits) || d.Health.Has(health.HotFolderFails) {
				t.Errorf("once it is gone there are %q, and health has %v", got, d.Health.List())
			}
		})
	}
}

// So is one in the place of the subfolder that is a file's own: the file of that name that it leads to is neither sent nor moved.
func TestALinkInThePlaceOfAFilesOwnSubfolderLeadsNowhere(t *testing.T) {
	for name, sent := range map[string]bool{"before it is sent": false, "when it was sent": true} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			if !sent {
				d.refuse = errPassing
			}
			d.takesLease(f)
			d.refuse = nil
			drafts := len(d.drafts())
			elsewhere := t.TempDir()
			write(t, filepath.Join(elsewhere, "Lease.pdf"), pdf("private"))
			own := must(filepath.Glob(filepath.Join(f.Path, "Waiting", "*")))
			noErr(t, os.RemoveAll(own[0]))
			noErr(t, os.Symlink(elsewhere, own[0]))
			d.decide(func(x *office.Draft) { x.State = office.DraftSent })
			d.looks()
			expect(t, len(d.drafts()), drafts, "%d packages")
			if got := files(t, elsewhere); !slices.Equal(got, []string{"Lease.pdf"}) || !d.Health.Has(health.HotFolderWaits) {
				t.Errorf("elsewhere there are %q; health has %v", got, d.Health.List())
			}
		})
	}
}

func TestWhatTookThePlaceOfAFileIsNotSent(t *testing.T) {
	for name, swap := range map[string]func(private, file string) error{
		"a link to a private file": os.Symlink,
		"a folder":                 func(_, file string) error { return os.Mkdir(file, 0o700) },
	} {
		for _, point := range []string{"folder recorded", "folder moved"} {
			runAtDesk(t, name+", "+point, func(t *testing.T, d *desk, f office.HotFolder) {
				private := filepath.Join(t.TempDir(), "private.pdf")
				write(t, private, pdf("private"))
				write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
				d.killedAt(point)
				found := must(filepath.Glob(filepath.Join(f.Path, "Waiting", "*", "Lease.pdf")))
				file := append(found, filepath.Join(f.Path, "Lease.pdf"))[0]
				noErr(t, os.Remove(file))
				noErr(t, swap(private, file))
				d.looks()
				expect(t, len(d.drafts()), 0, "%d were sent")
				expect(t, must(os.ReadFile(private)), pdf("private"), "the private file is %q")
			})
		}
	}
}

// A file that is swapped after the look at which it had stood still has not stood still.
func TestAFileThatIsReplacedRightBeforeItIsTakenIsLeftAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open folder")
	}
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		for _, name := range []string{"a.pdf", "b.pdf"} {
			write(t, filepath.Join(f.Path, name), pdf(name))
		}
		half := []byte("%PDF-1.7\nhalf")
		d.crash = func(p string) { // while the first is taken
			if p == "folder recorded" {
				d.crash = nil
				write(t, filepath.Join(f.Path, "c.pdf"), half)
				noErr(t, os.Rename(filepath.Join(f.Path, "c.pdf"), filepath.Join(f.Path, "b.pdf")))
			}
		}
		d.looksFor(3)
		expect(t, len(d.drafts()), 1, "%d were sent")
		write(t, filepath.Join(f.Path, "b.pdf"), pdf("whole"))
		d.looks()
		expect(t, len(d.drafts()), 2, "%d were sent")
	})
}

// Whoever may write to the folder above one that sends puts a link to a private folder in its place.
func TestALinkInThePlaceOfTheFolderItselfIsAQuestion(t *testing.T) {
	for name, before := range map[string]bool{"before a file is sent": true, "when one was sent": false} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			if !before {
				d.sendsLease(f)
			}
			elsewhere := t.TempDir()
			noErr(t, os.Mkdir(filepath.Join(elsewhere, "Sent"), 0o755))
			write(t, filepath.Join(elsewhere, "private.pdf"), pdf("private"))
			noErr(t, os.Rename(f.Path, f.Path+" aside"))
			noErr(t, os.Symlink(elsewhere, f.Path))
			if !before {
				d.executed("Lease.pdf", pdf("signed"))
			}
			sent := len(d.drafts())
			d.looks()
			d.put(paused(f)) // a pause confirms nothing
			rows := must(d.Folders())
			if rows[0].Real != f.Real || rows[0].Real == "" {
				t.Errorf("it led to %q, and now to %q", f.Real, rows[0].Real)
			}
			noErr(t, d.tools.Data.Update(func(tx *store.Tx) error {
				list := foldersIn(tx)
				list[0].Paused = false
				return tx.PutDoc(DocFolders, list)
			}))
			d.looks()
			if got := files(t, elsewhere); len(d.drafts()) != sent || !slices.Equal(got, []string{"private.pdf"}) {
				t.Errorf("%d packages, and there are %q", len(d.drafts()), got)
			}
			if rows, err := d.Folders(); err != nil || rows[0].Problem != message.SendFolderElsewhere(f.Called()) {
				t.Errorf("people read %+v, %v", rows, err)
			}
			f.Ask = true
			d.put(f) // it is right: a person says so
			d.looks()
			expect(t, len(d.drafts()), sent+1, "once a person has confirmed it, there are %d packages")
			if got := files(t, elsewhere); !before && !slices.Contains(got, "Signed/Lease signed.pdf") {
				t.Errorf("what came back meanwhile is not in %q", got)
			}
		})
	}
}

// The server of a share is gone, and whoever opens the folder waits for it: the other folders go on, people are told, and the folder
// goes on by itself.
func TestAFolderThatDoesNotAnswerHoldsUpNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		f, well := d.folder(), d.folder()
		back := make(chan struct{})
		_, _ = disk.Ask(f.Path, func() (none struct{}, err error) { <-back; return none, nil }, nil)
		write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
		write(t, filepath.Join(well.Path, "Offer.pdf"), pdf("offer"))
		for range 3 {
			d.looks()
		}
		if waiting := d.drafts(office.DraftQueued); len(waiting) != 1 || waiting[0].Folder != well.ID {
			t.Errorf("the other folder has sent %+v", waiting)
		}
		if !d.Health.Has(health.HotFolderFails) {
			t.Errorf("health has %v", d.Health.List())
		}
		close(back)
		for range 3 {
			d.looks()
		}
		if waiting := d.drafts(office.DraftQueued); len(waiting) != 2 || d.Health.Has(health.HotFolderFails) {
			t.Errorf("once it answers: %+v, health has %v", waiting, d.Health.List())
		}
	})
}

func TestAFileThatSomebodyWritesIsBusy(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only there it can be found out, or made so by a test")
	}
	dir := must(disk.OpenDir(t.TempDir()))
	defer dir.Close()
	scanner := must(os.Create(filepath.Join(dir.Path(), "scan.pdf")))
	info := must(scanner.Stat())
	expect(t, busy(dir, info), true, "open for writing, it is busy: %v")
	noErr(t, scanner.Close())
	expect(t, busy(dir, info), false, "open nowhere, it is busy: %v")
}
