package agent

import (
	"context"
	"fmt"

	"countersign/internal/agent/health"
)

// What is wrong, as package health has it.
type (
	Severity = health.Severity
	Action   = health.Action
	Issue    = health.Issue
)

const (
	Info    = health.Info
	Warning = health.Warning
	Problem = health.Problem

	ActNone         = health.ActNone
	ActSignIn       = health.ActSignIn
	ActSettings     = health.ActSettings
	ActFolders      = health.ActFolders
	ActChooseFolder = health.ActChooseFolder
	ActUnlock       = health.ActUnlock
	ActNetwork      = health.ActNetwork
	ActTakeEndpoint = health.ActTakeEndpoint
	ActTakeBack     = health.ActTakeBack
	ActRetry        = health.ActRetry
	ActReview       = health.ActReview
	ActQuit         = health.ActQuit
	ActDismiss      = health.ActDismiss
)

// IssueKeyring is the ID of what is wrong while the key is out of reach: nothing secret can be read or kept.
var IssueKeyring = health.KeyringLocked.ID

// Act does the one action of an issue, as far as it needs no person's choice: retrying, unlocking, taking the
// endpoint back, ending what somebody has read. For the others it does nothing; the UI leads there.
func (a *Agent) Act(ctx context.Context, i Issue) error {
	if i.ID == IssueKeyring || i.Action == ActUnlock { // whatever its button is called
		if !a.account.Unlock(ctx) {
			return a.account.LockedError()
		}
		a.wakeAll()
		return nil
	}
	switch i.Action {
	case ActDismiss:
		a.dismiss(i)
	case ActTakeEndpoint:
		return a.webhook.Register(ctx, true)
	case ActTakeBack:
		return a.TakeBack(ctx)
	case ActRetry:
		if i.ID == health.BackupFails.ID {
			a.backups.Wake()
		}
		if i.ID == "tunnel" {
			a.webhook.Reopen()
		}
		if i.ID == health.WithdrawalWaits.ID {
			if err := a.withdrawals.Retry(); err != nil {
				return err
			}
		}
		if i.ID == "saves" {
			if err := a.saves.RetryFailed(); err != nil {
				return err
			}
		}
		a.p.Network.Forget()
		a.Breaker.Close()
		a.saves.Retry()
		a.Quarantine.Clear()
		if err := a.packages.MakeAllDue(); err != nil { // not only with the sweep, which waits for the questions under way
			return fmt.Errorf("try everything again: %w", err)
		}
		a.packages.Sweep("somebody asked")
		a.wakeAll()
	}
	return nil
}
