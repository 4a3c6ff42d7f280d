package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"countersign/internal/agent/account"
	"countersign/internal/agent/announce"
	"countersign/internal/agent/bulk"
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/issuer"
	"countersign/internal/agent/outbox"
	"countersign/internal/agent/reconcile"
	"countersign/internal/agent/transfer"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/private"
	"countersign/internal/record"
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
//   - what people were to be told then was told since.
//
// The settings, the sign-in and the registration are those of the office's second file (backup.go), which has today's. Without
// it somebody has to sign in again.
//
// All of this is one commit, with the backup's state in the place of the new one. While the key is out of reach nothing is
// begun that the restoring would take back, see pass.

// header is what a sealed file says of who made it.
func (a *Agent) header() transfer.Header {
	computer, err := os.Hostname()
	if err != nil {
		computer = "?"
	}
	return transfer.Header{Program: a.p.Version, Computer: computer, Installation: a.installation}
}

type restoration struct {
	date   string // of the backup; empty when there was none, or none that can be opened
	asked  bool   // for, by a person
	locked bool   // there are backups, but none that this key opens
	waits  bool   // the key is out of reach
}

// restoreNewest puts the newest backup that can be opened in the place of a state that knows nothing but what the office's
// second file holds.
func (a *Agent) restoreNewest(ctx context.Context) (r restoration, err error) {
	files, wanted, err := a.restorable()
	if err != nil || len(files) == 0 {
		return r, err
	}
	key, err := a.p.Keeper.Load(ctx)
	if errors.Is(err, secret.ErrAbsent) {
		return restoration{locked: true}, nil
	}
	if err != nil {
		a.Log.Warn("the key is not available, so no backup is restored yet", "err", err)
		return restoration{waits: true}, nil
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
		mine := here.installation()
		if filepath.Base(f.Path) == wanted { // a person's word
			mine = ""
		}
		err := a.restore(f.Path, safe.Secret(derived), mine)
		if err == nil {
			a.Log.Info("restored the state from a backup", "file", f.Path)
			return restoration{date: f.Date, asked: a.forgetWanted()}, nil
		}
		a.Log.Error("restore a backup", "file", f.Path, "err", err)
		if !ofThisBackup(err) {
			return r, fmt.Errorf("restore a backup: %w", err)
		}
		r.locked = r.locked || !errors.Is(err, errOtherOffice)
	}
	return r, nil
}

// errOtherOffice is a backup of what was in the data folder before the office that the second file tells of was brought over.
var errOtherOffice = errors.New("the backup is of another office")

// ofThisBackup reports whether err is about one backup, and the one before may be better.
func ofThisBackup(err error) bool {
	for _, own := range []error{safe.ErrKey, safe.ErrDamaged, safe.ErrForeign, transfer.ErrDamaged, transfer.ErrNewer,
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
		return errors.Join(a.becomeHere(tx, here), a.unsettle(tx, now), tx.AddFact(record.Fact{Kind: record.Restored}))
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
	if made != "" && here.installation() == made {
		err := account.ReplaceSealed(tx, here.Sealed)
		here.Sealed = nil
		return errors.Join(err, here.put(tx))
	}
	if moved := here.Docs[docMoved]; moved != nil { // which is of this computer, whatever office is here
		err = tx.PutDoc(docMoved, moved)
	}
	return errors.Join(err, account.ForgetPassing(tx), account.Expire(tx))
}

// unsettle has everything found out that may have happened since the backup was made.
func (a *Agent) unsettle(tx *store.Tx, now time.Time) error {
	return errors.Join(a.forgetWithdrawals(tx, now), outbox.Doubt(tx, now), bulk.Doubt(tx), data.MarkRestored(tx, now), reconcile.MarkRestored(tx, now),
		announce.ForgetPending(tx), transfer.Forget(tx), a.noteDueSoon(tx, now))
}

// forgetWithdrawals ends the wishes to withdraw packages: they may have been taken back.
func (a *Agent) forgetWithdrawals(tx *store.Tx, now time.Time) error {
	open, err := tx.Unfinished()
	for _, p := range open {
		if !p.Withdrawal.Pending() {
			continue
		}
		p.Withdrawal = &office.Withdrawal{State: office.WithdrawUnknown, Asked: p.Withdrawal.Asked, Problem: message.NobodyKnowsWhetherWithdrawn()}
		line := office.Activity{Time: now, Kind: "problem", PackageID: p.ID, Text: message.WithdrawAgain(p.DisplayName())}
		err = errors.Join(err, tx.PutPackage(p), tx.AddActivity(line))
	}
	return err
}

// noteDueSoon has nobody told again of what was due soon already.
func (a *Agent) noteDueSoon(tx *store.Tx, now time.Time) error {
	var s office.Settings
	if _, err := tx.GetDoc(account.DocSettings, &s); err != nil {
		return err
	}
	open, err := tx.Unfinished()
	for _, p := range open {
		if p.Line().DueSoon(now, s.Normal().DueDays) {
			facts, failed := a.announcer.DueSoon(tx, p, now)
			err = errors.Join(err, failed, a.announcer.Withhold(tx, facts))
		}
	}
	return err
}

// tellRestored says once what became of a state that was lost. settings: they were restored from the office's second file.
func (a *Agent) tellRestored(aside string, settings bool, r restoration) {
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
	a.Health.Set(state, text)
	if state == health.DataRestored {
		a.keepUnread(text)
	}
	if !r.waits {
		a.Record(office.Activity{Kind: "problem", Text: text})
	}
}

// That the state was restored happened once, and nothing brings it up again: it stands until somebody has read it, and is therefore
// kept from one start to the next.

// docUnread names the document with what is said of it, until it is read.
const docUnread = "unread"

// loadUnread says again what nobody has read before the program ended.
func (a *Agent) loadUnread() {
	text, known, err := data.Doc[message.Message](a.Data, docUnread)
	if err != nil { // which health says
		a.Log.Error("read what nobody has read yet", "err", err)
	}
	if known {
		a.Health.Set(health.DataRestored, text)
	}
}

func (a *Agent) keepUnread(text any) {
	if err := a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docUnread, text) }); err != nil { // it is said once more at the next start, or no more
		a.Log.Warn("note what was read", "err", err)
	}
	a.Signal(office.StatusChanged)
}

