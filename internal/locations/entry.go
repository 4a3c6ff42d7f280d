package locations

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"countersign/internal/disk"
	"countersign/internal/private"

	"github.com/google/uuid"
)

// entry is the file with the name of the keyring's entry.
const entry = "keyring-entry"

// Entries are the names under which the keyring may keep the key of a data folder: the one that is noted there, and the one that
// is used where it could not be. Nothing is noted.
func Entries(folder string) []string {
	names := []string{"key of " + folder}
	if noted, err := os.ReadFile(filepath.Join(folder, entry)); err == nil {
		if name := strings.TrimSpace(string(noted)); name != "" && name != names[0] {
			names = append(names, name)
		}
	}
	return names
}

// Entry is the name under which the keyring keeps the key of a data folder. It is noted in the folder, on disk when Entry
// returns, so that the key is found wherever somebody moves the folder to. In a folder with data in which nothing is noted,
// it could not be: the entry is named after the folder's path.
func Entry(folder string) (string, error) {
	path := filepath.Join(folder, entry)
	noted, err := os.ReadFile(path)
	if name := strings.TrimSpace(string(noted)); err == nil && name != "" {
		return name, disk.Anchor(path) // a key must not outlive its name
	}
	name := "key of " + folder
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return name, fmt.Errorf("read the name of the keyring's entry: %w", err)
	}
	if !Holds(folder) {
		name = "key of office " + uuid.NewString()
	}
	if err := note(path, name); err != nil {
		return "key of " + folder, fmt.Errorf("note the name of the keyring's entry: %w", err)
	}
	return name, nil
}

func note(path, name string) (err error) {
	f, err := private.CreateTemp(filepath.Dir(path), entry+".new-*")
	if err != nil {
		return err
	}
	if _, err = f.WriteString(name + "\n"); err != nil {
		return errors.Join(err, f.Close(), os.Remove(f.Name()))
	}
	return disk.Replace(f, path)
}
