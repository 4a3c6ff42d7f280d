package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameExclusive renames without replacing, in one step (renameatx_np(2), macOS 10.12).
func renameExclusive(dir *os.File, from, to string) error {
	fd := int(dir.Fd())
	return os.NewSyscallError("renameatx_np", unix.RenameatxNp(fd, from, fd, to, unix.RENAME_EXCL))
}
