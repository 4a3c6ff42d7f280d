package hotfolder

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
)

func TestAFileThatCannotBeMovedIsRecordedOnce(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		write(t, filepath.Join(f.Path, office.HotWaiting), nil) // where the folder of that name is to be
		write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
		write(t, filepath.Join(f.Path, "Offer.pdf"), pdf("offer"))
		d.looks()
		all := must(d.intakes())
		if len(all) > 2 {
			t.Errorf("%d records of two files", len(all))
		}
		noErr(t, os.Remove(filepath.Join(f.Path, office.HotWaiting)))
		d.looks()
		expect(t, len(d.drafts()), 2, "%d packages")
	})
}

func TestWhatAPersonClearsFromProblemsStaysCleared(t *testing.T) {
	for name, state := range map[string]office.DraftState{"refused": office.DraftFailed, "taken back": office.DraftCancelled} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			d.takesLease(f)
			d.decide(func(x *office.Draft) { x.State, x.Problem = state, message.MayNotSendDocuments() })
			d.looks()
			if got := files(t, f.Path); !slices.Equal(got, []string{"Problems/Lease.pdf", "Problems/Lease.pdf.txt"}) {
				t.Fatalf("there are %q", got)
			}
			noErr(t, os.Remove(filepath.Join(f.Path, "Problems/Lease.pdf.txt")))
			noErr(t, os.Remove(filepath.Join(f.Path, "Problems/Lease.pdf")))
			d.restart()
			d.looks()
			if got := files(t, f.Path); len(got) != 0 {
				t.Errorf("%q came back", got)
			}
		})
	}
}

func TestAFileOutlivesThatItsDiskIsNotThere(t *testing.T) {
	for _, point := range []string{"folder recorded", "folder moved"} {
		runAtDesk(t, point, func(t *testing.T, d *desk, f office.HotFolder) {
			write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
			d.killedAt(point)
			if n := len(d.drafts()); n != 0 {
				t.Fatalf("%d packages when it was killed", n)
			}
			d.looksWhileAway(f.Path)
			d.looks()
			expect(t, len(d.drafts()), 1, "%d packages, and there are %q", files(t, f.Path))
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

func TestAFolderIsNotAskedAboutWhatWaitsForPeople(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		d.sendsLease(f)
		noErr(t, os.Rename(f.Path, f.Path+" away"))
		d.looks()
		if len(d.waiting) != 0 {
			t.Errorf("the folder was asked for %v", d.waiting)
		}
		d.executed("Lease.pdf", pdf("signed"))
		d.looks()
		noErr(t, os.Rename(f.Path+" away", f.Path))
		d.looks()
		expect(t, files(t, f.Path), []string{"Sent/Lease.pdf", "Signed/Lease signed.pdf"}, "there are %q")
	})
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
