//go:build unix && !linux && !darwin

package disk

import (
	"os"
	"syscall"
)

// renameExclusive is not available atomically on these systems.
func renameExclusive(_ *os.File, _ string, _ *os.File, _ string) error { return syscall.ENOSYS }
