package tunnel

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isInUse says that another program listens there. Windows answers "access" when that program asked to be alone.
func isInUse(err error) bool {
	return errors.Is(err, windows.WSAEADDRINUSE) || errors.Is(err, windows.WSAEACCES)
}

// isAbsent says that this computer does not have the address at the moment.
func isAbsent(err error) bool { return errors.Is(err, windows.WSAEADDRNOTAVAIL) }
