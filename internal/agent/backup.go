package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
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

// backedUp is the small part of the state that the service cannot give back: who this office is, and what it needs to
// sign in. It is kept in a second file as well, from which a lost or damaged state.db is begun anew; the rest is read from
// the service again. What is secret is sealed there as it is in the store.
type backedUp struct {
	Version      int                `json:"version"`
	Installation string             `json:"installation"`
	Settings     *office.Settings   `json:"settings,omitempty"`
	Folders      []office.HotFolder `json:"hot_folders,omitempty"`
	Account      *account.Record    `json:"account,omitempty"`
	KeyID        string             `json:"key_id,omitempty"`
	Sealed       map[string][]byte  `json:"sealed,omitempty"`
	Moved        *moved             `json:"moved,omitempty"` // why this computer does not work
}

const backupVersion = 1

// backup is the second file, beside state.db. Safe for concurrent use.
type backup struct {
	path string
	st   *data.Data

	mu   sync.Mutex
	last []byte // what is in the file
}

// write brings the file up to date with the store; it costs no disk when it is. The file is always whole: the old one
// or the new one.
func (b *backup) write() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	x, err := data.Read(b.st, "what is to be backed up", readBackedUp)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return fmt.Errorf("back the settings up: %w", err)
	}
	if bytes.Equal(text, b.last) {
		return nil
	}
	if err := replaceFile(b.path, text); err != nil {
		return fmt.Errorf("back the settings up: %w", err)
	}
	b.last = text
	return nil
}

func readBackedUp(tx *store.Tx) (x backedUp, err error) {
	x.Version, x.Sealed = backupVersion, map[string][]byte{}
	var s office.Settings
	var acc account.Record
	settings, err1 := tx.GetDoc(account.DocSettings, &s)
	known, err2 := tx.GetDoc(account.Doc, &acc)
	_, err3 := tx.GetDoc(docInstallation, &x.Installation)
	_, err4 := tx.GetDoc(account.DocKeyID, &x.KeyID)
	if settings {
		x.Settings = &s
	}
	if known {
		x.Account = &acc
	}
	for _, name := range tx.SealedNames() {
		if b, ok := tx.Sealed(name); ok {
			x.Sealed[name] = bytes.Clone(b)
		}
	}
	_, err5 := tx.GetDoc(hotfolder.DocFolders, &x.Folders)
	var m moved
	away, err6 := tx.GetDoc(docMoved, &m)
	if away {
		x.Moved = &m
	}
	return x, errors.Join(err1, err2, err3, err4, err5, err6)
}

// restore puts what the file holds into a store that knows nothing yet, and reports whether there was anything. Of a store
// that merely lost one of these documents, because it cannot be read, it restores that one. A file that is not there, or
// that nobody can read, restores nothing.
func (b *backup) restore() (restored bool, err error) {
	text, err := os.ReadFile(b.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the backup of the settings: %w", err)
	}
	if err := disk.Anchor(b.path); err != nil {
		return false, fmt.Errorf("flush the backup of the settings: %w", err)
	}
	b.mu.Lock()
	b.last = text
	b.mu.Unlock()
	var x backedUp
	if json.Unmarshal(text, &x) != nil || x.Version != backupVersion || x.Installation == "" {
		return false, nil
	}
	err = b.st.Update(func(tx *store.Tx) error {
		restored = false
		here, err := readBackedUp(tx)
		if err != nil {
			return err
		}
		restored = here.Installation == "" && here.Settings == nil && here.Account == nil && len(here.Sealed) == 0
		if here.Installation != "" && here.Installation != x.Installation {
			return nil // another office's
		}
		return putBackedUp(tx, x.without(here))
	})
	if err != nil {
		return false, fmt.Errorf("restore the settings: %w", err)
	}
	return restored, nil
}

// without is what of x is not here.
func (x backedUp) without(here backedUp) backedUp {
	if here.Installation != "" {
		x.Installation, x.Moved = "", nil // a state that is there knows that itself
	}
	if here.Settings != nil {
		x.Settings = nil
	}
	if here.Account != nil {
		x.Account = nil
	}
	if here.Folders != nil {
		x.Folders = nil
	}
	if here.KeyID != "" {
		x.KeyID = ""
	}
	if len(here.Sealed) > 0 {
		x.Sealed = nil // what is missing there was given up
	}
	return x
}

func putBackedUp(tx *store.Tx, x backedUp) error {
	var errs []error
	if x.Installation != "" {
		errs = append(errs, tx.PutDoc(docInstallation, x.Installation))
	}
	if x.Settings != nil {
		errs = append(errs, tx.PutDoc(account.DocSettings, x.Settings))
	}
	if x.Account != nil {
		errs = append(errs, tx.PutDoc(account.Doc, x.Account))
	}
	if x.Folders != nil {
		errs = append(errs, tx.PutDoc(hotfolder.DocFolders, x.Folders))
	}
	if x.Moved != nil {
		errs = append(errs, tx.PutDoc(docMoved, x.Moved))
	}
	if x.KeyID != "" {
		errs = append(errs, tx.PutDoc(account.DocKeyID, x.KeyID))
	}
	for name, b := range x.Sealed {
		errs = append(errs, tx.PutSealed(name, b))
	}
	return errors.Join(errs...)
}

