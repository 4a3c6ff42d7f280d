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
	add := func(e office.Event) func(tx *Tx) { return func(tx *Tx) { tx.AddEvent(e) } }
	open := office.Package{ID: "p", Name: "Lease", State: office.PackageOpen, Created: day, Source: office.Source{DraftID: "d"},
		Inquiry: office.Inquiry{NextCheck: day}, Withdrawal: &office.Withdrawal{State: office.WithdrawWanted}}
	signed := office.Package{ID: "q", State: office.PackageExecuted, Created: day, Inquiry: office.Inquiry{NextCheck: day}, Saving: office.Saving{Refused: day}}
	job := office.Job{PackageID: "q", DocumentID: "d", Kind: office.FileSigned, Folder: "/f", Target: "Lease.pdf", NextTry: day, Refused: day}
	draft := office.Draft{ID: "d", State: office.DraftQueued, Delivery: office.Delivery{NextTry: day}}
	s := newTest(t)
	update(t, s, func(tx *Tx) error {
		tx.UseService("one")
		tx.PutPackage(open)
		tx.PutPackage(signed)
		tx.PutPackage(office.Package{ID: "over", State: office.PackageRescinded})
		tx.PutDraft(draft)
		tx.PutDoc("doc", 1)
		tx.PutSealed("secret", []byte("x"))
		tx.PlanJob(job)
		tx.AddEvent(event("e"))
		tx.AddEvent(event("handled"))
		for n, _ := tx.Log().Size(); n%packed != packed-1; n, _ = tx.Log().Size() { // so that the next fact causes packing
			noErr(t, tx.AddFact(record.Fact{Kind: record.Key, Key: fmt.Sprint(n)}))
		}
		done := event("handled")
		done.Outcome, done.Handled = office.EventHandled, day
		return tx.SetEvent(done)
	})
	changed, saved, other, sent := open, job, job, draft
	other.DocumentID, other.Target = "d2", "Other.pdf"
	changed.State, changed.Withdrawal, changed.Archived = office.PackageExecuted, nil, &office.Archived{}
	saved.State, saved.Digest, saved.Done = office.JobDone, "blake3:00", day
	sent.State, sent.PackageID = office.DraftSent, "p"
	handled := event("e")
	handled.Outcome = office.EventHandled
	for _, c := range []struct {
		name string
		do   func(tx *Tx)
	}{
		{"lines since then", func(tx *Tx) { tx.LinesSince(1) }},
		{"all lines", func(tx *Tx) { tx.LinesSince(0) }},
		{"packages that are due", func(tx *Tx) { tx.PackagesDue(Due{Now: day}, 9) }},
		{"unfinished packages", func(tx *Tx) { tx.Unfinished() }},
		{"refused packages", func(tx *Tx) { tx.PackagesRefused(at0(1)) }},
		{"the package of a draft", func(tx *Tx) { tx.PackageByDraft("d") }},
		{"how many packages", func(tx *Tx) { tx.PackageCounts() }},
		{"withdrawals that are due", func(tx *Tx) { tx.WithdrawalsDue(Due{Now: day}) }},
		{"files of a package", func(tx *Tx) { tx.JobsOf("q") }},
		{"files that are due", func(tx *Tx) { tx.JobsDue(Due{Now: day}, 9, nil) }},
		{"unfinished files", func(tx *Tx) { tx.UnfinishedJobs() }},
		{"refused files", func(tx *Tx) { tx.JobsRefused(at0(1)) }},
		{"whose name it is", func(tx *Tx) { tx.JobAt("/f", "Lease.pdf") }},
		{"files in order", func(tx *Tx) { tx.JobsAfter("", math.MaxInt, func(office.Job) bool { return true }) }},
		{"how many files", func(tx *Tx) { tx.JobCounts() }},
		{"drafts", func(tx *Tx) { tx.Drafts(office.DraftQueued) }},
		{"drafts that are due", func(tx *Tx) { tx.DraftsDue(Due{Now: day}) }},
		{"events that wait", func(tx *Tx) { tx.PendingEvents("", 9) }},
		{"events", func(tx *Tx) { tx.Events("", 9) }},
		{"how many events", func(tx *Tx) { tx.EventCounts() }},
		{"documents", func(tx *Tx) { tx.DocNames("d") }},
		{"secrets", func(tx *Tx) { tx.SealedNames() }},
		{"all there is", func(tx *Tx) { tx.Export(func(Record) error { return nil }) }},
		{"an event", add(event("new"))},
		{"an event once more", add(event("e"))},
		{"an event that is handled", func(tx *Tx) { tx.SetEvent(handled) }},
		{"a day", func(tx *Tx) { tx.CountDay(at0(48 * time.Hour)) }},
		{"old events", func(tx *Tx) { tx.ForgetEvents(-1, 10) }},
		{"a forgotten event once more", add(event("handled"))},
		{"a package", func(tx *Tx) { tx.PutPackage(office.Package{ID: "new", Created: day}) }},
		{"another one of it", func(tx *Tx) { tx.PutPackage(changed) }},
		{"a planned file", func(tx *Tx) { tx.PlanJob(other) }},
		{"a saved file", func(tx *Tx) { tx.PutJob(saved) }},
		{"a draft", func(tx *Tx) { tx.PutDraft(sent) }},
		{"a line of the activity", func(tx *Tx) { tx.AddActivity(office.Activity{Time: day}) }},
		{"a fact", func(tx *Tx) { tx.AddFact(record.Fact{Kind: record.Key, Key: "k"}) }},
		{"another service", func(tx *Tx) { tx.UseService("other") }},
		{"something once", func(tx *Tx) { tx.Once("told") }},
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
