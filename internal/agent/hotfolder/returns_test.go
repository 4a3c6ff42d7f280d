package hotfolder

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

func TestWhatIsSignedComesBackWhateverThePackageWentThrough(t *testing.T) {
	for name, meanwhile := range map[string]func(d *desk){
		"nothing":                   func(*desk) {},
		"expired, and was extended": func(d *desk) { d.packages(func(p *office.Package) { p.State = office.PackageExpired }) },
		"withdrawn, and opened again": func(d *desk) {
			d.packages(func(p *office.Package) { p.State = office.PackageRescinded })
			d.looks()
			d.packages(func(p *office.Package) { p.State = office.PackageOpen })
		},
		"its folder is paused":  func(d *desk) { f := d.rows()[0].HotFolder; d.put(paused(f)) },
		"its folder is removed": func(d *desk) { _, err := d.Remove(d.rows()[0].ID); noErr(d.t, err) },
		"its folder got other people": func(d *desk) {
			f := d.rows()[0].HotFolder
			f.Signers = []office.Signer{{Email: "jan@example.com"}}
			d.put(f)
		},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			d.takesLease(f)
			d.accepted(func(*office.Package) {})
			d.looks()
			if all, err := d.intakes(); err != nil || len(all) != 0 { // with thousands under way nothing is read of them at each change
				t.Errorf("looked at is %+v, %v", all, err)
			}
			meanwhile(d)
			d.looks()
			d.restart()
			d.executed("Lease.pdf", pdf("signed"))
			d.looks()
			expect(t, files(t, f.Path), []string{"Sent/Lease.pdf", "Signed/Lease signed.pdf"}, "there are %q")
			if left := d.records(); len(left) != 0 {
				t.Errorf("its record stays: %q", left)
			}
		})
	}
}

func TestWhatNeverCameBackIsForgottenAfterYearsUnlessItCanStillBeSigned(t *testing.T) {
	for state, kept := range map[office.PackageState]int{office.PackageOpen: 1, office.PackageExpired: 0} {
		atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
			d.takesLease(f)
			d.accepted(func(p *office.Package) { p.State = state })
			d.looks()
			d.days(keepSeen)
			noErr(t, d.Forget())
			expect(t, len(d.records()), 1, string(state)+": after two years there are %d records")
			d.days(keepSeen + 2)
			noErr(t, d.Forget())
			expect(t, len(d.records()), kept, string(state)+": after longer there are %d records, want %d", kept)
		})
	}
}

// packages changes every package.
func (d *desk) packages(change func(*office.Package)) {
	d.t.Helper()
	for _, x := range d.drafts() {
		noErr(d.t, d.tools.Data.Update(func(tx *store.Tx) error {
			p, _, err := tx.PackageByDraft(x.ID)
			if err != nil {
				return err
			}
			change(&p)
			return tx.PutPackage(p)
		}))
	}
}

func (d *desk) rows() []office.HotFolderRow {
	d.t.Helper()
	return must(d.Folders())
}

// records are the names of all records of files.
func (d *desk) records() (names []string) {
	d.t.Helper()
	noErr(d.t, d.tools.Data.Update(func(tx *store.Tx) error {
		active, err := tx.DocNames(prefixIntake)
		if err != nil {
			return err
		}
		resting, err := tx.DocNames(prefixResting)
		names = append(active, resting...)
		return err
	}))
	return names
}

