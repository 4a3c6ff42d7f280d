//go:build unix && !linux && !darwin

package disk

import (
	"os"
	"syscall"
)

// renameExclusive cannot be done in one step here.
func renameExclusive(*os.File, string, string) error { return syscall.ENOSYS }
