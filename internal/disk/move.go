package disk

import (
	"os"
	"path/filepath"
)

// MoveNew moves a file within a folder, from one path below it to another, unless something is there (fs.ErrExist), and
// flushes the names. The subfolders are there and are no links.
func MoveNew(folder, from, to string) error {
	from, to = filepath.FromSlash(from), filepath.FromSlash(to)
	if err := nameNew(folder, from, to); err != nil {
		return err
	}
	return flushBoth(filepath.Join(folder, from), filepath.Join(folder, to))
}

// nameNew is NameNew in a folder that is not open.
func nameNew(folder, from, to string) error {
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
	return NameNew(root, dir, from, to)
}
