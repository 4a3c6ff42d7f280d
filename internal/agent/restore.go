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
	"countersign/internal/agent/download"
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

// If a data file is missing or damaged and there are backups, it is recreated from the newest one that the key opens, automatically,
// because events arrive and must not wait for a person to answer. The damaged file is kept, so nothing is given up. What happened
// since the backup is known to the service, to the folders and to people, but not here, and so
//
//   - a draft that was to be sent may have been sent: its outcome is unknown until the service's list or a person decides;
//   - a package that the service knows and the backup does not may be sent a second time: what looks like it waits for a person;
//   - a draft that was held or refused stays so, with a note that it may have been sent since;
//   - a request to withdraw a package may have been cancelled: it is dropped, and people are told;
//   - a file in a hot folder that is older than the restore is sent only when a person says so;
//   - the service's answers about packages are recorded without telling people again, see reconcile.MarkRestored;
//   - a file that is already saved is recognized by its bytes, as always (package download); people are told in a summary of those
//     that are saved again;
//   - pending notifications have been raised since.
//
// Settings, sign-in and registration come from the office's second file (backup.go), which is current. Without it somebody has to
// sign in again.
//
// All of this is one commit that replaces the new state with the backup's. While the key is unavailable, nothing is started that the
// restore would revert, see pass.

// header describes the maker of a sealed file.
func (a *Agent) header() transfer.Header {
	computer, err := os.Hostname()
	if err != nil {
		computer = "?"
	}
	return transfer.Header{Program: a.p.Version, Computer: computer, Installation: a.installation}
}

type restoration struct {
	date   string          // date of the backup; empty if none exists or can be opened
	told   message.Message // what people are told of it
	locked bool            // there are backups, but this key opens none
	waits  bool            // the key is unavailable
}

// restoreNewest replaces a state that contains at most the office's second file with the newest backup that can be opened.
func (a *Agent) restoreNewest(ctx context.Context, aside string) (r restoration, err error) {
	files, first, err := a.restorable()
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
		if filepath.Base(f.Path) == first { // chosen by a person
			mine = ""
		}
		what := lost(aside)
		if _, err := os.Lstat(filepath.Join(locations.Backups(a.p.DataDir), wanted)); err == nil { // requested by a person
			what = message.DataPutAside()
		}
		told := message.Then(what, message.FromBackup(f.Date), message.LookThroughDrafts())
		err := a.restore(f.Path, safe.Secret(derived), mine, told)
		if err == nil {
			a.Log.Info("restored the state from a backup", "file", f.Path)
			a.forgetWanted()
			return restoration{date: f.Date, told: told}, nil
		}
		a.Log.Error("restore a backup", "file", f.Path, "err", err)
		if !ofThisBackup(err) {
			return r, fmt.Errorf("restore a backup: %w", err)
		}
		r.locked = r.locked || !errors.Is(err, errOtherOffice)
	}
	return r, nil
}

// errOtherOffice rejects a backup made before the office named in the second file was moved to this data folder.
var errOtherOffice = errors.New("the backup is of another office")

