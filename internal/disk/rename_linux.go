package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameExclusive renames without replacing, in one step (renameat2(2), Linux 3.15).
func renameExclusive(dir *os.File, from string, there *os.File, to string) error {
	return os.NewSyscallError("renameat2", unix.Renameat2(int(dir.Fd()), from, int(there.Fd()), to, unix.RENAME_NOREPLACE))
}
