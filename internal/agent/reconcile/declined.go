package reconcile

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"countersign/internal/esign"
	"countersign/internal/office"
)

// withDeclined is a status with what the package's full record says of signers who declined. No event tells of them, and
// the published status does not either (service-facts.md, 6 and 7.1), so that a package whose signers say nothing of
// themselves is asked about once more, as often as for its status. A service without such records is asked once.
func (r *Room) withDeclined(ctx context.Context, client *esign.Client, s esign.Status) esign.Status {
	waits := s.State != esign.Executed && !office.PackageState(s.State).Over() && office.PackageState(s.State) != office.PackageDraft
	told := slices.ContainsFunc(s.Signers, func(x esign.Signer) bool { return x.StateTold })
	if !waits || told || r.noRecords.Load() || r.needs.Budget.Wait(ctx) != nil {
		return s
	}
	record, err := client.Package(ctx, s.PackageID)
	if err != nil {
		var e *esign.Error
		if errors.As(err, &e) && e.Code == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
			r.noRecords.Store(true)
		}
		return s
	}
	s.Recipients = record.Recipients
	if len(s.Signers) == 0 {
		s.Signers = record.Signers
		return s
	}
	for i := range s.Signers {
		for _, x := range record.Signers {
			if x.ID == s.Signers[i].ID {
				s.Signers[i].Declined, s.Signers[i].DeclinedAt = x.Declined, x.DeclinedAt
				s.Signers[i].Reason, s.Signers[i].StateTold = x.Reason, x.StateTold
			}
		}
	}
	return s
}
