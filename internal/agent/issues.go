package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/webhook"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Act performs an issue's action if it needs no decision by a person: retrying, unlocking, taking the endpoint back, dismissing what
// has been read. For others it does nothing; the UI handles them.
func (a *Agent) Act(ctx context.Context, i Issue) error {
	if i.ID == IssueKeyring || i.Action == ActUnlock { // whatever the button's label
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
	case ActBeHub:
		return a.desks.BeAgain()
	case ActTakeBack:
		return a.TakeBack(ctx)
	case ActRetry:
		var err error
		switch i.ID {
		case health.BackupFails.ID:
			a.backups.Wake()
		case health.AddressClosed.ID:
			a.webhook.Reopen()
		case health.FilesFailed.ID:
			err = a.saves.RetryFailed()
		}
		if err != nil {
			return err
		}
		return a.retry()
	}
	return nil
}

// retry retries all waiting work at once.
func (a *Agent) retry() error {
	a.p.Network.Forget()
	a.Breaker.Close()
	if err := a.packages.MakeAllDue(); err != nil { // do not wait for the sweep, which waits for calls in progress
		return fmt.Errorf("try everything again: %w", err)
	}
	a.goOn("somebody asked")
	return nil
}

// dismiss ends an issue that somebody has read, unless its message has changed.
func (a *Agent) dismiss(i Issue) {
	if !a.Health.Dismiss(i) {
		return
	}
	var err error
	switch i.ID {
	case health.DataRestored.ID:
		a.keepUnread(nil)
	case health.FilesAstray.ID:
		err = a.proof.ReadAstray(i.Message)
	case health.FilesNotSent.ID:
		err = a.folders.Read(i.Message)
	case health.DocumentsWrong.ID:
		err = a.proof.Read(i.Message)
	}
	if err != nil {
		a.Log.Error("note what somebody has read", "err", err)
	}
}

var errNothingSaved = errors.New("no saved file of the package is there")

// errNothingUnsent means that a hot folder does not exist, or has sent everything.
var errNothingUnsent = errors.New("there is no folder with what was not sent")

// Click handles a press on a notification, possibly days old. Its content is not trusted: it only opens known packages, files saved
// here that still exist, and hot folders. It may wait for a disk.
func (a *Agent) Click(p office.Click) {
	if p.Action == office.ActionShow {
		a.showSubject(p.About)
		return
	}
	if p.Action != office.ActionOpen && p.Action != office.ActionFolder {
		return
	}
	open := a.openSaved
	if _, folder := p.About.HotFolder(); folder {
		open = a.openUnsent
	}
	if err := open(p); err != nil {
		a.Log.Warn("open what a notification is about", "err", err)
		a.showSubject(p.About) // it shows what became of the file
	}
}

// showSubject asks the watchers to show it in the window.
func (a *Agent) showSubject(s office.Subject) {
	if a.p.Windowed {
		a.Signal(office.ShowSubject(s))
	}
}

func (a *Agent) openSaved(p office.Click) error {
	id, ok := p.About.Package()
	if !ok || a.p.OpenSaved == nil {
		return errNothingSaved
	}
	row, _, err := a.Package(id)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(row.Files, func(f office.File) bool {
		return f.State == office.JobDone && f.Kind == office.FileSigned && isSavedFile(f.Path)
	})
	if at < 0 {
		return errNothingSaved
	}
	return a.p.OpenSaved(row.Files[at].Path, p.Action == office.ActionFolder, p.Token)
}

// openUnsent opens the folder with the files that a hot folder could not send.
func (a *Agent) openUnsent(p office.Click) error {
	rows, err := a.HotFolders()
	if err != nil {
		return err
	}
	id, _ := p.About.HotFolder()
	at := slices.IndexFunc(rows, func(f office.HotFolderRow) bool { return f.ID == id })
	if at < 0 || a.p.OpenSaved == nil {
		return errNothingUnsent
	}
	folder := filepath.Join(rows[at].Path, office.HotProblems)
	if info, err := os.Lstat(folder); err != nil || !info.IsDir() {
		return errNothingUnsent
	}
	return a.p.OpenSaved(folder, false, p.Token)
}

// isSavedFile reports whether a file is of a type this program saves; anything else under that name is not opened.
func isSavedFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && filepath.Ext(path) == ".pdf"
}