// A share that is away comes back, or never does: both ends are known before.
func TestAFolderThatIsRemovedWhileItsShareIsAwayIsDoneWithWhenThatIsBack(t *testing.T) {
	for name, c := range map[string]struct {
		taken func(d *desk) // how far its document had come
		after func(d *desk)
		want  []string
	}{
		"before it was a draft": {func(d *desk) { d.killedAt("folder moved") }, func(*desk) {}, []string{"Lease.pdf"}},
		"while it waits":        {func(d *desk) { d.looks() }, func(*desk) {}, []string{"Waiting/Lease.pdf"}},
		"after it was sent":     {func(d *desk) { d.looks() }, func(d *desk) { d.executed("Lease.pdf", pdf("signed")) }, []string{"Sent/Lease.pdf", "Signed/Lease signed.pdf"}},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
			c.taken(d)
			away := f.Path + " away"
			noErr(t, os.Rename(f.Path, away))
			d.looks()
			must(d.Remove(f.ID))
			c.after(d)
			d.looks()
			d.restart()
			d.looks()
			if d.Health.Has(health.HotFolderFails) || d.Health.Has(health.HotFolderWaits) {
				t.Errorf("of a folder that nobody has any more people are told %v", d.Health.List())
			}
			noErr(t, os.Rename(away, f.Path))
			time.Sleep(time.Hour)
			d.looks()
			expect(t, files(t, f.Path), c.want, "there are %q, want %q", c.want)
			if n := len(d.drafts(office.DraftQueued)); n > 1 || name == "before it was a draft" && n > 0 {
				t.Errorf("%d drafts", n)
			}
		})
	}
}

// What a person has made of the saved file is not what everybody signed.
func TestASavedFileThatIsNotAsItWasIsNotGivenBackWhichIsSaidOnce(t *testing.T) {
	writes := func(body []byte) func(string) error {
		return func(path string) error { return os.WriteFile(path, body, 0o600) }
	}
	for name, change := range map[string]func(path string) error{
		"changed": writes(pdf("SIGNED")), "cut": writes(pdf("signed")[:12]), "longer": writes(append(pdf("signed"), pdf("more")...)),
		"no document": writes(bytes.Repeat([]byte("x"), len(pdf("signed")))), "gone": os.Remove,
		"a link": func(path string) error {
			return errors.Join(os.Rename(path, path+" aside"), os.Symlink(path+" aside", path))
		},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			write(t, filepath.Join(d.saveTo, "Another.pdf"), pdf("another"))
			d.sendsLease(f)
			d.executed("Lease.pdf", pdf("signed"))
			noErr(t, change(filepath.Join(d.saveTo, "Lease signed.pdf")))
			d.looks()
			d.restart()
			d.looks()
			expect(t, files(t, f.Path), []string{"Sent/Lease.pdf"}, "there are %q")
			lines, err := d.tools.Activity(9)
			if noErr(t, err); len(lines) != 1 || lines[0].Text != message.NotReturned("Lease signed.pdf", "Scans") || len(d.records()) > 0 {
				t.Errorf("said is %+v; still on their way are %q", lines, d.records())
			}
		})
	}
}

func TestWhatIsSignedComesBackWhenTheShareItWasSavedOnIsBack(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		d.sendsLease(f)
		d.executed("Lease.pdf", pdf("signed"))
		d.looksWhileAway(d.saveTo)
		time.Sleep(longestRest)
		d.looks()
		if got := files(t, f.Path); !slices.Contains(got, "Signed/Lease signed.pdf") {
			t.Errorf("there are %q", got)
		}
	})
}

// The first one could not be moved, and another one is being written under its name.
func TestWhatCameUnderTheNameOfARecordedFileIsTakenOnceItStandsStill(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		file, inTheWay := filepath.Join(f.Path, "Lease.docx"), filepath.Join(f.Path, office.HotWaiting)
		write(t, file, []byte("first"))
		write(t, inTheWay, nil)
		d.looks()
		noErr(t, os.Remove(inTheWay))
		for n := range 200 {
			write(t, file, make([]byte, n+10))
			must(d.look(t.Context(), deaf{}))
			if _, err := os.Stat(file); err != nil {
				t.Fatalf("it was taken while it was written: %q", files(t, f.Path))
			}
			time.Sleep(2 * time.Second)
		}
		if d.looks(); len(d.drafts()) != 1 {
			t.Errorf("%d drafts; there are %q", len(d.drafts()), files(t, f.Path))
		}
	})
}
