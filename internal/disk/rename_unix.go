//go:build unix && !linux && !darwin

package disk

import (
	"os"
	"syscall"
)

// renameExclusive cannot be done in one step here.
func renameExclusive(_ *os.File, _ string, _ *os.File, _ string) error { return syscall.ENOSYS }
