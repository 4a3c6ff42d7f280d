//go:build !windows

package tunnel

import (
	"errors"
	"syscall"
)

// isInUse reports whether another program listens there.
func isInUse(err error) bool { return errors.Is(err, syscall.EADDRINUSE) }

// isAbsent reports whether this computer currently lacks the address.
func isAbsent(err error) bool { return errors.Is(err, syscall.EADDRNOTAVAIL) }
