// Package locations is the map of where Countersign keeps things: which folder is an office's data folder, what lies in it under which
// name, and what the key of it is called in the keyring. It does not know what is in the files.
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

// The names in a data folder.
const (
	state   = "state.db"      // everything that must not be forgotten
	backup  = "office.json"   // what is needed to begin anew without state
	logs    = "logs"          // a folder
	trace   = "fault.txt"     // among the logs: what the fault leaves that ends the program
	outbox  = "outbox"        // a folder: what waits to be sent
	sent    = "sent"          // a folder: what was sent
	dropped = "dropped"       // a folder: files that other programs handed over without a place of their own
	update  = "update"        // a folder: a newer version, while it is fetched and installed
	backups = "backups"       // a folder: the state as it was, sealed
	desks   = "desks"         // a folder: the stream of events for other desks, where this computer is the hub
	lock    = "instance.lock" // held by the instance that runs
	socket  = "control.sock"  // the way to that instance, on Unix
	icon    = "icon.png"      // that notifications show, where the desktop wants it in a file
)

// State is the file with the state of a data folder.
func State(folder string) string { return filepath.Join(folder, state) }

// Backup is the file with the small part of the state that nobody else has.
func Backup(folder string) string { return filepath.Join(folder, backup) }

func Logs(folder string) string { return filepath.Join(folder, logs) }

// Log is the log. A full one is set aside as its name with ".1".
func Log(folder string) string { return filepath.Join(folder, logs, "countersign.log") }

// Trace is the file in which a fault that ends the program leaves its trace, until the next start.
func Trace(folder string) string { return filepath.Join(folder, logs, trace) }

// Outbox is the folder with the copies of the files that are to be sent.
func Outbox(folder string) string { return filepath.Join(folder, outbox) }

// Sent is the folder with the files that were sent, until what came back was compared with them.
func Sent(folder string) string { return filepath.Join(folder, sent) }

// Dropped is the folder with the files that were dropped on the window by a program that keeps them nowhere.
func Dropped(folder string) string { return filepath.Join(folder, dropped) }

// Update is the folder with a newer version of the program, while that is fetched and installed.
func Update(folder string) string { return filepath.Join(folder, update) }

// Backups is the folder with the sealed backups of the state.
func Backups(folder string) string { return filepath.Join(folder, backups) }

// Desks is the folder with the stream of events for other desks.
func Desks(folder string) string { return filepath.Join(folder, desks) }

// Icon is the file with the program's icon, for desktops that show notifications with one from a file.
func Icon(folder string) string { return filepath.Join(folder, icon) }

// All are the files and folders that may lie in a data folder, but for damaged files that were set aside.
func All(folder string) []string {
	return []string{
		State(folder), Backup(folder), filepath.Join(folder, lock), filepath.Join(folder, socket),
		filepath.Join(folder, entry), Icon(folder),
		Logs(folder), Log(folder), Log(folder) + ".1", Trace(folder), Outbox(folder), Sent(folder), Dropped(folder), Update(folder), Backups(folder), Desks(folder),
	}
}

// Holds reports whether there is an office's data in a folder.
func Holds(folder string) bool {
	for _, path := range []string{State(folder), Backup(folder)} {
		if _, err := os.Lstat(path); err == nil {
			return true
		}
	}
	return false
}

// Clear removes what is in a data folder that the caller holds, but what it is held by and the name of the keyring's entry: so
// long as that is there, somebody can look for the key.
func Clear(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if !slices.Contains([]string{lock, socket, entry}, e.Name()) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
		}
	}
	return err
}

// entry is the file with the name of the keyring's entry.
const entry = "keyring-entry"

// Entry is the name under which the keyring keeps the key of a data folder. It is noted in the folder, on disk when Entry
// returns, so that the key is found wherever somebody moves the folder to. It is empty when it could be neither read nor noted:
// then nobody knows whether there is a key.
func Entry(folder string) (string, error) {
	path := filepath.Join(folder, entry)
	name, err := Noted(folder)
	if err != nil {
		return "", err
	}
	if name != "" {
		return name, disk.Anchor(path) // a key must not outlive its name
	}
	name = "key of office " + uuid.NewString()
	if err := private.WriteFile(path, disk.Replace, private.From(strings.NewReader(name+"\n"))); err != nil {
		return "", fmt.Errorf("note the name of the keyring's entry: %w", err)
	}
	return name, nil
}

// Noted is the name that is noted in a data folder already; empty for none.
func Noted(folder string) (string, error) {
	noted, err := os.ReadFile(filepath.Join(folder, entry))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the name of the keyring's entry: %w", err)
	}
	return strings.TrimSpace(string(noted)), nil
}

// Fleeting reports whether path is in a folder for files that do not last.
func Fleeting(path string) bool {
	cache, _ := os.UserCacheDir() // "" for none
	for _, dir := range []string{os.TempDir(), "/tmp", "/var/tmp", os.Getenv("XDG_RUNTIME_DIR"), cache} {
		for _, dir := range []string{dir, resolved(dir)} {
			if rel, err := filepath.Rel(dir, path); dir != "" && err == nil && filepath.IsLocal(rel) {
				return true
			}
		}
	}
	return false
}

// resolved is dir without links, "" when there is no such folder.
func resolved(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	return dir
}
