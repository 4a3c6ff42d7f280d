//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func rename(from, to string) error { return os.Rename(from, to) }

// NameNew gives a whole, flushed file its final name, both in an open folder, unless that name is taken (fs.ErrExist). Where
// the file system cannot rename without replacing, a second name does the same in two steps; where it has no second names
// either (a FAT stick), all that is left is to look first. The name is on the disk after Flush, on Windows at once.
func NameNew(root *os.Root, dir *os.File, from, to string) error {
	err := renameExclusive(dir, from, to)
	if !unsupported(err) {
		return err
	}
	return nameByLink(root, from, to)
}

func nameByLink(root *os.Root, from, to string) error {
	err := root.Link(from, to)
	switch {
	case err == nil:
		return root.Remove(from)
	case unsupported(err), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EMLINK):
		return nameChecked(root, from, to)
	default:
		return err
	}
}

func nameChecked(root *os.Root, from, to string) error {
	_, err := root.Lstat(to)
	if err == nil {
		return fs.ErrExist
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.Rename(from, to)
}

// Flush makes the names in an open folder durable. Some file systems write names at once and refuse to be asked.
func Flush(dir *os.File) error {
	err := dir.Sync()
	if unsupported(err) || errors.Is(err, syscall.EBADF) {
		return nil
	}
	return err
}

// FlushFolder is Flush of the folder at path. In one that nobody may look into, nothing can be flushed.
func FlushFolder(path string) error {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return Flush(dir)
}

// writable reports whether this user can make something in a folder.
func writable(path string) bool { return unix.Access(path, unix.W_OK|unix.X_OK) == nil }

// unsupported reports whether the file system cannot do at all what was asked.
func unsupported(err error) bool {
	for _, no := range []error{syscall.EINVAL, syscall.ENOSYS, syscall.ENOTSUP, syscall.EOPNOTSUPP} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}
