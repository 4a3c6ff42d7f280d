package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"countersign/internal/agent/account"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
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
		a.Quarantine.Now()
		if err := a.packages.Retry(); err != nil { // not only with the sweep, which waits for the questions under way
			return fmt.Errorf("try everything again: %w", err)
		}
		a.packages.Sweep("somebody asked")
		a.wakeAll()
	}
	return nil
}

// Message is what people are told of err: what happened and what to do, without a chain of causes and without anything
// secret.
func Message(err error) message.Message {
	if err == nil {
		return message.Message{}
	}
	if errors.Is(err, account.ErrLocked) {
		return account.KeyMessage(err)
	}
	if m, ok := message.Of(err); ok {
		return m
	}
	switch {
	case errors.Is(err, store.ErrInUse), errors.Is(err, store.ErrNewer):
		return store.Message(err)
	case errors.Is(err, context.Canceled):
		return message.Stopped()
	default:
		return esign.Message(err)
	}
}

// Some of what is said happened once, and nothing brings it up again: it stands until somebody has read it, and is therefore kept
// from one start to the next.

// docUnread names the document with what nobody has read yet, by the id of its state.
const docUnread = "unread"

// keptUnread are the states that are told so.
var keptUnread = []health.State{health.DataRestored}

// tellUntilRead has s, one of keptUnread, stand until somebody has read it.
func (a *Agent) tellUntilRead(s health.State, text message.Message) {
	a.Health.Set(s, text)
	a.changeUnread(func(unread map[string]message.Message) { unread[s.ID] = text })
}

// loadUnread says again what nobody has read before the program ended.
func (a *Agent) loadUnread() {
	unread, _, err := data.Doc[map[string]message.Message](a.Data, docUnread)
	if err != nil { // which health says
		a.Log.Error("read what nobody has read yet", "err", err)
	}
	for _, s := range keptUnread {
		if text := unread[s.ID]; !text.IsZero() {
			a.Health.Set(s, text)
		}
	}
}

// dismiss ends what somebody has read, unless it says something else by now.
func (a *Agent) dismiss(i Issue) {
	if a.Health.Dismiss(i) {
		a.changeUnread(func(unread map[string]message.Message) { delete(unread, i.ID) })
	}
}

// changeUnread changes what is kept, where that is something else then.
func (a *Agent) changeUnread(change func(unread map[string]message.Message)) {
	err := a.Data.Update(func(tx *store.Tx) error {
		unread := map[string]message.Message{}
		if _, err := tx.GetDoc(docUnread, &unread); err != nil {
			return err
		}
		before := len(unread)
		if change(unread); before+len(unread) == 0 {
			return nil
		}
		return tx.PutDoc(docUnread, unread)
	})
	if err != nil { // which health says; it is said once more at the next start, or no more
		a.Log.Warn("note what was read", "err", err)
	}
	a.Signal(office.StatusChanged)
}

// errNothingSaved means that there is no file of ours to open.
var errNothingSaved = errors.New("no saved file of the package is there")

// errNothingUnsent means that a folder that sends is not there, or has sent everything.
var errNothingUnsent = errors.New("there is no folder with what was not sent")

// Click does what somebody pressed on a notification. It may be one of days ago, and what it says is not believed: only
// packages that are known, files that were saved here and are still there, and folders that send, are opened. It may wait for a disk.
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
		a.showSubject(p.About) // where it says what has become of the file
	}
}

// showSubject asks whoever watches to bring the window up with it.
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

// openUnsent opens the folder with what a folder that sends could not send.
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

// isSavedFile reports whether there is a file such as this program saves: whatever else has taken its name is not opened.
func isSavedFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && filepath.Ext(path) == ".pdf"
}
