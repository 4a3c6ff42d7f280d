package secret

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a file and fails with fs.ErrExist when the new name is taken.
func renameNew(from, to string) error {
	err := unix.RenamexNp(from, to, unix.RENAME_EXCL)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return os.Link(from, to) // a file system without the flag; the caller removes from
	}
	return err
}
