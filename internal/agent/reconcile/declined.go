package reconcile

import (
	"cmp"
	"context"
	"slices"
	"time"

	"countersign/internal/esign"
	"countersign/internal/office"
)

// recordCall names the call for a package's full record among those that a service may not have.
const recordCall = "packages/get"

// recordOwedFor is how long the record of a package that is over is asked for. What it would tell after that is old news.
const recordOwedFor = 14 * 24 * time.Hour

// withRecord is a status with what the package's full record says beside it. No event tells of signers who declined, and the
// published status does not either (service-facts.md, 6 and 7.1), so that a package whose signers say nothing of themselves is
// asked about once more, as often as for its status, and once when it is over: somebody may have declined before, while nobody
// asked. So is one whose name nobody has told, since its files are called by it for good. before is the package as it is known;
// withRecord notes in it whether the record of one that is over is still to be had. A service without such records is asked once.
func (r *Room) withRecord(ctx context.Context, client *esign.Client, before *office.Package, s esign.Status) esign.Status {
	state := office.PackageState(s.State)
	owed := before.RecordOwed
	before.RecordOwed = time.Time{}
	waited := before.State != "" && !before.State.Over() || !owed.IsZero()
	waits := s.State != esign.Executed && !state.Unsent() && (!state.Over() || waited)
	told := slices.ContainsFunc(s.Signers, func(x esign.Signer) bool { return x.StateTold })
	unsaid := state == office.PackageRescinded && s.RescindMessage == ""
	nameless := s.Name == "" && before.Name == ""
	if (!waits || told) && !unsaid && !nameless || r.lacks.Has(client.Home(), recordCall, r.Now()) {
		return s
	}
	var record esign.Status
	err := r.needs.Budget.Wait(ctx)
	if err == nil {
		record, err = client.Package(ctx, s.PackageID)
	}
	if err != nil {
		if esign.NotOffered(err) {
			r.lacks.Note(client.Home(), recordCall, r.Now())
		} else if waited && state.Over() && office.RefusedFor(&owed, r.Now()) < recordOwedFor {
			before.RecordOwed = owed
		}
		return s
	}
	s.Name, s.Type = cmp.Or(s.Name, record.Name), cmp.Or(s.Type, record.Type)
	nameDocuments(s.Documents, record.Documents)
	s.Recipients = record.Recipients
	s.RescindMessage = cmp.Or(s.RescindMessage, record.RescindMessage)
	s.TimeRescinded, s.TimeCreated, s.TimeExecuted = record.TimeRescinded, cmp.Or(s.TimeCreated, record.TimeCreated), cmp.Or(s.TimeExecuted, record.TimeExecuted)
	if len(s.Signers) == 0 {
		s.Signers = record.Signers
		return s
	}
	for i := range s.Signers {
		for _, x := range record.Signers {
			if x.ID == s.Signers[i].ID {
				s.Signers[i].Declined, s.Signers[i].DeclinedAt, s.Signers[i].IsNext = x.Declined, x.DeclinedAt, s.Signers[i].IsNext || x.IsNext
				s.Signers[i].Reason, s.Signers[i].StateTold, s.Signers[i].Locale = x.Reason, x.StateTold, x.Locale
			}
		}
	}
	return s
}

// nameDocuments gives documents without a name that of the record.
func nameDocuments(documents, record []esign.Document) {
	for i := range documents {
		d := &documents[i]
		if at := slices.IndexFunc(record, func(x esign.Document) bool { return d.ID != "" && x.ID == d.ID }); at >= 0 {
			d.Name, d.FileName = cmp.Or(d.Name, record[at].Name), cmp.Or(d.FileName, record[at].FileName)
		}
	}
}
