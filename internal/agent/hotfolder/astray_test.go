package hotfolder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop/looptest"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

func TestWhatAPersonClearsFromProblemsStaysCleared(t *testing.T) {
	for name, state := range map[string]office.DraftState{"refused": office.DraftFailed, "taken back": office.DraftCancelled} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			d.takesLease(f)
			d.decide(func(x *office.Draft) { x.State, x.Problem = state, message.MayNotSendDocuments() })
			d.looks()
			noErr(t, errors.Join(os.Remove(filepath.Join(f.Path, "Problems/Lease.pdf.txt")), os.Remove(filepath.Join(f.Path, "Problems/Lease.pdf"))))
			d.restart()
			d.looks()
			expect(t, files(t, f.Path), []string(nil), "%q came back")
		})
	}
}

// looksWhileAway looks while a share is not mounted: what it was mounted on is an empty folder.
func (d *desk) looksWhileAway(folder string) {
	d.t.Helper()
	away := folder + " away"
	noErr(d.t, errors.Join(os.Rename(folder, away), os.Mkdir(folder, 0o755)))
	d.looks()
	noErr(d.t, errors.Join(os.Remove(folder), os.Rename(away, folder)))
}

func TestWhatWasChangedInWaitingOrRemovedIsAskedAboutBeforeItIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(place string) error
		want message.Message
	}{
		"untouched": {func(string) error { return nil }, message.Message{}},
		"touched":   {func(place string) error { return os.Chtimes(place, time.Time{}, time.Unix(1, 0)) }, message.Message{}},
		"changed":   {func(place string) error { return os.WriteFile(place, pdf("lease, corrected"), 0o644) }, message.FileChangedSince("Lease.pdf")},
		"removed":   {os.Remove, message.FileRemovedSince("Lease.pdf")},
		"away": {func(place string) error {
			folder := filepath.Dir(filepath.Dir(filepath.Dir(place)))
			return os.Rename(folder, folder+" away")
		}, message.Message{}},
		"changed, and not read in time": {func(place string) error {
			_, _ = disk.Ask(place, func() (none struct{}, err error) { time.Sleep(time.Minute); return none, nil }, nil)
			return os.WriteFile(place, pdf("lease, corrected"), 0o644)
		}, message.Message{}},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			d.takesLease(f)
			noErr(t, c.do(must(filepath.Glob(filepath.Join(f.Path, office.HotWaiting, "*", "Lease.pdf")))[0]))
			why := must(d.Strayed(d.drafts()[0]))
			time.Sleep(time.Minute) // what comes late
			if expect(t, why, c.want, "it says %v"); why.IsZero() {
				return
			}
			d.decide(func(x *office.Draft) { x.State, x.Problem, x.Astray = office.DraftHeld, why, true })
			d.looks()
			d.looks()
			if len(d.facts) != 1 || d.facts[0].About() != office.DraftSubject(d.drafts()[0].ID) {
				t.Errorf("told are %+v", d.facts)
			}
		})
	}
}

func TestWhatLiesInSentIsWhatWasSent(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		d.takesLease(f)
		write(t, must(filepath.Glob(filepath.Join(f.Path, office.HotWaiting, "*", "Lease.pdf")))[0], pdf("lease, corrected"))
		d.executed("Lease.pdf", pdf("signed"))
		d.looks()
		d.restart()
		d.looks()
		if want := []string{"Problems/Lease.pdf", "Problems/Lease.pdf.txt", "Signed/Lease signed.pdf"}; !slices.Equal(files(t, f.Path), want) || len(d.drafts()) != 1 {
			t.Errorf("there are %q, and %d packages", files(t, f.Path), len(d.drafts()))
		}
		if len(d.facts) != 1 || d.facts[0].Body != message.FileSentAsTaken() {
			t.Errorf("told are %+v", d.facts)
		}
	})
}

