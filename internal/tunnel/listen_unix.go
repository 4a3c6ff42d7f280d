//go:build !windows

package tunnel

import (
	"errors"
	"syscall"
)

// isInUse says that another program listens there.
func isInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// isAbsent says that this computer does not have the address at the moment.
func isAbsent(err error) bool { return errors.Is(err, syscall.EADDRNOTAVAIL) }
