package agent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"countersign/internal/esign"
	"countersign/internal/office"
)

// withDeclined is a status with what the package's full record says of signers who declined. No event tells of them, and
// the published status does not either (service-facts.md, 6 and 7.1), so that a package whose signers say nothing of
// themselves is asked about once more, as often as for its status. A service without such records is asked once.
func (a *Agent) withDeclined(ctx context.Context, client *esign.Client, s esign.Status) esign.Status {
	waits := s.State != esign.Executed && !office.PackageState(s.State).Over() && office.PackageState(s.State) != office.PackageDraft
	told := slices.ContainsFunc(s.Signers, func(x esign.Signer) bool { return x.StateTold })
	if !waits || told || a.noRecords.Load() || a.budget.Wait(ctx) != nil {
		return s
	}
	record, err := client.Package(ctx, s.PackageID)
	if err != nil {
		var e *esign.Error
		if errors.As(err, &e) && e.Code == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) {
			a.noRecords.Store(true)
		}
		return s
	}
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

// declinedFacts are the people who declined to sign p, as people are told of them.
func declinedFacts(p office.Package) (facts []fact) {
	for _, s := range p.Signers {
		if s.Declined.IsZero() || p.State == office.PackageExecuted {
			continue
		}
		f := fact{
			key:       "declined/" + p.ID + "/" + s.ID + "/" + s.Declined.UTC().Format("20060102150405"),
			packageID: p.ID,
			kind:      factDeclined,
			title:     fmt.Sprintf("%s declined to sign %s.", s.DisplayName(), office.Quote(p.DisplayName())),
		}
		if s.DeclineReason != "" {
			f.body = fmt.Sprintf("Reason: %s.", office.Quote(s.DeclineReason))
		}
		facts = append(facts, f)
	}
	return facts
}