// ofThisBackup reports whether err concerns this backup only, so that an earlier one may work.
func ofThisBackup(err error) bool {
	for _, own := range []error{safe.ErrKey, safe.ErrDamaged, safe.ErrForeign, transfer.ErrDamaged, transfer.ErrNewer,
		store.ErrRecord, store.ErrBadID, store.ErrUnfit, store.ErrTargetTaken, fs.ErrNotExist, errOtherOffice} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// lost says what became of the state; aside names it if it was damaged.
func lost(aside string) message.Message {
	if aside != "" {
		return message.DataWasDamaged(filepath.Base(aside))
	}
	return message.DataWasMissing()
}

// restore replaces the state with a backup, which must be of that installation unless that is empty, and stores what people are told
// of it in the same commit.
func (a *Agent) restore(path string, key safe.Secret, installation string, told message.Message) error {
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
	err = a.Data.UpdateFrozen(func(tx *store.Tx) error {
		if err := transfer.ImportBackup(tx, file, key); err != nil {
			return err
		}
		a.becomeHere(tx, here)
		a.doubt(tx, now)
		data.MarkRestored(tx, now)
		reconcile.MarkRestored(tx, now)
		announce.ForgetPending(tx)
		a.noteDueSoon(tx, now)
		tx.PutDoc(docUnread, told)
		tx.AddActivity(office.Activity{Time: now, Kind: office.ActivityProblem, Text: told})
		return tx.AddFact(record.Fact{Kind: record.Restored})
	})
	a.p.Crash("restored")
	return err
}

// bringDocuments restores a backup's documents to where they are sent from, unless they exist. A failure is reported when the draft
// is to be sent, and does not stop the restore.
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

// becomeHere adapts a backup's state to this computer; here is what the office's second file knows of it.
func (a *Agent) becomeHere(tx *store.Tx, here backedUp) {
	var made string
	tx.GetDoc(docInstallation, &made)
	if made != "" && here.installation() == made {
		account.ReplaceSealed(tx, here.Sealed)
		here.Sealed = nil
		here.put(tx)
		return
	}
	if moved := here.Docs[docMoved]; moved != nil { // it belongs to this computer, whichever office is here
		tx.PutDoc(docMoved, moved)
	}
	account.ForgetPassing(tx)
	account.Expire(tx)
	download.ForgetMounts(tx)
}

// doubt marks what may have been sent or withdrawn since the state was current to be found out.
func (a *Agent) doubt(tx *store.Tx, now time.Time) {
	a.forgetWithdrawals(tx, now)
	outbox.Doubt(tx, now)
	bulk.Doubt(tx)
	transfer.Forget(tx)
}

// forgetWithdrawals drops requests to withdraw packages, because they may have been cancelled.
func (a *Agent) forgetWithdrawals(tx *store.Tx, now time.Time) {
	open, _ := tx.Unfinished()
	for _, p := range open {
		if !p.Withdrawal.Pending() {
			continue
		}
		p.Withdrawal = &office.Withdrawal{State: office.WithdrawUnknown, Asked: p.Withdrawal.Asked, Problem: message.NobodyKnowsWhetherWithdrawn()}
		tx.PutPackage(p)
		tx.AddActivity(office.Activity{Time: now, Kind: office.ActivityProblem, PackageID: p.ID, Text: message.WithdrawAgain(p.DisplayName())})
	}
}

// noteDueSoon suppresses repeated notifications of packages that were already due soon.
func (a *Agent) noteDueSoon(tx *store.Tx, now time.Time) {
	var s office.Settings
	tx.GetDoc(account.DocSettings, &s)
	open, _ := tx.Unfinished()
	for _, p := range open {
		if p.Line().DueSoon(now, s.Normal().DueDays) {
			a.announcer.Withhold(tx, a.announcer.DueSoon(tx, p, now))
		}
	}
}

// tellRestored reports once what became of a lost state. settings says that they were restored from the office's second file.
func (a *Agent) tellRestored(aside string, settings bool, r restoration) {
	if aside == "" && !settings && r.date == "" {
		return
	}
	what, text, state := lost(aside), r.told, health.DataRestored
	switch {
	case r.date != "":
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
	if r.date == "" && !r.waits {
		a.Record(office.Activity{Kind: office.ActivityProblem, Text: text})
	}
}

// The report of a restore does not recur by itself: it stays until somebody has read it, and is therefore stored across starts.

// docUnread is the document with that report until it is read.
const docUnread = "unread"

// loadUnread repeats a report that nobody has read in the last run.
func (a *Agent) loadUnread() {
	text, known, err := data.Doc[message.Message](a.Data, docUnread)
	if err != nil { // health reports it
		a.Log.Error("read what nobody has read yet", "err", err)
	}
	if known {
		a.Health.Set(health.DataRestored, text)
	}
}

func (a *Agent) keepUnread(text any) {
	if err := a.Data.Update(func(tx *store.Tx) error { return tx.PutDoc(docUnread, text) }); err != nil { // it is repeated at the next start, or lost
		a.Log.Warn("note what was read", "err", err)
	}
	a.Signal(office.StatusChanged)
}

// docRestore is the document that says that a backup still has to be restored.
const docRestore = "restore-pending"

// restorePause is the longest pause between two tries.
const restorePause = 5 * time.Minute

// pass returns true when the loops may run, and false if ctx ends first. While the office is on another computer, ended sign-ins are
// still reported to the service.
func (a *Agent) pass(ctx context.Context) bool {
	for tries := 1; ; tries++ {
		open, pause := a.takeUp(ctx, tries)
		if open {
			return true
		}
		waiting, stop := context.WithTimeout(ctx, pause)
		var revocations sync.WaitGroup
		if _, away := a.movedAway(); away {
			revocations.Go(func() { _ = a.account.RunRevocations(waiting) }) // health reports it
		}
		select {
		case <-waiting.Done():
		case <-a.gate.rings:
		}
		stop()
		revocations.Wait()
		if ctx.Err() != nil {
			return false
		}
	}
}

// takeUp restores what has to be restored, and reports whether the loops may run. If not, try again after the pause, or at the next
// change.
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

// restoreFirst restores a backup after the state was lost, before anything else is done with it.
func (a *Agent) restoreFirst(ctx context.Context, aside string) (settings bool, r restoration, err error) {
	if err := a.noteRestorePending(); err != nil {
		return false, r, err
	}
	if settings, err = a.backup.restore(); err != nil {
		return false, r, err
	}
	if !a.restorePending() {
		a.forgetWanted() // left by a PrepareRestore killed before it set the state aside
		return settings, r, nil
	}
	return settings, a.restoreNow(ctx, aside), nil
}

// restoreNow restores what has to be restored, and records that. A failure is retried, as while the key is unavailable.
func (a *Agent) restoreNow(ctx context.Context, aside string) restoration {
	r, err := a.restoreNewest(ctx, aside)
	if err == nil && !r.waits {
		err = a.Data.UpdateFrozen(func(tx *store.Tx) error { return tx.PutDoc(docRestore, nil) })
	}
	if err != nil {
		a.Log.Error("restore a backup", "err", err)
		return restoration{waits: true}
	}
	return r
}

// noteRestorePending records in an empty state that there are backups to restore, before anything is put into it: otherwise the next
// start would not recognize it as lost.
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

// restoreLate does so later if the start could not, while no loop runs.
func (a *Agent) restoreLate(ctx context.Context) {
	r := a.restoreNow(ctx, "")
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

// backUp copies what has just been committed to the second file. A failure does not stop anything else.
func (a *Agent) backUp() {
	if err := a.backup.write(); err != nil {
		a.Log.Error("back the settings up", "err", err)
	}
}

// loadInstallation reads the identifier of this data folder, and creates it if there is none.
func (a *Agent) loadInstallation() error {
	var id string
	err := a.Data.Update(func(tx *store.Tx) error {
		if known, _ := tx.GetDoc(docInstallation, &id); !known {
			id = uuid.NewString()
			tx.PutDoc(docInstallation, id)
		}
		return tx.UseService(issuer.Home(a.Settings())) // a backup's service may have been a different one
	})
	if err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	a.installation = id
	return nil
}

// movedAway reports whether this computer is inactive because its office has moved. While that cannot be read, which is reported, it
// stays inactive.
func (a *Agent) movedAway() (into string, away bool) {
	m, away, err := data.Doc[moved](a.Data, docMoved)
	return m.File, away || err != nil
}

// loadMoved makes a computer whose office has left inactive from the start.
func (a *Agent) loadMoved() {
	into, away := a.movedAway()
	a.account.Park(away)
	if away {
		text := message.MovedAway(filepath.Base(into))
		a.Data.Freeze(text)
		a.Health.Set(health.MovedAway, text)
	}
}

// reload loads a replaced state. No loop may be running.
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

// A person may restore a backup although the state is good, or choose another than the newest: the present state is set aside, and
// the next start does the rest, as for a lost state.

type Backup = transfer.File

// IssueRestored is the ID of the report of a lost state.
var IssueRestored = health.DataRestored.ID

// wanted is the file, in the folder of backups, that names the one to restore first.
const wanted = "restore-first"

func Backups(dataDir string) ([]Backup, error) { return transfer.List(locations.Backups(dataDir)) }

// PrepareRestore sets the state of an unused data folder aside, so that the next start restores the backup file, or the newest if
// empty. It returns where the old state is kept; empty if there was none.
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
	} else if err != nil && !errors.Is(err, disk.ErrUnflushed) { // if it is back after a power failure, nothing is lost
		return "", err
	}
	return aside, nil
}

// anyRestorable makes sure that one of the backups can be restored, before the state is set aside.
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

// restorable returns the backups in the order to try; first is the name of the one chosen by a person.
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

// forgetWanted cancels a PrepareRestore.
func (a *Agent) forgetWanted() {
	err := os.Remove(filepath.Join(locations.Backups(a.p.DataDir), wanted))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		a.Log.Warn("forget which backup was wanted", "err", err)
	}
}