// docRestore names the document that says that a backup is still to be restored.
const docRestore = "restore-pending"

// restorePause is the longest pause between two tries.
const restorePause = 5 * time.Minute

// pass returns true when the loops may run, and false once ctx has ended before that. While the office is on another computer, the
// service is still told of sign-ins that have ended.
func (a *Agent) pass(ctx context.Context) bool {
	for tries := 1; ; tries++ {
		changed := a.gate.changed()
		open, pause := a.takeUp(ctx, tries)
		if open {
			return true
		}
		waiting, stop := context.WithTimeout(ctx, pause)
		var revocations sync.WaitGroup
		if _, away := a.movedAway(); away {
			revocations.Go(func() { _ = a.account.RunRevocations(waiting) }) // which health says
		}
		select {
		case <-waiting.Done():
		case <-changed:
		}
		stop()
		revocations.Wait()
		if ctx.Err() != nil {
			return false
		}
	}
}

// takeUp restores what is to be restored, and reports whether the loops may run. When they may not, it is to be tried again after a
// pause, or with the next change.
func (a *Agent) takeUp(ctx context.Context, tries int) (open bool, pause time.Duration) {
	if !a.gate.moves.TryLock() {
		return false, time.Hour
	}
	defer a.gate.moves.Unlock()
	if a.restorePending() {
		if a.restoreLate(ctx); a.restorePending() {
			return false, a.Backoff(tries, 10*a.Pace.Retry, restorePause)
		}
	}
	_, away := a.movedAway()
	return !away, time.Hour
}

func (a *Agent) restorePending() bool {
	_, pending, err := data.Doc[bool](a.Data, docRestore)
	return pending && err == nil
}

// restoreFirst restores a backup in the place of a state that was lost, before anything else is made of it.
func (a *Agent) restoreFirst(ctx context.Context) (settings bool, r restoration, err error) {
	if err := a.noteRestorePending(); err != nil {
		return false, r, err
	}
	if settings, err = a.backup.restore(); err != nil {
		return false, r, err
	}
	if !a.restorePending() {
		a.forgetWanted() // whoever chose one was killed before the state was set aside
		return settings, r, nil
	}
	return settings, a.restoreNow(ctx), nil
}

// restoreNow restores what is to be restored, and notes that it was. What fails is tried again, as while the key is out of reach.
func (a *Agent) restoreNow(ctx context.Context) restoration {
	r, err := a.restoreNewest(ctx)
	if err == nil && !r.waits {
		err = a.Data.UpdateFrozen(func(tx *store.Tx) error { return tx.PutDoc(docRestore, nil) })
	}
	if err != nil {
		a.Log.Error("restore a backup", "err", err)
		return restoration{waits: true}
	}
	return r
}

