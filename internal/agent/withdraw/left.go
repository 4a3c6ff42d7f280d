package withdraw

import (
	"fmt"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// lateAfter is how long people are not told of a withdrawal that the service has not confirmed.
const lateAfter = time.Hour

// tellLate keeps in step what health says of withdrawals that may have been done, and that the service does not confirm.
func (r *Service) tellLate() error {
	late, err := data.Read(r.Data, "the withdrawals that wait", func(tx *store.Tx) ([]office.Package, error) {
		return tx.WithdrawalsDue(store.Due{Now: r.Now().Add(24 * time.Hour)}) // all of them
	})
	if err != nil {
		return err
	}
	late = slices.DeleteFunc(late, func(p office.Package) bool {
		return p.Withdrawal.State == office.WithdrawWanted || p.Withdrawal.Tries == 0 || r.Age(p.Withdrawal.Asked) < lateAfter
	})
	switch len(late) {
	case 0:
		r.Health.Clear(health.WithdrawalWaits)
	case 1:
		r.Health.Set(health.WithdrawalWaits, message.WithdrawalUnconfirmed(late[0].DisplayName()))
	default:
		r.Health.Set(health.WithdrawalWaits, message.WithdrawalsUnconfirmed(len(late)))
	}
	return nil
}

// Retry has the service asked at once about every withdrawal that waits.
func (r *Service) Retry() error {
	err := r.Data.Update(func(tx *store.Tx) error {
		waiting, err := tx.WithdrawalsDue(store.Due{Now: r.Now().Add(24 * time.Hour)})
		if err != nil {
			return err
		}
		for _, p := range waiting {
			if p.Withdrawal.Undoable() {
				continue // a person may still take it back
			}
			w := *p.Withdrawal
			w.NextTry = r.Now()
			p.Withdrawal = &w
			if err := tx.PutPackage(p); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("try the withdrawals again: %w", err)
	}
	r.Wake()
	return nil
}

// LetGo ends a wish that the service may have fulfilled and does not confirm: a person has looked, or waits no more. The package
// is what its status says, also later.
func (r *Service) LetGo(id string) error {
	p, known, err := r.stored(id)
	if err != nil || !known || !p.Withdrawal.Pending() || p.Withdrawal.State == office.WithdrawWanted {
		return err
	}
	if err := r.end(id, office.WithdrawUnknown, message.NobodyKnowsWhetherWithdrawn()); err != nil {
		return fmt.Errorf("let go of the withdrawal of package %s: %w", id, err)
	}
	return r.tellLate()
}
