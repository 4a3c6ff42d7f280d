package agent

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"countersign/internal/office"
	"countersign/internal/store"
)

// Status returns the whole state. It reads counters, never all packages, and may be called often.
func (a *Agent) Status() Status {
	s := Status{Version: a.p.Version, Health: a.Health.List()}
	o := a.account.Current()
	s.SignedIn, s.Account = o.SignedIn(), o.Account.Account
	s.Checked, s.Checking = a.packages.Swept()
	if _, online := a.account.Online(); !online {
		s.Checking = false // it waits for somebody to sign in
	}
	s.Tunnel = a.webhook.Address()
	s.Endpoint.ID, s.Endpoint.URL, s.Endpoint.RegisteredAt = a.webhook.Endpoint()
	s.Events.Rejected = a.webhook.Rejected()
	err := a.Data.View(func(tx *store.Tx) error {
		events, err := tx.EventCounts()
		if err != nil {
			return err
		}
		s.Events.Received, s.Events.Duplicates = events.Received, events.Duplicates
		s.Events.Pending, s.Events.Problems = events.Pending, events.Odd
		packages, err := tx.PackageCounts()
		if err != nil {
			return err
		}
		s.Packages = PackageCounts{packages.Total, packages.Open, packages.Executed, packages.Saved}
		jobs, err := tx.JobCounts()
		if err != nil {
			return err
		}
		s.Saves = SaveCounts{jobs.Done, jobs.Pending, jobs.Failed}
		s.Outbox, err = outboxCounts(tx)
		return err
	})
	if err != nil {
		a.Log.Error("read the status", "err", err)
	}
	return s
}

func outboxCounts(tx *store.Tx) (c OutboxCounts, err error) {
	drafts, err := tx.Drafts(office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftFailed)
	for _, d := range drafts {
		switch d.State {
		case office.DraftUnknown:
			c.Unknown++
		case office.DraftFailed:
			c.Failed++
		default:
			c.Pending++
		}
	}
	return c, err
}

// Lines returns every package in a few words, newest first.
func (a *Agent) Lines() []office.PackageLine {
	var lines []office.PackageLine
	err := a.Data.View(func(tx *store.Tx) error {
		lines = nil
		return tx.PackageLines(func(l office.PackageLine) bool {
			lines = append(lines, l)
			return true
		})
	})
	if err != nil {
		a.Log.Error("read the packages", "err", err)
	}
	return lines
}

// Package returns one package.
func (a *Agent) Package(id string) (row office.PackageRow, ok bool) {
	err := a.Data.View(func(tx *store.Tx) error {
		p, found, err := tx.Package(id)
		if err != nil || !found {
			return err
		}
		ok = true
		row, err = packageRow(tx, p)
		return err
	})
	if err != nil {
		a.Log.Error("read a package", "err", err)
	}
	return row, ok
}

func packageRow(tx *store.Tx, p office.Package) (office.PackageRow, error) {
	row := office.PackageRow{Package: p}
	row.Name = p.DisplayName()
	for _, id := range p.NextSigners {
		if i := p.SignerIndex(id); i >= 0 {
			row.Next = append(row.Next, p.Signers[i])
		}
	}
	if p.State != office.PackageExecuted {
		return row, nil
	}
	jobs, err := tx.JobsOf(p.ID)
	for _, j := range jobs {
		row.FilesTotal++
		if j.State == office.JobDone {
			row.FilesDone++
		}
		row.Files = append(row.Files, office.File{Path: filepath.Join(j.Folder, filepath.FromSlash(j.Target)),
			Kind: office.FileKind(j.Kind), DocumentID: j.DocumentID, State: j.State, Problem: j.Problem})
	}
	slices.SortStableFunc(row.Files, func(x, y office.File) int {
		return cmp.Or(x.Kind.Rank()-y.Kind.Rank(), documentIndex(p, x.DocumentID)-documentIndex(p, y.DocumentID))
	})
	return row, err
}

func documentIndex(p office.Package, id string) int {
	return slices.IndexFunc(p.Documents, func(d office.Document) bool { return d.ID == id })
}

// Activity returns the newest lines of the activity list, newest first.
func (a *Agent) Activity(limit int) []office.Activity {
	var list []office.Activity
	err := a.Data.View(func(tx *store.Tx) error {
		var err error
		list, _, err = tx.Activities("", limit)
		return err
	})
	if err != nil {
		a.Log.Error("read the activity", "err", err)
	}
	return list
}

// Drafts returns the drafts that are not packages yet, oldest first.
func (a *Agent) Drafts() []office.Draft {
	var list []office.Draft
	err := a.Data.View(func(tx *store.Tx) error {
		var err error
		list, err = tx.Drafts(office.DraftHeld, office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftFailed)
		return err
	})
	if err != nil {
		a.Log.Error("read the drafts", "err", err)
	}
	return list
}

// Act does the one action of an issue, as far as it needs no person's choice: retrying, unlocking, taking the
// endpoint back, ending what somebody has read. For the others it does nothing; the UI leads there.
func (a *Agent) Act(ctx context.Context, i Issue) error {
	if i.ID == IssueKeyring { // whatever its button is called
		if !a.account.Unlock(ctx) {
			return a.account.LockedError()
		}
		a.wakeAll()
		return nil
	}
	switch i.Action {
	case ActDismiss:
		a.Health.Dismiss(i)
	case ActTakeEndpoint:
		return a.webhook.Register(ctx, true)
	case ActRetry:
		if i.ID == "tunnel" {
			a.webhook.Reopen()
		}
		if i.ID == "saves" {
			if err := a.saves.RetryFailed(); err != nil {
				return err
			}
		}
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

// Packages returns every package with its details, newest first. For a list, Lines is many times faster.
func (a *Agent) Packages() []office.PackageRow {
	var rows []office.PackageRow
	err := a.Data.View(func(tx *store.Tx) error {
		return tx.Packages(func(p office.Package) bool {
			if row, err := packageRow(tx, p); err == nil {
				rows = append(rows, row)
			}
			return true
		})
	})
	if err != nil {
		a.Log.Error("read the packages", "err", err)
	}
	return rows
}
