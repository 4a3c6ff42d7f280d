package tunnel

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isInUse reports whether another program listens there. Windows reports an access error if that program demanded exclusive
// use.
func isInUse(err error) bool {
	return errors.Is(err, windows.WSAEADDRINUSE) || errors.Is(err, windows.WSAEACCES)
}

// isAbsent reports whether this computer currently lacks the address.
func isAbsent(err error) bool { return errors.Is(err, windows.WSAEADDRNOTAVAIL) }
