package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/announce"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/hotfolder"
	"countersign/internal/agent/outbox"
	"countersign/internal/agent/reconcile"
	"countersign/internal/agent/transfer"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/safe"
	"countersign/internal/secret"
	"countersign/internal/store"
)

// A data file that is missing or damaged while there are backups is begun anew from the newest one that the key opens, by
// itself: events arrive, and a question would have them wait for a person. The damaged file is kept, so nothing is given up by
// it. What happened between the backup and now is known to the service, to the folders and to people, but not here, and so
//
//   - a draft that was to be sent may have been sent: its outcome is unknown, which the service's list decides, or a person;
//   - a draft that was held or refused stays what it was, and says that it may have been sent since;
//   - a package that was to be withdrawn may have been kept after all: the wish is forgotten, and that is told;
//   - a file in a folder that sends is sent at a person's word when it is older than this moment;
//   - what the service tells of a package is noted, and nobody is told of it again, see reconcile.MarkRestored;
//   - a file that is saved already is recognised by its bytes, as ever (package download);
//   - what was owed to people then was told since.
//
// The settings, the sign-in and the registration are those of the office's second file (backup.go), which has today's. Without
// it somebody has to sign in again.
//
// All of this is one commit, with the backup's state in the place of the new one. While the key is out of reach nothing is
// begun that the restoring would take back: see gate.go.

// newBackups makes what makes backups.
func (a *Agent) newBackups() *transfer.Backups {
	return transfer.NewBackups(a.Base, transfer.Options{
		Folder: locations.Backups(a.p.DataDir), Documents: locations.Outbox(a.p.DataDir), Header: a.header, Busy: a.catchingUp, Crash: a.p.Crash,
		Key: func() (safe.Secret, bool) {
			key, err := a.account.BackupKey()
			return safe.Secret(key), err == nil
		},
	})
}

// header is what a sealed file says of who made it.
func (a *Agent) header() transfer.Header {
	computer, err := os.Hostname()
	if err != nil {
		computer = "?"
	}
	return transfer.Header{Program: a.p.Version, Computer: computer, Installation: a.installation}
}

// restored is how restoring went.
type restored struct {
	date   string // of the backup; empty when there was none, or none that can be opened
	asked  bool   // for, by a person
	locked bool   // there are backups, but none that this key opens
	waits  bool   // the key is out of reach
}

// restoreNewest puts the newest backup that can be opened in the place of a state that knows nothing but what the office's
// second file holds.
func (a *Agent) restoreNewest(ctx context.Context) (r restored, err error) {
	files, wanted, err := a.restorable()
	if err != nil || len(files) == 0 {
		return r, err
	}
	key, err := a.p.Keeper.Load(ctx)
	if errors.Is(err, secret.ErrAbsent) {
		return restored{locked: true}, nil
	}
	if err != nil {
		a.Log.Warn("the key is not available, so no backup is restored yet", "err", err)
		return restored{waits: true}, nil
	}
	derived, err := key.Derive(account.BackupPurpose)
	if err != nil {
		return r, err
	}
	here, err := data.Read(a.Data, "what is known of the office", readBackedUp)
	if err != nil {
		return r, err
	}
	for _, f := range files {
		mine := here.Installation
		if filepath.Base(f.Path) == wanted { // a person's word
			mine = ""
		}
		err := a.restore(f.Path, safe.Secret(derived), mine)
		if err == nil {
			a.Log.Info("restored the state from a backup", "file", f.Path)
			return restored{date: f.Date, asked: a.forgetWanted()}, nil
		}
		a.Log.Error("restore a backup", "file", f.Path, "err", err)
		if !unusable(err) {
			return r, fmt.Errorf("restore a backup: %w", err)
		}
		r.locked = r.locked || !errors.Is(err, errOtherOffice)
	}
	return r, nil
}

// errOtherOffice is a backup of what was in the data folder before the office that the second file tells of was brought over.
var errOtherOffice = errors.New("the backup is of another office")

