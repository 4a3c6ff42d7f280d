package hotfolder

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
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
		"the share it was saved on is away": {nothing, func(d *desk, _ office.HotFolder) { d.looksWhileAway(d.saveTo) }},
		"likewise, with a note in its mount point": {nothing, func(d *desk, _ office.HotFolder) {
			signed := filepath.Join(d.saveTo, "Lease signed.pdf")
			write(d.t, filepath.Join(d.saveTo, "NOT MOUNTED"), nil)
			d.away = os.ErrNotExist
			noErr(d.t, os.Rename(signed, signed+" away"))
			d.looks()
			d.away = nil
			noErr(d.t, os.Rename(signed+" away", signed))
		}},
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

// A document that comes into its folder again, right after it came first, is sent, or held with the reason, or said to be the
// one that is on its way: it never disappears.
func TestADocumentThatComesAgainHasOneVisibleEnd(t *testing.T) {
	type end string
	const (
		sentAnew    end = "sent anew"
		asked       end = "held, for it was sent"
		askedToWait end = "held, for the other one waits"
		theSame     end = "said to be the same"
	)
	state := func(s office.DraftState) func(*desk, office.HotFolder) {
		return func(d *desk, _ office.HotFolder) {
			d.decide(func(x *office.Draft) { x.State, x.Problem = s, message.Message{} })
		}
	}
	pack := func(change func(*office.Package)) func(*desk, office.HotFolder) {
		return func(d *desk, _ office.HotFolder) { d.accepted(change) }
	}
	withdrawn := func(s office.WithdrawalState) func(*desk, office.HotFolder) {
		return pack(func(p *office.Package) { p.Withdrawal = &office.Withdrawal{State: s} })
	}
	edited := func(change func(*office.HotFolder)) func(*desk, office.HotFolder) {
		return func(d *desk, f office.HotFolder) {
			d.accepted(func(*office.Package) {})
			change(&f)
			d.put(f)
		}
	}
	for name, c := range map[string]struct {
		meanwhile func(d *desk, f office.HotFolder)
		name      string
		want      end
	}{
		"while it waits to be sent":               {state(office.DraftQueued), "Lease.pdf", theSame},
		"while it waits for a person":             {state(office.DraftHeld), "Lease.pdf", theSame},
		"while its outcome is unknown":            {state(office.DraftUnknown), "Lease.pdf", theSame},
		"while it waits, under another name":      {state(office.DraftQueued), "Copy.pdf", askedToWait},
		"while it can be signed":                  {pack(func(*office.Package) {}), "Lease.pdf", theSame},
		"while it can be signed, after a restart": {func(d *desk, _ office.HotFolder) { d.accepted(func(*office.Package) {}); d.restart() }, "Lease.pdf", theSame},
		"while it can be signed, after a pause":   {edited(func(f *office.HotFolder) { f.Paused = false }), "Lease.pdf", theSame},
		"while it can be signed, as a copy":       {pack(func(*office.Package) {}), "Copy.pdf", asked},
		"while it can be signed, an hour later":   {pack(func(*office.Package) { time.Sleep(time.Hour) }), "Lease.pdf", asked},
		"after the people were corrected":         {edited(func(f *office.HotFolder) { f.Signers[0].Email = "jan@example.com" }), "Lease.pdf", asked},
		"after somebody was added":                {edited(func(f *office.HotFolder) { f.Signers = append(f.Signers, office.Signer{Email: "jan@example.com"}) }), "Lease.pdf", asked},
		"after the message was corrected":         {edited(func(f *office.HotFolder) { f.Message = "Please sign." }), "Lease.pdf", asked},
		"after the due date was corrected":        {edited(func(f *office.HotFolder) { f.DueDays = 3 }), "Lease.pdf", asked},
		"after the order was corrected":           {edited(func(f *office.HotFolder) { f.Sequential = true }), "Lease.pdf", asked},
		"after it was withdrawn":                  {pack(func(p *office.Package) { p.State = office.PackageRescinded }), "Lease.pdf", asked},
		"while it is being withdrawn":             {withdrawn(office.WithdrawWanted), "Lease.pdf", asked},
		"when it may have been withdrawn":         {withdrawn(office.WithdrawUnknown), "Lease.pdf", asked},
		"after somebody declined": {pack(func(p *office.Package) {
			p.Signers = []office.Signer{{ID: "a", Declined: office.When{Time: time.Now()}}}
		}), "Lease.pdf", asked},
		"after it expired":           {pack(func(p *office.Package) { p.State = office.PackageExpired }), "Lease.pdf", asked},
		"after everybody has signed": {pack(func(p *office.Package) { p.State = office.PackageExecuted }), "Lease.pdf", asked},
		"after the folder was removed and added again": {func(d *desk, f office.HotFolder) {
			d.accepted(func(*office.Package) {})
			must(d.Remove(f.ID))
			f.ID = ""
			d.put(f)
			time.Sleep(time.Hour)
		}, "Lease.pdf", asked},
		"after the office moved here": {func(d *desk, f office.HotFolder) {
			d.update(func(tx *store.Tx) error {
				list := Seen(tx)
				tx.PutDoc(seenDoc(list[0].SHA256, f.ID), nil)
				AdoptSeen(tx, list, time.Now())
				return nil
			})
		}, "Lease.pdf", asked},
		"after it was refused":                     {state(office.DraftFailed), "Lease.pdf", sentAnew},
		"after it was refused, under another name": {state(office.DraftFailed), "Copy.pdf", sentAnew},
		"after it was taken back":                  {state(office.DraftCancelled), "Lease.pdf", sentAnew},
		"after it was found out that it was sent": {func(d *desk, _ office.HotFolder) {
			d.decide(func(x *office.Draft) { x.State, x.Was = office.DraftCancelled, office.DraftUnknown })
		}, "Lease.pdf", asked},
		"once it was sent at the second try": {func(d *desk, f office.HotFolder) {
			d.decide(func(x *office.Draft) { x.State = office.DraftFailed })
			d.takesLease(f)
			d.decide(func(x *office.Draft) {
				if x.State == office.DraftQueued {
					x.State = office.DraftSent
				}
			})
			time.Sleep(time.Hour)
		}, "Lease.pdf", asked},
		"though its record, which says by its name what was sent, cannot be read": {func(d *desk, _ office.HotFolder) {
			d.accepted(func(*office.Package) {})
			d.update(func(tx *store.Tx) error {
				names, err := tx.DocNames(prefixSeen)
				return errors.Join(err, tx.PutDoc(names[0], "no record"))
			})
			d.days(keepSeen + 1)
			noErr(d.t, d.Forget())
		}, "Lease.pdf", asked},
		"after its correction was refused": {func(d *desk, _ office.HotFolder) { d.corrected(office.DraftFailed) }, "Lease.pdf", sentAnew},
		"while its correction waits":       {func(d *desk, _ office.HotFolder) { d.corrected(office.DraftQueued) }, "Lease.pdf", theSame},
	} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			write(t, filepath.Join(f.Path, "Lease.pdf"), pdf("lease"))
			d.looksFor(3)
			c.meanwhile(d, f)
			d.looksFor(3)
			before := d.drafts()
			write(t, filepath.Join(f.Path, c.name), pdf("lease"))
			d.looks()
			got := theSame
			var fresh []office.Draft
			for _, x := range d.drafts() {
				if !slices.ContainsFunc(before, func(b office.Draft) bool { return b.ID == x.ID }) {
					fresh = append(fresh, x)
				}
			}
			said := 0
			lines := must(d.tools.Activity(100))
			for _, a := range lines {
				if a.Text == message.FileCameTwice("Lease.pdf", f.Called()) {
					said++
				}
			}
			switch {
			case len(fresh) == 0:
			case fresh[0].State == office.DraftQueued:
				got = sentAnew
			case fresh[0].Problem == message.FileSentBefore("Lease.pdf"):
				got = asked
			case fresh[0].Problem == message.FileWaitsAlready("Lease.pdf"):
				got = askedToWait
			default:
				t.Errorf("the second is %+v", fresh[0])
			}
			if got != c.want || len(fresh) > 1 {
				t.Errorf("it was %s, want %s; there are %d drafts, before %d", got, c.want, len(d.drafts()), len(before))
			}
			if (said == 1) != (got == theSame) {
				t.Errorf("it was said %d times that it is the same", said)
			}
			held := got == asked || got == askedToWait
			if told := slices.ContainsFunc(d.facts, func(x office.Fact) bool { return held && x.About() == office.DraftSubject(fresh[0].ID) }); told != held {
				t.Errorf("told were %+v", d.facts)
			}
		})
	}
}

func TestEachFolderSendsTheSameDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		for range 2 {
			write(t, filepath.Join(d.folder().Path, "Lease.pdf"), pdf("lease"))
		}
		d.looks()
		expect(t, len(d.drafts(office.DraftQueued)), 2, "%d packages")
	})
}

// Removed and added under its new name, a folder gets another id, and what it had taken lies in it without a record.
func TestAFolderThatIsRenamedRemovedAndAddedAgainSendsNothingTwice(t *testing.T) {
	for name, sent := range map[string]bool{"its document was sent": true, "its document waits": false} {
		runAtDesk(t, name, func(t *testing.T, d *desk, f office.HotFolder) {
			if d.takesLease(f); sent {
				d.accepted(func(*office.Package) {})
				d.looks()
			}
			before := d.drafts(office.DraftQueued, office.DraftSent)
			to := filepath.Join(filepath.Dir(f.Path), "Contracts")
			noErr(t, os.Rename(f.Path, to))
			must(d.Remove(f.ID))
			f.ID, f.Path = "", to
			d.put(f)
			d.restart()
			d.looks()
			time.Sleep(time.Hour)
			write(t, filepath.Join(to, "Lease.pdf"), pdf("lease"))
			d.looks()
			if after := d.drafts(office.DraftQueued, office.DraftSent); len(before) != 1 || len(after) != 1 || len(d.drafts()) == 1 {
				t.Errorf("sent without asking: %+v, of %d drafts", after, len(d.drafts()))
			}
		})
	}
}

// accepted has the service accept every draft.
func (d *desk) accepted(change func(*office.Package)) {
	d.t.Helper()
	d.decide(func(x *office.Draft) {
		x.State, x.PackageID = office.DraftSent, "package "+x.ID
		p := office.Package{ID: x.PackageID, Source: office.Source{DraftID: x.ID}, Origin: office.MadeHere, State: office.PackageOpen}
		change(&p)
		d.update(func(tx *store.Tx) error { return tx.PutPackage(p) })
	})
}

// corrected has a person send another draft in the place of every one.
func (d *desk) corrected(state office.DraftState) {
	d.t.Helper()
	d.decide(func(x *office.Draft) { x.State, x.ReplacedBy = office.DraftCancelled, "correction" })
	noErr(d.t, d.tools.Data.Update(func(tx *store.Tx) error { return tx.PutDraft(office.Draft{ID: "correction", State: state}) }))
}
