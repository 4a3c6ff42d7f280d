package disk

import (
	"os"
	"path/filepath"
)

// MoveNew moves a file within a folder, from one path below it to another, unless something is there (fs.ErrExist), and
// flushes the names. The subfolders are there and are no links.
func MoveNew(folder, from, to string) error {
	from, to = filepath.FromSlash(from), filepath.FromSlash(to)
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := NameNew(root, dir, from, to); err != nil {
		return err
	}
	return flushBoth(filepath.Join(folder, from), filepath.Join(folder, to))
}