// What appears in a share's mount point while it is not mounted is not in the share.
func TestAMountPointIsNotTheFolderThatWasMountedThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		f := d.folder()
		d.takesLease(f)
		noErr(t, errors.Join(os.Rename(f.Path, f.Path+" share"), os.Mkdir(f.Path, 0o755)))
		d.unmounted = true
		write(t, filepath.Join(f.Path, "stray.pdf"), pdf("stray"))
		d.decide(func(x *office.Draft) { x.State = office.DraftSent })
		d.put(named(d.rows()[0].HotFolder))
		d.looks()
		expect(t, files(t, f.Path), []string{"stray.pdf"}, "in the mount point are %q")
		expect(t, d.rows()[0].Problem, message.Then(message.SendFolderAway(f.Called()), message.SendFolderUnmounted()), "people read %q")
		noErr(t, errors.Join(os.RemoveAll(f.Path), os.Rename(f.Path+" share", f.Path)))
		d.unmounted = false
		d.looks()
		expect(t, files(t, f.Path), []string{"Sent/Lease.pdf"}, "in the share are %q")

		noErr(t, errors.Join(os.RemoveAll(f.Path), os.Mkdir(f.Path, 0o755))) // the office gives the share up
		d.unmounted = true
		_, err := d.Remove(f.ID)
		noErr(t, err)
		f.ID = ""
		d.put(f)
		write(t, filepath.Join(f.Path, "Offer.pdf"), pdf("offer"))
		d.looks()
		expect(t, files(t, f.Path), []string{"Waiting/Offer.pdf"}, "in the folder that was added again are %q")
	})
}

func TestWhyAFolderCannotBeUsedIsTold(t *testing.T) {
	for err, want := range map[error]message.Message{
		fs.ErrPermission:       message.Then(message.FolderForbidden("Scans"), message.SendFolderResumes()),
		archive.ErrReadOnly:    message.Then(message.FolderForbidden("Scans"), message.SendFolderResumes()),
		syscall.EROFS:          message.Then(message.FolderForbidden("Scans"), message.SendFolderResumes()),
		syscall.ENOSPC:         message.Then(message.DiskFull("Scans"), message.SendFolderResumes()),
		fs.ErrNotExist:         message.SendFolderAway("Scans"),
		os.ErrDeadlineExceeded: message.SendFolderAway("Scans"),
	} {
		if _, posix := err.(syscall.Errno); posix && runtime.GOOS == "windows" {
			continue
		}
		expect(t, folderTrouble("/office/Scans", &fs.PathError{Op: "rename", Err: err}), want, "%v: people read %v", err)
	}
}

// Where a name cannot be given without replacing another in one step, a kill between the two leaves both.
func TestAFileThatHasBothItsNamesIsSentOnce(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		lease := filepath.Join(f.Path, "Lease.pdf")
		write(t, lease, pdf("lease"))
		d.killedAt("folder recorded")
		all := must(d.intakes())
		next := filepath.Join(f.Path, filepath.FromSlash(all[0].Next))
		noErr(t, os.MkdirAll(filepath.Dir(next), 0o700))
		noErr(t, os.Link(lease, next))
		d.looks()
		expect(t, files(t, f.Path), []string{"Waiting/Lease.pdf"}, "there are %q")
		expect(t, len(d.drafts()), 1, "%d packages")
	})
}

func TestTheNextFileOfTheSameNameIsAnotherOne(t *testing.T) {
	for _, point := range []string{"folder recorded", "folder moved"} {
		runAtDesk(t, point, func(t *testing.T, d *desk, f office.HotFolder) {
			scan := filepath.Join(f.Path, "scan.pdf")
			write(t, scan, pdf("lease"))
			d.killedAt(point)
			if _, err := os.Lstat(scan); err != nil { // else the scanner replaces it
				write(t, scan, pdf("offer"))
			}
			d.looks()
			write(t, scan+" too.pdf", pdf("third"))
			d.looks()
			d.decide(func(x *office.Draft) { x.State = office.DraftSent })
			d.looks()
			want := map[string]int{"folder recorded": 2, "folder moved": 3}[point]
			if n, got := len(d.drafts()), files(t, f.Path); n != want || len(got) != want || !strings.HasPrefix(got[0], "Sent/") {
				t.Errorf("%d packages, and there are %q", n, got)
			}
		})
	}
}

