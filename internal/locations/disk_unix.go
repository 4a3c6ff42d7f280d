//go:build unix

package locations

import (
	"errors"
	"syscall"
)

func isOtherDisk(err error) bool { return errors.Is(err, syscall.EXDEV) }
