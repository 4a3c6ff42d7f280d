package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameExclusive renames without replacing, in one step (renameat2(2), Linux 3.15).
func renameExclusive(dir *os.File, from, to string) error {
	fd := int(dir.Fd())
	return os.NewSyscallError("renameat2", unix.Renameat2(fd, from, fd, to, unix.RENAME_NOREPLACE))
}