// CheckNow asks the service about everything that is not final as soon as possible, because people want to know now. An error says
// why it cannot.
func (a *Agent) CheckNow() error {
	if _, online := a.account.Online(); !online {
		return message.Error(message.NotSignedIn(), nil)
	}
	a.packages.Sweep("somebody asked")
	a.Signal(office.StatusChanged)
	return nil
}

// Status is the whole state in one value: what `countersign status --json` prints and what the window and the tray show. Its JSON is
// stable and documented in assets/docs/admin.md.
type Status struct {
	Version  string         `json:"version"`
	SignedIn bool           `json:"signed_in"`
	Account  Account        `json:"account"` // fields are empty if the service did not supply them
	Tunnel   TunnelStatus   `json:"tunnel"`
	Endpoint EndpointStatus `json:"endpoint"` // empty if no endpoint is registered
	Events   EventCounts    `json:"events"`
	Packages PackageCounts  `json:"packages"`
	Saves    JobCounts      `json:"saves"`  // files
	Outbox   OutboxCounts   `json:"outbox"` // drafts
	Health   []Issue        `json:"health"` // what is wrong

	Checked  time.Time `json:"-"` // when everything was last checked since the start; zero before
	Checking bool      `json:"-"` // everything is being checked now

	// Tried is when the service last did not answer, Next when it is asked again; zero if it answers.
	Tried, Next time.Time `json:"-"`
}

// MovedAway returns the issue that another computer has the office, if it has.
func (s Status) MovedAway() (i Issue, away bool) {
	at := slices.IndexFunc(s.Health, func(i Issue) bool { return i.Action == ActTakeBack })
	if at < 0 {
		return i, false
	}
	return s.Health[at], true
}

// TunnelStatus is the public address.
type TunnelStatus = webhook.Address

// EndpointStatus is the webhook endpoint as last confirmed by the service; ID is empty if there is none.
type EndpointStatus struct {
	ID           string        `json:"id"`
	URL          string        `json:"url"`
	RegisteredAt office.OrNull `json:"registered_at"`
}

type EventCounts struct {
	Received   int `json:"received"` // distinct authentic events stored
	Rejected   int `json:"rejected"` // since the start
	Duplicates int `json:"duplicates"`
	Pending    int `json:"pending"`
	Problems   int `json:"problems"` // authentic, but could not be processed
}

// Counts kept by the store.
type (
	PackageCounts = store.PackageCounts
	JobCounts     = store.JobCounts
)

// OutboxCounts counts drafts that are not packages yet.
type OutboxCounts struct {
	Pending int `json:"pending"`
	Unknown int `json:"unknown"` // not confirmed by the service
	Failed  int `json:"failed"`  // refused
	Held    int `json:"held"`    // a person must decide
}

// Status returns the whole state. It only counts, without reading packages, or drafts except unknown ones, and may be called often.
// If they cannot be read, it returns the rest, with health reporting that, and an error.
func (a *Agent) Status() (Status, error) {
	s, err := data.Read(a.Data, "the status", func(tx *store.Tx) (s Status, err error) {
		events, _ := tx.EventCounts()
		s.Packages, _ = tx.PackageCounts()
		s.Saves, _ = tx.JobCounts()
		pending, _ := tx.CountDrafts(office.DraftQueued, office.DraftAdding)
		failed, _ := tx.CountDrafts(office.DraftFailed)
		held, _ := tx.CountDrafts(office.DraftHeld)
		unknown, _ := tx.Drafts(office.DraftUnknown)
		left := len(unknown)
		for _, d := range unknown {
			if d.OfBefore() {
				left, held = left-1, held+1
			}
		}
		s.Events = EventCounts{Received: events.Received, Duplicates: events.Duplicates, Pending: events.Pending, Problems: events.Unprocessable}
		s.Outbox = OutboxCounts{pending, left, failed, held}
		return s, nil
	})
	o := a.account.Current()
	_, online := a.account.Online()
	s.Version, s.SignedIn, s.Account, s.Tunnel, s.Health = a.p.Version, o.SignedIn(), o.Account.Account, a.webhook.Address(), health.Distinct(a.Health.List())
	s.Checked, s.Checking = a.packages.Swept()
	s.Tried, s.Next = a.packages.Unanswered()
	s.Checking = s.Checking && online // otherwise it waits for a sign-in
	s.Endpoint.ID, s.Endpoint.URL, s.Endpoint.RegisteredAt.Time = a.webhook.Endpoint()
	s.Events.Rejected = a.webhook.Rejected()
	return s, err
}
