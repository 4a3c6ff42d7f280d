package disk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrUnflushed says that a file or folder has its new name, and that a power failure may give it its old one again: its folder
// could not be flushed.
var ErrUnflushed = errors.New("the new name may not be on the disk yet")

// Replace flushes and closes temp and gives it a name in the same folder, in place of whatever has it: after that, and after
// any interruption, the name stands for the old file or the whole new one. When it fails, temp is gone; with ErrUnflushed it has
// its name.
func Replace(temp *os.File, path string) error { return finish(temp, path, Rename) }

// Create does what Replace does, but fails with fs.ErrExist where the name is taken.
func Create(temp *os.File, path string) error { return finish(temp, path, RenameNew) }

func finish(temp *os.File, path string, rename func(from, to string) error) error {
	err := errors.Join(temp.Sync(), temp.Close())
	if err == nil {
		err = rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// Rename gives a file or folder, whose content is flushed, another name, in place of the file that has it, and flushes the
// names, for which see ErrUnflushed. It does not copy from one disk to another.
func Rename(from, to string) error {
	if err := rename(from, to); err != nil {
		return err
	}
	return flushBoth(from, to)
}

// RenameNew does what Rename does with a file, in one folder, but fails with fs.ErrExist where the name is taken.
func RenameNew(from, to string) error {
	folder, err := OpenDir(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Move(filepath.Base(from), folder, filepath.Base(to))
}

// flushBoth flushes the folder of the new name, and then that of the old one.
func flushBoth(from, to string) error {
	there, here := filepath.Dir(to), filepath.Dir(from)
	err := FlushFolder(there)
	if err == nil && there != here {
		err = FlushFolder(here)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnflushed, err)
	}
	return nil
}
