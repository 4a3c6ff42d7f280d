package withdraw

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Withdraw stores the wish to withdraw packages and returns once it is known of each what became of it, in their order; when
// ctx ends or Patience is over, with how far each is. What is wished for is done all the same, also after a restart.
func (r *Service) Withdraw(ctx context.Context, n office.NewWithdrawal) ([]office.Withdrawn, error) {
	changes, stop := r.deps.Watch()
	defer stop()
	list, err := r.wish(n)
	if err != nil {
		return nil, fmt.Errorf("store what is to be withdrawn: %w", err)
	}
	if n.Stored != nil && slices.ContainsFunc(list, pending) {
		n.Stored()
	}
	r.Wake()
	r.Signal(office.PackagesChanged)
	return r.follow(ctx, list, n.Patience, changes)
}

// wish stores the wish for each package that can be withdrawn.
func (r *Service) wish(n office.NewWithdrawal) (list []office.Withdrawn, err error) {
	offered := r.Offered()
	err = r.Data.Update(func(tx *store.Tx) error {
		list = nil
		for _, id := range slices.Compact(slices.Sorted(slices.Values(n.Packages))) {
			p, known, err := tx.Package(id)
			if err != nil {
				return err
			}
			if !known {
				list = append(list, office.Withdrawn{PackageID: id, State: office.WithdrawRefused, Problem: message.NoSuchPackage(id)})
				continue
			}
			if state, why := refusal(p, offered); state != "" {
				list = append(list, office.Withdrawn{PackageID: id, Name: p.DisplayName(), State: state, Problem: why})
				continue
			}
			if w := p.Withdrawal; p.State != office.PackageRescinded && (!w.Pending() || w.State == office.WithdrawWanted) {
				p.Withdrawal = &office.Withdrawal{State: office.WithdrawWanted, Message: strings.TrimSpace(n.Message), Quiet: n.Quiet,
					By: r.deps.Who(), Asked: r.Now(), NextTry: r.Now().Add(n.Undo), AskFirst: w != nil && (w.State == office.WithdrawUnknown || w.AskFirst)}
				if err := tx.PutPackage(p); err != nil {
					return err
				}
			}
			list = append(list, withdrawn(p))
		}
		slices.SortStableFunc(list, func(a, b office.Withdrawn) int {
			return cmp.Compare(slices.Index(n.Packages, a.PackageID), slices.Index(n.Packages, b.PackageID))
		})
		return nil
	})
	return list, err
}

// refusal says how it stands with a package that there is nothing to wish for; nothing where there is.
func refusal(p office.Package, offered bool) (office.WithdrawalState, message.Message) {
	switch {
	case p.Away:
		return office.WithdrawRefused, message.AtAnotherService()
	case p.State == office.PackageExecuted:
		return office.WithdrawLate, message.SignedAlready()
	case p.State == office.PackageExpired:
		return office.WithdrawLate, message.ExpiredAlready()
	case p.State == office.PackageRescinded, p.Withdrawal.Pending():
		return "", message.Message{}
	case !p.State.CanBeWithdrawn():
		return office.WithdrawRefused, message.NothingToWithdraw()
	case !offered:
		return office.WithdrawRefused, message.CannotWithdrawHere()
	}
	return "", message.Message{}
}

// withdrawn is how far p is.
func withdrawn(p office.Package) office.Withdrawn {
	x := office.Withdrawn{PackageID: p.ID, Name: p.DisplayName()}
	switch {
	case p.State == office.PackageRescinded:
		x.State = office.WithdrawDone
	case p.Withdrawal != nil:
		x.State, x.Problem = p.Withdrawal.State, p.Withdrawal.Problem
	}
	return x
}

// Keep takes a wish back of which the service does not know yet, and reports whether it came in time.
func (r *Service) Keep(id string) (inTime bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		inTime = false
		p, known, err := tx.Package(id)
		if err != nil || !known || p.Withdrawal == nil || p.Withdrawal.State != office.WithdrawWanted {
			return err
		}
		before := *p.Withdrawal
		if p.Withdrawal, inTime = nil, true; before.AskFirst {
			p.Withdrawal = &office.Withdrawal{State: office.WithdrawUnknown, Asked: before.Asked, Problem: message.NobodyKnowsWhetherWithdrawn()}
		}
		return tx.PutPackage(p)
	})
	if err != nil {
		return false, fmt.Errorf("keep package %s: %w", id, err)
	}
	r.deps.Ended()
	r.Signal(office.PackagesChanged)
	return inTime, nil
}

// follow waits until each of list has come to its end.
func (r *Service) follow(ctx context.Context, list []office.Withdrawn, patience time.Duration, changes <-chan office.Change) ([]office.Withdrawn, error) {
	var late <-chan time.Time
	if patience > 0 {
		t := time.NewTimer(patience)
		defer t.Stop()
		late = t.C
	}
	for {
		if err := r.renew(list); err != nil {
			return list, err
		}
		if !slices.ContainsFunc(list, pending) || late != nil && !r.deps.SignedIn() {
			return list, nil
		}
		select {
		case <-changes:
		case <-late:
			return list, nil
		case <-ctx.Done():
			return list, ctx.Err()
		}
	}
}

// renew reads how far those are that are not at their end.
func (r *Service) renew(list []office.Withdrawn) error {
	_, err := data.Read(r.Data, "the withdrawals", func(tx *store.Tx) (struct{}, error) {
		for i, x := range list {
			if !pending(x) {
				continue
			}
			p, known, err := tx.Package(x.PackageID)
			if err != nil {
				return struct{}{}, err
			}
			if known {
				list[i] = withdrawn(p)
			}
		}
		return struct{}{}, nil
	})
	return err
}

func pending(x office.Withdrawn) bool {
	w := office.Withdrawal{State: x.State}
	return w.Pending()
}

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