// A share that comes back would be hidden by a folder that was made in its place, with whatever people put there meanwhile.
func TestAFolderThatGoesAwayIsToldIsNotMadeAnewAndComesBackByItself(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		well, away := d.folder(), f.Path+" away"
		write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
		noErr(t, os.Rename(f.Path, away))
		for name, change := range map[string]office.HotFolder{"edited": named(f), "paused": paused(f), "resumed": f} {
			kept, err := d.Put(change)
			if _, missing := os.Stat(f.Path); err != nil || missing == nil || kept.Name != change.Name || kept.Paused != change.Paused {
				t.Errorf("%s: kept %+v (%v), and there is another one: %v", name, kept, err, missing == nil)
			}
		}
		d.put(f)
		write(t, filepath.Join(well.Path, "Offer.pdf"), pdf("offer"))
		d.looks()
		if !d.Health.Has(health.HotFolderFails) || len(d.drafts()) != 1 {
			t.Errorf("health has %v, and %d were sent from the other folder", d.Health.List(), len(d.drafts()))
		}
		rows, err := d.Folders()
		if err != nil || rows[0].Problem != message.SendFolderAway(f.Called()) || !rows[1].Problem.IsZero() || rows[0].Waiting != 0 || rows[1].Waiting != 1 {
			t.Errorf("%+v, %v", rows, err)
		}
		if _, err := d.Try(rows[0].HotFolder); err == nil || message.For(err) != message.SendFolderAway(f.Called()) {
			t.Errorf("a test of it ends with %v", err)
		}
		noErr(t, os.Rename(away, f.Path))
		d.looks()
		if d.Health.Has(health.HotFolderFails) || len(d.drafts()) != 2 {
			t.Errorf("health has %v, and %d were sent", d.Health.List(), len(d.drafts()))
		}
	})
}

// What was on its way waits for it ever longer, and would be told of though nothing is wrong any more.
func TestWhatWaitedForAFolderGoesOnOnceItIsBack(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		d.takesLease(f)
		away := f.Path + " away"
		noErr(t, os.Rename(f.Path, away))
		d.decide(func(x *office.Draft) { x.State = office.DraftSent })
		for range 6 { // it is tried ever more rarely
			d.looks()
		}
		if !d.Health.Has(health.HotFolderFails) {
			t.Fatalf("health has %v", d.Health.List())
		}
		noErr(t, os.Rename(away, f.Path))
		must(d.look(t.Context(), deaf{}))
		if d.Health.Has(health.HotFolderFails) || d.Health.Has(health.HotFolderWaits) {
			t.Errorf("health has %v", d.Health.List())
		}
		expect(t, files(t, f.Path), []string{"Sent/Lease.pdf"}, "there are %q")
	})
}

// One share that is away is one problem, whichever of its folders Countersign uses.
func TestAFolderThatIsAwayWithTheOneForDocumentsIsNotToldBesideIt(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		elsewhere := d.folder()
		share := filepath.Join(t.TempDir(), "share")
		d.saveTo = filepath.Join(share, "Signed")
		moved := f
		moved.Path = filepath.Join(share, "Scans")
		noErr(t, errors.Join(os.MkdirAll(d.saveTo, 0o700), os.Mkdir(moved.Path, 0o700)))
		d.put(moved)
		d.looks()
		noErr(t, os.Rename(share, share+" away"))
		d.away = archive.ErrMissing
		d.looks()
		if !d.Health.Has(health.HotFolderFails) {
			t.Error("nothing is told while nothing is to be saved")
		}
		d.Health.Set(health.FolderFails, message.WaitForFolder("Signed", 1))
		d.looks()
		if rows := d.rows(); d.Health.Has(health.HotFolderFails) || rows[0].Problem.IsZero() {
			t.Errorf("health has %v, the folder says %v", d.Health.List(), rows[0].Problem)
		}
		noErr(t, os.RemoveAll(elsewhere.Path))
		d.looks()
		if !d.Health.Has(health.HotFolderFails) {
			t.Error("of another folder nothing is told")
		}
	})
}

