package agent

import (
	"context"

	"countersign/internal/agent/withdraw"
	"countersign/internal/office"
)

// newWithdrawals joins what withdraws packages with the rest.
func (a *Agent) newWithdrawals() *withdraw.Service {
	return withdraw.New(a.Base, withdraw.Deps{
		Crash: a.p.Crash, Watch: a.Watch, Who: func() string { return a.account.Current().Account.Email },
		Online: a.account.Online, SignedIn: a.account.SignedIn, SignedOut: a.account.SignedOut,
		Answered: func(ctx context.Context, err error) { a.account.Note(ctx, err) },
		Question: a.budget.Wait, Note: a.packages.Note, NoteGone: a.packages.NoteGone, NotDone: a.announcer.NotWithdrawn, Announce: a.announcer.Announce,
		Ended: a.outbox.Wake,
	})
}

// Withdraw is withdraw.Service.Withdraw.
func (a *Agent) Withdraw(ctx context.Context, n office.NewWithdrawal) ([]office.Withdrawn, error) {
	return a.withdrawals.Withdraw(ctx, n)
}

// KeepPackage is withdraw.Service.Keep.
func (a *Agent) KeepPackage(id string) (inTime bool, err error) { return a.withdrawals.Keep(id) }

// LetWithdrawalGo is withdraw.Service.LetGo.
func (a *Agent) LetWithdrawalGo(id string) error { return a.withdrawals.LetGo(id) }

// CanWithdraw reports whether packages can be withdrawn at the service, as far as is known.
func (a *Agent) CanWithdraw() bool { return a.withdrawals.Offered() }
