package secret

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a file and fails with fs.ErrExist when the new name is taken.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return os.Link(from, to) // a file system without the flag; the caller removes from
	}
	return err
}
