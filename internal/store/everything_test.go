package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

// everything is what the methods of Tx read, of every kind of record.
type everything struct {
	Events, Pending, Odd          []office.Event
	Packages, Open, Due, Withheld []office.Package
	Lines                         []office.PackageLine
	OfDraft                       office.Package
	Jobs, JobsDue, Failed, Recent []office.Job
	Refused                       []office.Job
	Withdrawals                   []office.Package `json:",omitempty"`
	Drafts, DraftsDue             []office.Draft
	Activities                    []office.Activity
	EventCounts                   EventCounts
	PackageCounts                 PackageCounts
	JobCounts                     JobCounts
	DraftCounts                   DraftCounts
	NextJob, NextDraft, NextCheck time.Time
	Sealed                        []byte
	Doc                           map[string]any
}

func readEverything(tx *Tx) (e everything, err error) {
	var failed []error
	keep := func(err error) { failed = append(failed, err) }
	e.Events, _, err = tx.Events("", 100)
	keep(err)
	e.Pending, _, err = tx.PendingEvents("", 100)
	keep(err)
	e.Odd, err = tx.OddEvents(100)
	keep(err)
	keep(tx.Packages(func(p office.Package) bool { e.Packages = append(e.Packages, p); return true }))
	keep(tx.PackageLines(func(l office.PackageLine) bool { e.Lines = append(e.Lines, l); return true }))
	e.Open, err = tx.AllOpen()
	keep(err)
	e.Due, err = tx.PackagesDue(Due{Now: at0(2 * time.Hour)}, 100)
	keep(err)
	e.OfDraft, _, err = tx.PackageByDraft("draft-sent")
	keep(err)
	e.Jobs, err = tx.JobsOf("package-executed")
	keep(err)
	e.JobsDue, err = tx.JobsDue(Due{Now: at0(2 * time.Hour)}, 100, nil)
	keep(err)
	e.Failed, err = tx.FailedJobs()
	keep(err)
	e.Withheld, err = tx.PackagesRefused(at0(2 * time.Hour))
	keep(err)
	e.Refused, err = tx.JobsRefused(at0(2 * time.Hour))
	keep(err)
	e.Withdrawals, err = tx.WithdrawalsDue(Due{Now: at0(2 * time.Hour)})
	keep(err)
	e.Recent, err = tx.RecentSaved(10)
	keep(err)
	e.Drafts, err = tx.Drafts()
	keep(err)
	e.DraftsDue, err = tx.DraftsDue(Due{Now: at0(2 * time.Hour)})
	keep(err)
	e.Activities, _, err = tx.Activities("", 100)
	keep(err)
	e.EventCounts, err = tx.EventCounts()
	keep(err)
	e.PackageCounts, err = tx.PackageCounts()
	keep(err)
	e.JobCounts, err = tx.JobCounts()
	keep(err)
	e.DraftCounts, err = tx.DraftCounts()
	keep(err)
	e.NextJob, err = tx.NextJob()
	keep(err)
	e.NextDraft, err = tx.NextDraft()
	keep(err)
	e.NextCheck, err = tx.NextPackageCheck()
	keep(err)
	e.Sealed, _ = tx.Sealed("refresh token")
	_, err = tx.GetDoc("settings", &e.Doc)
	keep(err)
	return e, errors.Join(failed...)
}

