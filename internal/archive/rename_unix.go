//go:build linux || darwin

package archive

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// renameNew gives the file from its final name, both in the folder dir, unless that name is taken (fs.ErrExist). Where the
// file system cannot rename without replacing, a second name does the same in two steps; where it has no second names
// either (a FAT stick), all that is left is to look first.
func renameNew(root *os.Root, dir *os.File, from, to string) error {
	err := renameExclusive(dir, from, to)
	if !unsupported(err) {
		return err
	}
	return renameByLink(root, from, to)
}

func renameByLink(root *os.Root, from, to string) error {
	err := root.Link(from, to)
	switch {
	case err == nil:
		return root.Remove(from)
	case unsupported(err), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EMLINK):
		return renameChecked(root, from, to)
	default:
		return err
	}
}

func renameChecked(root *os.Root, from, to string) error {
	_, err := root.Lstat(to)
	if err == nil {
		return fs.ErrExist
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.Rename(from, to)
}