// unusable reports whether err is about one backup, and the one before may be better.
func unusable(err error) bool {
	for _, own := range []error{safe.ErrKey, safe.ErrDamaged, safe.ErrForeign, safe.ErrNewer, transfer.ErrDamaged, transfer.ErrNewer,
		store.ErrRecord, store.ErrBadID, store.ErrUnfit, store.ErrTargetTaken, fs.ErrNotExist, errOtherOffice} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// restore puts a backup in the place of what is here: one of that installation, or any for none.
func (a *Agent) restore(path string, key safe.Secret, installation string) error {
	h, documents, err := transfer.CheckBackup(path, key)
	if err != nil {
		return err
	}
	if installation != "" && h.Installation != installation {
		return errOtherOffice
	}
	needed := map[string]bool{}
	for _, d := range documents {
		needed[d.Name] = true
	}
	a.outbox.SetCopiesAside(needed)
	if err := a.bringDocuments(path, key, documents); err != nil {
		return err
	}
	a.p.Crash("restore unpacked")
	here, err := data.Read(a.Data, "what is known of the office", readBackedUp)
	if err != nil {
		return err
	}
	file, err := transfer.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	now := a.Now()
	err = a.Data.Store.Update(func(tx *store.Tx) error {
		if err := transfer.ImportBackup(tx, file, key); err != nil {
			return err
		}
		return errors.Join(a.becomeHere(tx, here), a.unsettle(tx, now))
	})
	a.p.Crash("restored")
	return err
}

// bringDocuments puts the documents of a backup where they are sent from, unless they are there. One that cannot be brought
// is missed where its draft is to be sent, and keeps nothing else from being restored.
func (a *Agent) bringDocuments(path string, key safe.Secret, documents []transfer.Document) error {
	to := locations.Outbox(a.p.DataDir)
	for _, d := range documents {
		if _, err := os.Lstat(filepath.Join(to, d.Name)); err == nil {
			continue
		}
		if err := disk.MkdirAll(to, 0o700); err != nil {
			return err
		}
		if err := transfer.RestoreDocument(path, d, key, filepath.Join(to, d.Name)); err != nil {
			a.Log.Warn("restore a document that waits", "document", d.Name, "err", err)
		}
	}
	return nil
}

// becomeHere has the state of a backup be that of this computer, of which here is known from the office's second file.
func (a *Agent) becomeHere(tx *store.Tx, here backedUp) error {
	var made string
	_, err := tx.GetDoc(docInstallation, &made)
	if err != nil {
		return err
	}
	if here.Installation != "" && here.Installation == made {
		err := account.ReplaceSealed(tx, here.Sealed)
		here.Sealed = nil
		return errors.Join(err, putBackedUp(tx, here))
	}
	if here.Moved != nil { // which is of this computer, whatever office is here
		err = tx.PutDoc(docMoved, here.Moved)
	}
	return errors.Join(err, account.ForgetPassing(tx), account.Expire(tx))
}

// unsettle has everything found out that may have happened since the backup was made.
func (a *Agent) unsettle(tx *store.Tx, now time.Time) error {
	lines, err := a.forgetWithdrawals(tx, now)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if err := tx.AddActivity(line); err != nil {
			return err
		}
	}
	err = errors.Join(outbox.Doubt(tx, now), reconcile.MarkRestored(tx, now), hotfolder.MarkRestored(tx, now), announce.ForgetPending(tx),
		transfer.Forget(tx))
	if err != nil {
		return err
	}
	return a.noteDueSoon(tx, now)
}

// forgetWithdrawals ends the wishes to withdraw packages: they may have been taken back.
func (a *Agent) forgetWithdrawals(tx *store.Tx, now time.Time) (lines []office.Activity, err error) {
	open, err := tx.Unfinished()
	for _, p := range open {
		if err != nil {
			return nil, err
		}
		if !p.Withdrawal.Pending() {
			continue
		}
		p.Withdrawal = &office.Withdrawal{State: office.WithdrawUnknown, Asked: p.Withdrawal.Asked, Problem: message.NobodyKnowsWhetherWithdrawn()}
		err = tx.PutPackage(p)
		lines = append(lines, office.Activity{Time: now, Kind: "problem", PackageID: p.ID, Text: message.WithdrawAgain(p.DisplayName())})
	}
	return lines, err
}

// noteDueSoon has nobody told again of what was due soon already.
func (a *Agent) noteDueSoon(tx *store.Tx, now time.Time) error {
	var s office.Settings
	if _, err := tx.GetDoc(account.DocSettings, &s); err != nil {
		return err
	}
	open, err := tx.Unfinished()
	for _, p := range open {
		if err != nil {
			return err
		}
		if !p.Line().DueSoon(now, s.Normal().DueDays) {
			continue
		}
		var facts []office.Fact
		if facts, err = a.announcer.DueSoon(tx, p, now); err == nil {
			err = a.announcer.Withhold(tx, facts)
		}
	}
	return err
}

// tellRestored says once what became of a state that was lost. settings: they were restored from the office's second file.
func (a *Agent) tellRestored(aside string, settings bool, r restored) {
	if aside == "" && !settings && r.date == "" {
		return
	}
	what := message.DataWasMissing()
	switch {
	case r.asked:
		what = message.DataPutAside()
	case aside != "":
		what = message.DataWasDamaged(filepath.Base(aside))
	}
	var text message.Message
	state := health.DataRestored
	switch {
	case r.date != "":
		text = message.Then(what, message.FromBackup(r.date), message.LookThroughDrafts())
	case r.waits:
		text, state = message.Then(what, message.RestoreWaits()), health.RestoreWaits
	case settings && r.locked:
		text = message.Then(what, message.BackupsLocked(), message.DataRestored())
	case settings:
		text = message.Then(what, message.DataRestored())
	default:
		text, state = message.Then(what, message.DataLost()), health.DataLost
	}
	if r.date == "" && !r.waits {
		a.outbox.SetCopiesAside(nil)
	}
	if state == health.DataRestored {
		a.tellUntilRead(state, text)
	} else {
		a.Health.Set(state, text)
	}
	if !r.waits {
		a.Record(office.Activity{Kind: "problem", Text: text})
	}
}
