// Package locations knows where Countersign keeps things: which folder is an office's data folder, the names of the files in
// it, and the name of its key in the keyring. It does not know what the files contain.
package locations

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/disk"
	"countersign/internal/private"

	"github.com/google/uuid"
)

// Names in a data folder that only this package needs; the others follow.
const (
	lock   = "instance.lock" // locked by the running instance
	socket = "control.sock"  // of the running instance, on Unix
	entry  = "keyring-entry" // a file with the name of the keyring entry
)

// State is the database of a data folder: everything that must not be lost.
func State(folder string) string { return filepath.Join(folder, "state.db") }

// Backup is the file with the small part of the state that exists nowhere else: what a fresh start needs if State is lost.
func Backup(folder string) string { return filepath.Join(folder, "office.json") }

func Logs(folder string) string { return filepath.Join(folder, "logs") }

// Log is the log file. A full one is renamed with ".1" appended.
func Log(folder string) string { return filepath.Join(Logs(folder), "countersign.log") }

// Trace is the file to which a crash writes its trace, until the next start.
func Trace(folder string) string { return filepath.Join(Logs(folder), "fault.txt") }

// Outbox is the folder with the documents that wait to be sent.
func Outbox(folder string) string { return filepath.Join(folder, "outbox") }

// Sent is the folder with the documents that were sent, until they have been compared with what came back.
func Sent(folder string) string { return filepath.Join(folder, "sent") }

// Dropped is the folder for files dropped on the window that the other program has not saved anywhere.
func Dropped(folder string) string { return filepath.Join(folder, "dropped") }

// Update is the folder for a newer version of the program while it is downloaded and installed.
func Update(folder string) string { return filepath.Join(folder, "update") }

// Backups is the folder with the sealed backups of the state.
func Backups(folder string) string { return filepath.Join(folder, "backups") }

// Desks is the folder with the stream of events for other desks, if this computer is the hub.
func Desks(folder string) string { return filepath.Join(folder, "desks") }

// Icon is the file with the program's icon, for desktops that show a notification's icon from a file.
func Icon(folder string) string { return filepath.Join(folder, "icon.png") }

// All lists the files and folders that may lie in a data folder, except damaged files that were set aside.
func All(folder string) []string {
	return []string{
		State(folder), Backup(folder), filepath.Join(folder, lock), filepath.Join(folder, socket),
		filepath.Join(folder, entry), Icon(folder),
		Logs(folder), Log(folder), Log(folder) + ".1", Trace(folder), Outbox(folder), Sent(folder), Dropped(folder), Update(folder), Backups(folder), Desks(folder),
	}
}

// Holds reports whether a folder contains an office's data.
func Holds(folder string) bool {
	for _, path := range []string{State(folder), Backup(folder)} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// Clear empties a data folder that the caller has locked. It leaves the lock, the socket and the name of the keyring entry:
// as long as that name exists, somebody can look for the key.
func Clear(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if !slices.Contains([]string{lock, socket, entry}, e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
		}
	}
	return err
}

// Entry is the name under which the keyring stores the key of a data folder. It is recorded in the folder, and is on disk
// when Entry returns, so that the key is found even if the folder is moved. If the name can be neither read nor recorded,
// Entry returns an error: then nobody knows whether there is a key.
func Entry(folder string) (string, error) {
	path := filepath.Join(folder, entry)
	name, err := Noted(folder)
	if err != nil {
		return "", err
	}
	if name != "" {
		return name, disk.Anchor(path) // a key must not outlive the record of its name
	}
	name = "key of office " + uuid.NewString()
	if err := private.WriteFile(path, disk.Replace, private.From(strings.NewReader(name+"\n"))); err != nil {
		return "", fmt.Errorf("note the name of the keyring's entry: %w", err)
	}
	return name, nil
}

// Noted is the name already recorded in a data folder; empty if there is none.
func Noted(folder string) (string, error) {
	noted, err := os.ReadFile(filepath.Join(folder, entry))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the name of the keyring's entry: %w", err)
	}
	return strings.TrimSpace(string(noted)), nil
}

// Fleeting reports whether path is in a folder for temporary files.
func Fleeting(path string) bool {
	cache, _ := os.UserCacheDir() // "" for none
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", os.Getenv("XDG_RUNTIME_DIR"), cache} {
		real, _ := filepath.EvalSymlinks(dir) // "" if there is no such folder
		for _, dir := range []string{dir, real} {
			if rel, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(rel) {
				return true
			}
		}
	}
	return false
}