// fillEverything writes one record of every kind in every state, with every field that people could miss.
func fillEverything(tx *Tx) error {
	var failed []error
	keep := func(err error) { failed = append(failed, err) }
	ana := office.Signer{ID: "s1", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}
	jan := office.Signer{ID: "s2", FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}
	lease := office.Document{ID: "d1", Name: "Lease", FileName: "lease.pdf", ExternalID: "x1", Executed: true, SignedBy: []string{"s1", "s2"}}
	for i, outcome := range []office.Outcome{office.EventPending, office.EventHandled, office.EventUnprocessable} {
		_, err := tx.AddEvent(office.Event{ID: fmt.Sprint("event-", i), Action: "package_executed", PackageID: "package-executed",
			Time: at0(time.Minute), Received: at0(time.Duration(i) * time.Hour), Body: []byte(`{"eventId":"1"}`),
			URL: "https://example.com/hook", Outcome: outcome, Reason: message.EventUnreadable(), Copies: i})
		keep(err)
	}
	keep(tx.PutPackage(office.Package{ID: "package-open", Name: "Öffnung", Origin: office.MadeHere, DraftID: "draft-sent", State: "open",
		Sequential: true, Signers: []office.Signer{ana, jan}, NextSigners: []string{"s2"}, Documents: []office.Document{lease},
		ExternalData: json.RawMessage(`{"a":1}`), Created: day, Due: at0(time.Hour), NextCheck: at0(time.Hour),
		Reference: "R-1", SignersDone: 1, SignersTotal: 2, History: []office.HistoryEntry{{Time: office.When{Time: day}, What: "signed", Who: "s1", Ref: "d1"}}}))
	keep(tx.PutPackage(office.Package{ID: "package-executed", Name: "Lease", Origin: office.MadeElsewhere, State: "executed", OrganizationID: "o",
		MemberID: "m", Signers: []office.Signer{ana}, Documents: []office.Document{lease}, Created: at0(time.Minute), Executed: office.When{Time: at0(time.Hour)},
		Checked: at0(time.Hour), Planned: true, Saved: true}))
	keep(tx.PutPackage(office.Package{ID: "package-gone", Origin: office.MadeElsewhere, Created: at0(time.Hour), Gone: true, Problem: message.ServiceKnowsNot()}))
	keep(tx.PutPackage(office.Package{ID: "package-withheld", Origin: office.MadeHere, State: "executed", Created: at0(time.Hour), Executed: office.When{Time: at0(time.Hour)},
		Refused: at0(time.Hour)}))
	keep(tx.PutPackage(office.Package{ID: "package-withdrawn", Origin: office.MadeHere, State: "open", Created: at0(2 * time.Hour), NextCheck: at0(9 * time.Hour),
		Withdrawal: &office.Withdrawal{State: office.WithdrawAsked, Message: "The rent was wrong.", By: "ana@example.com", Asked: day, NextTry: at0(time.Hour)}}))
	unwilling := jan
	unwilling.Declined, unwilling.DeclineReason = office.When{Time: at0(time.Hour)}, "The rent is wrong."
	keep(tx.PutPackage(office.Package{ID: "package-declined", Origin: office.MadeHere, State: "open", Created: at0(3 * time.Hour), NextCheck: at0(9 * time.Hour),
		Signers: []office.Signer{ana, unwilling}}))
	for _, j := range []office.Job{
		{Kind: "executed", DocumentID: "d1", Target: "Lease/Lease - signed.pdf", State: office.JobDone, Size: 123, Digest: "ab", Done: at0(time.Hour)},
		{Kind: "cac", DocumentID: "d1", Target: "Lease/Lease - certificate.pdf", State: office.JobFailed, Tries: 9, Problem: message.DiskFull("Signed"), Refused: day},
		{Kind: "masterfile", Target: "Lease/master file.pdf", Wanted: "Lease/master.pdf", State: office.JobPending, NextTry: at0(time.Hour)},
	} {
		j.PackageID, j.Folder, j.Planned = "package-executed", "/srv/signed", day
		_, err := tx.PlanJob(j)
		keep(err)
	}
	for _, state := range []office.DraftState{office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftSent, office.DraftFailed, office.DraftCancelled} {
		keep(tx.PutDraft(office.Draft{ID: "draft-" + string(state), Name: "Offer", Message: "Please.", Due: at0(time.Hour),
			ExternalData: json.RawMessage(`{"b":2}`), Signers: []office.Signer{ana, jan}, State: state, Created: day, Tries: 1,
			NextTry: at0(time.Hour), Problem: message.ServiceRefused(), PackageID: "package-open",
			Files: []office.DraftFile{{Path: "/a.pdf", Name: "a.pdf", Size: 1, SHA256: "cd", ExternalID: "x", FileID: "f", Uploaded: day}}}))
	}
	keep(tx.AddActivity(office.Activity{Time: day, Kind: "saved", PackageID: "package-executed", EventID: "event-1", Text: message.Saved("Lease.pdf", "/home/office/Signed")}))
	_, err := tx.Once("notified package-executed")
	keep(err)
	keep(tx.PutSealed("refresh token", []byte{1, 2, 3, 0xff}))
	keep(tx.PutDoc("settings", map[string]any{"save_to": "/srv/signed"}))
	return errors.Join(failed...)
}

// asJSON is everything in a form that does not depend on how a field is empty.
func asJSON(t *testing.T, e everything) []byte {
	t.Helper()
	b, err := json.MarshalIndent(e, "", "\t")
	must(t, err)
	return append(b, '\n')
}
