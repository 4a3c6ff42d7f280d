package hotfolder

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

func TestWhatIsSignedComesBackWhateverHappens(t *testing.T) {
	state := func(s office.PackageState) func(*office.Package) { return func(p *office.Package) { p.State = s } }
	nothing := func(*desk, office.HotFolder) {}
	quits := func(point string) func(*desk, office.HotFolder) { // orderly, in the middle of a copy
		return func(d *desk, _ office.HotFolder) {
			ctx, quit := context.WithCancel(d.t.Context())
			d.crash = func(p string) {
				if p == point {
					quit()
				}
			}
			must(d.look(ctx, deaf{}))
			if d.crash = nil; ctx.Err() == nil {
				d.t.Fatal("it was not interrupted")
			}
			d.restart()
		}
	}
	for name, c := range map[string]struct {
		before, after func(d *desk, f office.HotFolder)
	}{
		"nothing":                   {nothing, nothing},
		"expired, and was extended": {func(d *desk, _ office.HotFolder) { d.packages(state(office.PackageExpired)) }, nothing},
		"withdrawn, and opened again": {func(d *desk, _ office.HotFolder) {
			d.packages(state(office.PackageRescinded))
			d.looks()
			d.packages(state(office.PackageOpen))
		}, nothing},
		"its folder is paused":        {func(d *desk, f office.HotFolder) { d.put(paused(f)) }, nothing},
		"its folder is removed":       {func(d *desk, f office.HotFolder) { must(d.Remove(f.ID)) }, nothing},
		"its folder got other people": {func(d *desk, f office.HotFolder) { f.Signers = []office.Signer{{Email: "jan@example.com"}}; d.put(f) }, nothing},
		"its folder was away, and again": {func(d *desk, f office.HotFolder) {
			d.looksWhileAway(f.Path)
			expect(d.t, len(d.waiting), 0, "asked about what waits for people were %d folders")
		}, func(d *desk, f office.HotFolder) { d.looksWhileAway(f.Path) }},
		"the share it was saved on is away":             {nothing, func(d *desk, _ office.HotFolder) { d.looksWhileAway(d.saveTo) }},
		"the program quits before it is copied":         {nothing, quits("folder copied")},
		"the program quits before that can be recorded": {nothing, quits("folder returned")},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			d.takesLease(f)
			d.accepted(func(*office.Package) {})
			d.looks()
			if all, err := d.intakes(); err != nil || len(all) != 0 { // with thousands under way nothing is read of them at each change
				t.Errorf("looked at is %+v, %v", all, err)
			}
			c.before(d, f)
			d.looks()
			d.restart()
			d.executed("Lease.pdf", pdf("signed"))
			c.after(d, f)
			time.Sleep(longestRest)
			d.looks()
			expect(t, files(t, f.Path), []string{"Sent/Lease.pdf", "Signed/Lease signed.pdf"}, "there are %q")
			expect(t, d.records(), []string(nil), "its record stays: %q")
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
		d.update(func(tx *store.Tx) error {
			p, _, _ := tx.PackageByDraft(x.ID)
			change(&p)
			return tx.PutPackage(p)
		})
	}
}

func (d *desk) rows() []office.HotFolderRow {
	d.t.Helper()
	return must(d.Folders())
}

// records are the names of all records of files.
func (d *desk) records() (names []string) {
	d.t.Helper()
	d.update(func(tx *store.Tx) error {
		active, _ := tx.DocNames(prefixIntake)
		resting, err := tx.DocNames(prefixResting)
		names = append(active, resting...)
		return err
	})
	return names
}

func (d *desk) losesRecords() {
	d.t.Helper()
	for _, name := range d.records() {
		d.update(func(tx *store.Tx) error { return tx.PutDoc(name, nil) })
	}
}

func TestAFolderThatIsRenamedAndChangedToItsNewPathGoesOn(t *testing.T) {
	back := []string{"Sent/Lease.pdf", "Signed/Lease signed.pdf"}
	for name, c := range map[string]struct {
		sent, undrafted bool
		move            func(from, to string) error
		want            []string
	}{
		"its document was sent":            {sent: true, move: os.Rename, want: back},
		"its document waits":               {move: os.Rename, want: back},
		"its document is no draft":         {undrafted: true, move: os.Rename, want: back},
		"it has both paths":                {move: os.Symlink, want: back},
		"it is lost":                       {sent: true, move: func(from, _ string) error { return os.RemoveAll(from) }, want: back[1:]},
		"it is away with what is no draft": {undrafted: true, move: func(from, _ string) error { return os.Rename(from, from+" away") }},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			if c.undrafted {
				d.refuse = errPassing
			}
			if d.takesLease(f); c.sent {
				d.accepted(func(*office.Package) {})
				d.looks()
			}
			to := filepath.Join(filepath.Dir(f.Path), "Contracts")
			noErr(t, c.move(f.Path, to))
			f.Path, d.refuse = to, nil
			d.put(f)
			d.looks()
			waits := c.want == nil
			if says := d.rows()[0].Problem; len(d.drafts()) > 1 || (len(d.drafts()) == 0) != waits || says.IsZero() == waits || d.Health.Has(health.HotFolderWaits) != waits {
				t.Errorf("of %d drafts, the folder says %q, health %v", len(d.drafts()), says, d.Health.List())
			}
			for _, x := range d.drafts(office.DraftQueued) {
				must(os.Stat(x.Files[0].Path))
			}
			d.executed("Lease.pdf", pdf("signed"))
			d.looks()
			expect(t, files(t, must(filepath.EvalSymlinks(to))), c.want, "there are %q")
		})
	}
}

func TestAFolderSaysThatNothingComesBackWhereAnotherComputerSaves(t *testing.T) {
	d := newDesk(t)
	d.deps.Settings = func() office.Settings {
		return office.Settings{SaveSettings: office.SaveSettings{SavedElsewhere: true}}
	}
	d.restart()
	d.folder()
	expect(t, d.rows()[0].Problem, message.SendFolderSavedElsewhere(), "it says %v")
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

// Neither can be moved, and another one is being written under the name of the first.
func TestAFileThatCannotBeMovedIsRecordedOnceAndWhatComesUnderItsNameIsTakenOnceItStandsStill(t *testing.T) {
	atDesk(t, func(t *testing.T, d *desk, f office.HotFolder) {
		file, inTheWay := filepath.Join(f.Path, "Lease.docx"), filepath.Join(f.Path, office.HotWaiting)
		write(t, file, []byte("first"))
		write(t, filepath.Join(f.Path, "Offer.pdf"), pdf("offer"))
		write(t, inTheWay, nil)
		d.looks()
		if all := must(d.intakes()); len(all) > 2 {
			t.Errorf("%d records of two files", len(all))
		}
		noErr(t, os.Remove(inTheWay))
		for n := range 200 {
			write(t, file, make([]byte, n+10))
			d.looksFor(1)
			if _, err := os.Stat(file); err != nil {
				t.Fatalf("it was taken while it was written: %q", files(t, f.Path))
			}
		}
		if d.looks(); len(d.drafts()) != 2 {
			t.Errorf("%d drafts; there are %q", len(d.drafts()), files(t, f.Path))
		}
	})
}
