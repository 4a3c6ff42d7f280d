package hotfolder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

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
