package store

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/record"
)

// Wherever a transaction fails: unread data does not count as absent, and unwritten data does not count as written.
func TestAnAccessThatFailsIsNotTakenForMade(t *testing.T) {
	errFault := errors.New("the disk cannot be read")
	event := func(id string) office.Event {
		return office.Event{ID: id, PackageID: "p", Received: day, Body: []byte("{}")}
	}
	add := func(e office.Event) func(tx *Tx) error {
		return func(tx *Tx) error { _, err := tx.AddEvent(e); return err }
	}
	open := office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Created: day, Source: office.Source{DraftID: "d"},
		Inquiry: office.Inquiry{NextCheck: day}, Withdrawal: &office.Withdrawal{State: office.WithdrawWanted}}
	signed := office.Package{ID: "q", State: office.PackageExecuted, Created: day, Inquiry: office.Inquiry{NextCheck: day}, Saving: office.Saving{Refused: day}}
	job := office.Job{PackageID: "q", DocumentID: "d", Kind: office.FileSigned, Folder: "/f", Target: "Lease.pdf", NextTry: day, Refused: day}
	draft := office.Draft{ID: "d", State: office.DraftQueued, Delivery: office.Delivery{NextTry: day}}
	s := newTest(t)
	update(t, s, func(tx *Tx) error {
		err := errors.Join(tx.UseService("one"), tx.PutPackage(open), tx.PutPackage(signed), tx.PutPackage(office.Package{ID: "over", State: office.PackageRescinded}), tx.PutDraft(draft), tx.PutDoc("doc", 1), tx.PutSealed("secret", []byte("x")))
		_, planned := tx.PlanJob(job)
		for _, e := range []office.Event{event("e"), event("handled")} {
			_, added := tx.AddEvent(e)
			err = errors.Join(err, added)
		}
		done := event("handled")
		done.Outcome, done.Handled = office.EventHandled, day
		for n, _ := tx.Log().Size(); n%packed != packed-1 && err == nil; n, _ = tx.Log().Size() { // so that the next fact causes packing
			err = tx.AddFact(record.Fact{Kind: record.Key, Key: fmt.Sprint(n)})
		}
		return errors.Join(err, planned, tx.SetEvent(done))
	})
	changed, saved, sent := open, job, draft
	changed.State, changed.Withdrawal, changed.Archived = office.PackageExecuted, nil, &office.Archived{}
	saved.State, saved.Digest, saved.Done = office.JobDone, "blake3:00", day
	sent.State, sent.PackageID = office.DraftSent, "p"
	handled := event("e")
	handled.Outcome = office.EventHandled
	for _, c := range []struct {
		name string
		do   func(tx *Tx) error
	}{
		{"lines since then", func(tx *Tx) error { _, err := tx.LinesSince(1); return err }},
		{"all lines", func(tx *Tx) error { _, err := tx.LinesSince(0); return err }},
		{"packages that are due", func(tx *Tx) error { _, err := tx.PackagesDue(Due{Now: day}, 9); return err }},
		{"unfinished packages", func(tx *Tx) error { _, err := tx.Unfinished(); return err }},
		{"refused packages", func(tx *Tx) error { _, err := tx.PackagesRefused(at0(1)); return err }},
		{"the package of a draft", func(tx *Tx) error { _, _, err := tx.PackageByDraft("d"); return err }},
		{"how many packages", func(tx *Tx) error { _, err := tx.PackageCounts(); return err }},
		{"withdrawals that are due", func(tx *Tx) error { _, err := tx.WithdrawalsDue(Due{Now: day}); return err }},
		{"files of a package", func(tx *Tx) error { _, err := tx.JobsOf("q"); return err }},
		{"files that are due", func(tx *Tx) error { _, err := tx.JobsDue(Due{Now: day}, 9, nil); return err }},
		{"unfinished files", func(tx *Tx) error { _, err := tx.UnfinishedJobs(); return err }},
		{"refused files", func(tx *Tx) error { _, err := tx.JobsRefused(at0(1)); return err }},
		{"whose name it is", func(tx *Tx) error { _, _, err := tx.JobAt("/f", "Lease.pdf"); return err }},
		{"files in order", func(tx *Tx) error {
			_, err := tx.JobsAfter("", math.MaxInt, func(office.Job) bool { return true })
			return err
		}},
		{"how many files", func(tx *Tx) error { _, err := tx.JobCounts(); return err }},
		{"drafts", func(tx *Tx) error { _, err := tx.Drafts(office.DraftQueued); return err }},
		{"drafts that are due", func(tx *Tx) error { _, err := tx.DraftsDue(Due{Now: day}); return err }},
		{"events that wait", func(tx *Tx) error { _, _, err := tx.PendingEvents("", 9); return err }},
		{"events", func(tx *Tx) error { _, _, err := tx.Events("", 9); return err }},
		{"how many events", func(tx *Tx) error { _, err := tx.EventCounts(); return err }},
		{"documents", func(tx *Tx) error { _, err := tx.DocNames("d"); return err }},
		{"secrets", func(tx *Tx) error { _, err := tx.SealedNames(); return err }},
		{"all there is", func(tx *Tx) error { return tx.Export(func(Record) error { return nil }) }},
		{"an event", add(event("new"))},
		{"an event once more", add(event("e"))},
		{"an event that is handled", func(tx *Tx) error { return tx.SetEvent(handled) }},
		{"a day", func(tx *Tx) error { _, err := tx.CountDay(at0(48 * time.Hour)); return err }},
		{"old events", func(tx *Tx) error { _, err := tx.ForgetEvents(-1, 10); return err }},
		{"a forgotten event once more", add(event("handled"))},
		{"a package", func(tx *Tx) error { return tx.PutPackage(office.Package{ID: "new", Created: day}) }},
		{"another one of it", func(tx *Tx) error { return tx.PutPackage(changed) }},
		{"a planned file", func(tx *Tx) error {
			j := job
			j.DocumentID, j.Target = "d2", "Other.pdf"
			_, err := tx.PlanJob(j)
			return err
		}},
		{"a saved file", func(tx *Tx) error { return tx.PutJob(saved) }},
		{"a draft", func(tx *Tx) error { return tx.PutDraft(sent) }},
		{"a line of the activity", func(tx *Tx) error { return tx.AddActivity(office.Activity{Time: day}) }},
		{"a fact", func(tx *Tx) error { return tx.AddFact(record.Fact{Kind: record.Key, Key: "k"}) }},
		{"another service", func(tx *Tx) error { return tx.UseService("other") }},
		{"something once", func(tx *Tx) error { _, err := tx.Once("told"); return err }},
	} {
		for n := 1; ; n++ {
			accesses := 0
			s.Fault = func() error {
				if accesses++; accesses == n {
					return errFault
				}
				return nil
			}
			err := s.Update(func(tx *Tx) error { c.do(tx); return nil }) // which loses the error
			if s.Fault = nil; accesses < n {
				noErr(t, err)
				break
			}
			if !errors.Is(err, errFault) {
				t.Errorf("%s: access %d failed, and it said %v", c.name, n, err)
			}
		}
	}
	update(t, s, func(tx *Tx) error {
		for _, first := range []bool{true, false} {
			if got, err := tx.Once("told twice"); got != first || err != nil || !tx.Told("told twice") {
				t.Errorf("told the first time: %v, %v", got, err)
			}
		}
		return nil
	})
	for _, d := range read(t, s, func(tx *Tx) ([]office.Draft, error) { return tx.Drafts() }) {
		if !d.Away {
			t.Errorf("another service is used, and there is %+v", d)
		}
	}
	size := read(t, s, func(tx *Tx) (int64, error) { return tx.Log().Size() })
	if plain := len(dump(t, s, bucketLog)); size < packed || int64(plain) != size%packed {
		t.Errorf("of %d lines of the record %d are not packed", size, plain)
	}
	if all := read(t, s, (*Tx).Unfinished); slices.ContainsFunc(all, office.Package.Final) || len(all) != 3 {
		t.Errorf("unfinished are %+v", all)
	}
}
