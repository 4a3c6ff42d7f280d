package agent

import (
	"context"
	"encoding/json"
	"errors"
	"image"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/data"
	"countersign/internal/agent/reconcile"
	"countersign/internal/agent/webhook"
	"countersign/internal/agent/withdraw"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Lines is reconcile.Service.Lines.
func (a *Agent) Lines() ([]office.PackageLine, error) { return a.packages.Lines() }

// LinesSince is reconcile.Service.LinesSince.
func (a *Agent) LinesSince(version uint64) (office.Lines, error) {
	return a.packages.LinesSince(version)
}

// Find is reconcile.Service.Find.
func (a *Agent) Find(q office.Query) ([]office.Package, error) { return a.packages.Find(q) }

// Package is reconcile.Service.Package.
func (a *Agent) Package(id string) (office.PackageRow, bool, error) { return a.packages.Package(id) }

// Archive is reconcile.Service.Archive.
func (a *Agent) Archive(packageID string, archived bool) error {
	return a.packages.Archive(packageID, archived)
}

// Events is reconcile.Service.Events.
func (a *Agent) Events(before office.Cursor, limit int) ([]office.Event, office.Cursor, error) {
	return a.packages.Events(before, limit)
}

// EventLines is reconcile.Service.EventLines.
func (a *Agent) EventLines(q office.EventQuery) ([]office.EventLine, error) {
	return a.packages.EventLines(q)
}

// Follow is reconcile.Service.Follow.
func (a *Agent) Follow(ctx context.Context, since time.Time, tell func(office.EventLine) error) error {
	return a.packages.Follow(ctx, since, tell)
}

// RetryEvent is reconcile.Service.RetryEvent.
func (a *Agent) RetryEvent(eventID string) error { return a.packages.RetryEvent(eventID) }

// EditPage is reconcile.Service.EditPage.
func (a *Agent) EditPage(ctx context.Context, packageID string) (string, error) {
	return a.packages.EditPage(ctx, packageID)
}

// SignerPage is reconcile.Service.SignerPage.
func (a *Agent) SignerPage(ctx context.Context, packageID, signerID string) (string, error) {
	return a.packages.SignerPage(ctx, packageID, signerID)
}

// ErrNoLinks is reconcile.ErrNoLinks.
var ErrNoLinks = reconcile.ErrNoLinks

// Saved is download.Service.Recent.
func (a *Agent) Saved(limit int) ([]office.Job, error) { return a.saves.Recent(limit) }

// SaveAgain is download.Service.SaveAgain.
func (a *Agent) SaveAgain(packageID string) error { return a.saves.SaveAgain(packageID) }

// Export is download.Service.Export.
func (a *Agent) Export(ctx context.Context, packageIDs []string, folder string) (office.Exported, error) {
	return a.saves.Export(ctx, packageIDs, folder)
}

// PreviewName is download.Service.PreviewName.
func (a *Agent) PreviewName(s office.Settings) (string, error) { return a.saves.PreviewName(s) }

// Preview draws page 1 of a document on this computer, width pixels wide.
func (a *Agent) Preview(ctx context.Context, path string, width int) (image.Image, error) {
	return a.documents.FirstPage(ctx, path, width)
}

// CheckNow asks the service about everything that is not final, as soon as it can be asked: people want to know now. An
// error says why it cannot.
func (a *Agent) CheckNow() error {
	if _, online := a.account.Online(); !online {
		return &SignInError{Text: message.NotSignedIn()}
	}
	a.packages.Sweep("somebody asked")
	a.Signal(office.StatusChanged)
	return nil
}

// Status is the whole state in one value: what `countersign status --json` prints and what the window and the
// tray show. Its JSON is stable and documented in assets/docs/admin.md.
type Status struct {
	Version  string         `json:"version"`
	SignedIn bool           `json:"signed_in"`
	Account  Account        `json:"account"` // empty where the service did not say
	Tunnel   TunnelStatus   `json:"tunnel"`
	Endpoint EndpointStatus `json:"endpoint"` // empty while the service reports nowhere
	Events   EventCounts    `json:"events"`
	Packages PackageCounts  `json:"packages"`
	Saves    SaveCounts     `json:"saves"`  // files
	Outbox   OutboxCounts   `json:"outbox"` // drafts
	Health   []Issue        `json:"health"` // what is wrong

	Checked  time.Time `json:"-"` // when everything was last asked about since the start; zero before
	Checking bool      `json:"-"` // it is being asked about now
}

// Account is who is signed in; empty strings where the service did not say.
type Account = account.Account

// TunnelStatus is the public address.
type TunnelStatus = webhook.Address

// known is nil for the zero time.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// EndpointStatus is the webhook endpoint as the service last confirmed it; ID is empty when there is none.
type EndpointStatus struct {
	ID           string    `json:"id"`
	URL          string    `json:"url"`
	RegisteredAt time.Time `json:"registered_at"`
}

// MarshalJSON writes null for a moment that is not known: every field is always there.
func (e EndpointStatus) MarshalJSON() ([]byte, error) {
	type plain EndpointStatus // without this method
	return json.Marshal(struct {
		plain
		RegisteredAt *time.Time `json:"registered_at"`
	}{plain(e), known(e.RegisteredAt)})
}

// EventCounts counts webhook requests.
type EventCounts struct {
	Received   int `json:"received"` // distinct authentic events stored
	Rejected   int `json:"rejected"` // since the start
	Duplicates int `json:"duplicates"`
	Pending    int `json:"pending"`
	Problems   int `json:"problems"` // authentic, but could not be processed
}

// PackageCounts counts packages.
type PackageCounts struct {
	Total    int `json:"total"`
	Open     int `json:"open"`     // wait for signatures
	Declined int `json:"declined"` // by a signer, and still in the list
	Executed int `json:"executed"`
	Saved    int `json:"saved"` // every wanted file is on disk
}

// SaveCounts counts files.
type SaveCounts struct {
	Done    int `json:"done"`
	Pending int `json:"pending"`
	Failed  int `json:"failed"`
}

// OutboxCounts counts drafts that are not yet packages.
type OutboxCounts struct {
	Pending int `json:"pending"`
	Unknown int `json:"unknown"` // the service did not confirm
	Failed  int `json:"failed"`  // refused
}

// Status returns the whole state. It reads counters, never packages or drafts, and may be called often. When they cannot be read,
// it returns the rest, with health that says so, and an error.
func (a *Agent) Status() (Status, error) {
	kept, err := data.Read(a.Data, "the status", readCounts)
	o := a.account.Current()
	_, online := a.account.Online()
	s := Status{
		Version: a.p.Version, SignedIn: o.SignedIn(), Account: o.Account.Account, Tunnel: a.webhook.Address(),
		Events: kept.events, Packages: kept.packages, Saves: kept.saves, Outbox: kept.outbox, Health: a.Health.List(),
	}
	s.Checked, s.Checking = a.packages.Swept()
	s.Checking = s.Checking && online // else it waits for somebody to sign in
	s.Endpoint.ID, s.Endpoint.URL, s.Endpoint.RegisteredAt = a.webhook.Endpoint()
	s.Events.Rejected = a.webhook.Rejected()
	return s, err
}

// counts are what Status reads.
type counts struct {
	events   EventCounts
	packages PackageCounts
	saves    SaveCounts
	outbox   OutboxCounts
}

func readCounts(tx *store.Tx) (c counts, err error) {
	events, err1 := tx.EventCounts()
	packages, err2 := tx.PackageCounts()
	jobs, err3 := tx.JobCounts()
	drafts, err4 := tx.DraftCounts()
	c.events = EventCounts{Received: events.Received, Duplicates: events.Duplicates, Pending: events.Pending, Problems: events.Odd}
	c.packages = PackageCounts(packages)
	c.saves = SaveCounts{jobs.Done, jobs.Pending, jobs.Failed}
	c.outbox = OutboxCounts{drafts.Queued + drafts.Adding, drafts.Unknown, drafts.Failed}
	return c, errors.Join(err1, err2, err3, err4)
}

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
