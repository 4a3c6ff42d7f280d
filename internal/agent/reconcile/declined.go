package reconcile

import (
	"cmp"
	"context"
	"slices"

	"countersign/internal/esign"
	"countersign/internal/office"
)

// recordCall names the call for a package's full record among those that a service may not have.
const recordCall = "packages/get"

// withDeclined is a status with what the package's full record says of signers who declined. No event tells of them, and
// the published status does not either (service-facts.md, 6 and 7.1), so that a package whose signers say nothing of
// themselves is asked about once more, as often as for its status, and once when it is over: somebody may have declined before,
// while nobody asked. before is the package as it is known. A service without such records is asked once.
func (r *Room) withDeclined(ctx context.Context, client *esign.Client, before office.Package, s esign.Status) esign.Status {
	state := office.PackageState(s.State)
	waited := before.State != "" && !before.State.Over()
	waits := s.State != esign.Executed && state != office.PackageDraft && (!state.Over() || waited)
	told := slices.ContainsFunc(s.Signers, func(x esign.Signer) bool { return x.StateTold })
	unsaid := state == office.PackageRescinded && s.RescindMessage == ""
	if (!waits || told) && !unsaid || r.lacks.Has(client.Home(), recordCall, r.Now()) || r.needs.Budget.Wait(ctx) != nil {
		return s
	}
	record, err := client.Package(ctx, s.PackageID)
	if err != nil {
		if esign.NotOffered(err) {
			r.lacks.Note(client.Home(), recordCall, r.Now())
		}
		return s
	}
	s.Recipients = record.Recipients
	s.RescindMessage = cmp.Or(s.RescindMessage, record.RescindMessage)
	if len(s.Signers) == 0 {
		s.Signers = record.Signers
		return s
	}
	for i := range s.Signers {
		for _, x := range record.Signers {
			if x.ID == s.Signers[i].ID {
				s.Signers[i].Declined, s.Signers[i].DeclinedAt = x.Declined, x.DeclinedAt
				s.Signers[i].Reason, s.Signers[i].StateTold, s.Signers[i].Locale = x.Reason, x.StateTold, x.Locale
			}
		}
	}
	return s
}