// killedAt has the program end at a point, and start again.
func (d *desk) killedAt(point string) {
	d.crash = func(p string) {
		if p == point {
			runtime.Goexit()
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.looks()
	}()
	<-done
	d.crash = nil
	d.restart()
}

func TestAFileOfAnyNameBecomesOnePackage(t *testing.T) {
	for name, file := range map[string]string{
		"not UTF-8":      "Vertr\xe4ge.pdf",
		"as long as any": strings.Repeat("n", 251) + ".pdf",
		"of two lines":   "Lease\nfor Ana.pdf",
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			if err := os.WriteFile(filepath.Join(f.Path, file), pdf("lease"), 0o644); err != nil {
				t.Skip("no such name here:", err)
			}
			d.refuse = errPassing
			d.looks()
			d.restart()
			d.refuse = nil
			d.looks()
			d.decide(func(x *office.Draft) { x.State = office.DraftFailed })
			d.restart()
			d.looks()
			got := files(t, f.Path)
			if n := len(d.drafts()); n != 1 || len(got) != 2 || !strings.HasPrefix(got[0], "Problems/") || !strings.HasPrefix(got[1], "Problems/") {
				t.Errorf("%d packages, and there are %q", n, got)
			}
		})
	}
}

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
		d.losesRecords()
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
			d.losesRecords()
		},
		message.FileWaitsAlready("Lease.pdf"): func(_ *desk, _ office.HotFolder, place string) {
			write(t, filepath.Join(filepath.Dir(place), "Copy.pdf"), pdf("lease"))
		},
	} {
		atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
			d.takesLease(f)
			c(d, f, must(filepath.Glob(filepath.Join(f.Path, office.HotWaiting, "*", "Lease.pdf")))[0])
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
		expect(t, len(d.drafts(office.DraftHeld)), 1, "%d are held")
	})
}

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
	held := func(made time.Time) bool {
		draft := office.Draft{State: office.DraftQueued}
		noErr(t, d.Data.Update(func(tx *store.Tx) error { d.holdOld(tx, &draft, made, "offer.pdf"); return nil }))
		return draft.State == office.DraftHeld
	}
	for _, wrong := range []time.Duration{365 * 24 * time.Hour, -2 * time.Hour} {
		d.tools.Now = func() time.Time { return now.Add(wrong) }
		d.restart()
		noErr(t, d.Data.Update(func(tx *store.Tx) error { data.MarkRestored(tx, d.Now()); return nil }))
		d.Served.Note(now)
		expect(t, held(d.Now().Add(-time.Minute)), true, "%[2]v: by the wrong clock, a file of before was held: %[1]v", wrong)
		d.tools.Now = func() time.Time { return now }
		d.restart()
		expect(t, held(now.Add(-time.Hour)), true, "%[2]v: a file of before was held: %[1]v", wrong)
		expect(t, held(now.Add(time.Hour)), false, "%[2]v: a file of after was held: %[1]v", wrong)
	}
}

// Whoever may write to a folder puts a link in the place of one of its subfolders: nothing goes there, nothing comes from there,
// the other folders go on, and people are told.
func TestALinkInThePlaceOfASubfolderLeadsNowhere(t *testing.T) {
	for _, place := range []string{office.HotWaiting, office.HotSent, office.HotProblems, office.HotSigned} {
		looptest.Bubble(t, place, func(t *testing.T) {
			d := newDesk(t)
			f, well := d.folder(), d.folder()
			changed := false // whoever shows the folders reads them again
			d.Service.deps.Changed = func() { changed = true }
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
			if rows, err := d.Folders(); err != nil || rows[0].Problem != waits || !rows[1].Problem.IsZero() || !changed {
				t.Errorf("people read %+v, told: %v, %v", rows, changed, err)
			}
			changed = false
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
			if got := files(t, f.Path); !slices.Equal(got, want) || d.Health.Has(health.HotFolderWaits) || d.Health.Has(health.HotFolderFails) || !changed {
				t.Errorf("once it is gone there are %q, health has %v, told: %v", got, d.Health.List(), changed)
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
