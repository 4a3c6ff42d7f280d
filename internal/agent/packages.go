package agent

import (
	"context"
	"image"
	"time"

	"countersign/internal/agent/reconcile"
	"countersign/internal/message"
	"countersign/internal/office"
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