// replaceFile makes path hold text, whatever interrupts it: the old content or the new, never a part.
func replaceFile(path string, text []byte) (err error) {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err != nil {
		return errors.Join(err, f.Close(), os.Remove(temp))
	}
	return disk.Replace(f, path)
}

// backUp keeps what has just been committed in the second file, too. That it fails keeps nothing else from working.
func (a *Agent) backUp() {
	if err := a.backup.write(); err != nil {
		a.Log.Error("back the settings up", "err", err)
	}
}

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
//   - what people were to be told then was told since.
//
// The settings, the sign-in and the registration are those of the office's second file (backup.go), which has today's. Without
// it somebody has to sign in again.
//
// All of this is one commit, with the backup's state in the place of the new one. While the key is out of reach nothing is
// begun that the restoring would take back: see run.go.

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

// A person may have a backup restored though the state is well, or another one than the newest: what is there is set aside, and
// the next start does the rest, as for a state that was lost.

// Backup is a backup of a data folder.
type Backup = transfer.File

// IssueRestored is the ID of what is said of a state that was lost.
var IssueRestored = health.DataRestored.ID

// wanted is the file, in the folder of the backups, that names the one to be restored first.
const wanted = "restore-first"

// Backups are those of a data folder, newest first.
func Backups(dataDir string) ([]Backup, error) { return transfer.List(locations.Backups(dataDir)) }

// PrepareRestore sets the state of a data folder aside, which nobody uses, and has the next start restore a backup of it, the
// newest for none. It returns where the state is kept; empty when there was none.
func PrepareRestore(ctx context.Context, keeper secret.Keeper, dataDir, file string) (aside string, err error) {
	list, err := Backups(dataDir)
	if err != nil {
		return "", err
	}
	same := func(b Backup) bool {
		return file == "" || filepath.Base(b.Path) == filepath.Base(file) && sameFile(b.Path, file)
	}
	if !slices.ContainsFunc(list, same) {
		_, missing := os.Stat(file)
		switch {
		case len(list) == 0:
			return "", message.Error(message.NoBackups(), nil)
		case missing != nil:
			return "", message.Error(message.BackupNotThere(filepath.Base(file)), missing)
		}
		return "", message.Error(message.BackupElsewhere(filepath.Base(file)), nil)
	}
	if err := usable(ctx, keeper, slices.DeleteFunc(list, func(b Backup) bool { return !same(b) })); err != nil {
		return "", err
	}
	name := ""
	if file != "" {
		name = filepath.Base(file)
	}
	if err := replaceFile(filepath.Join(locations.Backups(dataDir), wanted), []byte(name)); err != nil {
		return "", err
	}
	state := locations.State(dataDir)
	aside = state + time.Now().UTC().Format(".before-restore-20060102-150405")
	if err := disk.RenameNew(state, aside); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	} else if err != nil && !errors.Is(err, disk.ErrUnflushed) { // should it be back after a power failure, nothing was lost
		return "", err
	}
	return aside, nil
}

// usable makes sure that one of the backups can be restored, before the state is set aside for it.
func usable(ctx context.Context, keeper secret.Keeper, list []Backup) error {
	key, err := keeper.Load(ctx)
	if err != nil && !errors.Is(err, secret.ErrAbsent) {
		return message.Error(account.KeyMessage(err), err)
	}
	var derived safe.Secret
	if err == nil {
		derived, err = key.Derive(account.BackupPurpose)
	}
	for i := 0; err == nil && i < len(list); i++ {
		if _, _, bad := transfer.CheckBackup(list[i].Path, derived); bad == nil {
			return nil
		}
	}
	if len(list) == 1 {
		return message.Error(message.BackupNotUsable(filepath.Base(list[0].Path)), err)
	}
	return message.Error(message.BackupsLocked(), err)
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// restorable are the backups in the order in which they are to be tried; first is the name of the one that a person has chosen.
func (a *Agent) restorable() (list []Backup, first string, err error) {
	list, err = Backups(a.p.DataDir)
	if err != nil {
		return nil, "", err
	}
	name, err := os.ReadFile(filepath.Join(locations.Backups(a.p.DataDir), wanted))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	first = strings.TrimSpace(string(name))
	if at := slices.IndexFunc(list, func(b Backup) bool { return filepath.Base(b.Path) == first }); at > 0 {
		list = slices.Insert(slices.Delete(slices.Clone(list), at, at+1), 0, list[at])
	}
	return list, first, nil
}

// forgetWanted ends what PrepareRestore began, and says whether it did.
func (a *Agent) forgetWanted() bool {
	err := os.Remove(filepath.Join(locations.Backups(a.p.DataDir), wanted))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.Log.Warn("forget which backup was wanted", "err", err)
	}
	return err == nil
}