// noteRestorePending notes of a state that knows nothing that there are backups to restore: before anything is put into it, or the
// next start would take it for one that was not lost.
func (a *Agent) noteRestorePending() error {
	here, err := data.Read(a.Data, "what is known of the office", readBackedUp)
	if err != nil || here.has(docInstallation) {
		return err
	}
	files, err := transfer.List(locations.Backups(a.p.DataDir))
	if err != nil || len(files) == 0 {
		return err
	}
	return a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docRestore, true) })
}

// restoreLate does the same when the start could not, while no loop runs.
func (a *Agent) restoreLate(ctx context.Context) {
	r := a.restoreNow(ctx)
	if r.waits {
		return
	}
	a.Data.Thaw()
	a.Health.Clear(health.RestoreWaits)
	if err := a.reload(ctx); err != nil {
		a.Log.Error("read the restored state", "err", err)
	}
	a.loadMoved()
	a.tellRestored("", true, r)
}

// backUp keeps what has just been committed in the second file, too. That it fails keeps nothing else from working.
func (a *Agent) backUp() {
	if err := a.backup.write(); err != nil {
		a.Log.Error("back the settings up", "err", err)
	}
}

// loadInstallation reads what tells this data folder from every other one, and makes it where there is none.
func (a *Agent) loadInstallation() error {
	err := a.Data.Update(func(tx *store.Tx) error {
		known, err := tx.GetDoc(docInstallation, &a.installation)
		if err == nil && !known {
			a.installation = uuid.NewString()
			err = tx.PutDoc(docInstallation, a.installation)
		}
		if err != nil {
			return err
		}
		return tx.UseService(issuer.Home(a.Settings())) // that of a backup may have been another one
	})
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	return nil
}

// movedAway reports whether this computer does not work because its office has moved. As long as that cannot be read, which is told, it
// had better not work.
func (a *Agent) movedAway() (into string, away bool) {
	into, away, err := data.Doc[string](a.Data, docMoved)
	return into, away || err != nil
}

// loadMoved has a computer that its office has left stay quiet, from the first moment on.
func (a *Agent) loadMoved() {
	into, away := a.movedAway()
	a.account.Park(away)
	if away {
		text := message.MovedAway(filepath.Base(into))
		a.Data.Freeze(text)
		a.Health.Set(health.MovedAway, text)
	}
}

// reload follows a state that took the place of the one before. No loop runs.
func (a *Agent) reload(ctx context.Context) error {
	if err := a.loadInstallation(); err != nil {
		return err
	}
	if err := a.account.Reload(ctx); err != nil {
		return err
	}
	if err := a.webhook.Load(); err != nil {
		return err
	}
	if err := a.announcer.Load(); err != nil {
		return err
	}
	if err := a.form.Load(); err != nil {
		return err
	}
	a.backUp()
	for _, c := range []office.Change{office.StatusChanged, office.PackagesChanged, office.ActivityChanged, office.OutboxChanged, office.SettingsChanged} {
		a.Signal(c)
	}
	return nil
}

// A person may have a backup restored though the state is well, or another one than the newest: what is there is set aside, and
// the next start does the rest, as for a state that was lost.

// Backup is a backup of a data folder.
type Backup = transfer.File

// IssueRestored is the ID of what is said of a state that was lost.
var IssueRestored = health.DataRestored.ID

// wanted is the file, in the folder of the backups, that names the one to be restored first.
const wanted = "restore-first"

func Backups(dataDir string) ([]Backup, error) { return transfer.List(locations.Backups(dataDir)) }

// PrepareRestore sets the state of a data folder aside, which nobody uses, and has the next start restore a backup of it, the
// newest for none. It returns where the state is kept; empty when there was none.
func PrepareRestore(ctx context.Context, keeper secret.Keeper, dataDir, file string) (aside string, err error) {
	list, err := Backups(dataDir)
	if err != nil {
		return "", err
	}
	same := func(b Backup) bool {
		return file == "" || filepath.Base(b.Path) == filepath.Base(file) && disk.Same(b.Path, file)
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
	if err := anyRestorable(ctx, keeper, slices.DeleteFunc(list, func(b Backup) bool { return !same(b) })); err != nil {
		return "", err
	}
	name := ""
	if file != "" {
		name = filepath.Base(file)
	}
	if err := private.WriteFile(filepath.Join(locations.Backups(dataDir), wanted), disk.Replace, private.From(strings.NewReader(name))); err != nil {
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

// anyRestorable makes sure that one of the backups can be restored, before the state is set aside for it.
func anyRestorable(ctx context.Context, keeper secret.Keeper, list []Backup) error {
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
