package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent/account"
	"countersign/internal/agent/health"
	"countersign/internal/agent/transfer"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/safe"
	"countersign/internal/secret"
)

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
