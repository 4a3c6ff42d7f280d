package disk

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameExclusive renames without replacing, in one step (renameatx_np(2), macOS 10.12).
func renameExclusive(dir *os.File, from string, there *os.File, to string) error {
	return os.NewSyscallError("renameatx_np", unix.RenameatxNp(int(dir.Fd()), from, int(there.Fd()), to, unix.RENAME_EXCL))
}
