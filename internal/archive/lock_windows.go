package archive

import (
	"errors"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile keeps other instances of this program from writing until the file is closed, on this computer and on others.
// While another has the lock, it fails with an error that isBusy recognises. The locked range is far past the end: a lock
// inside the file would keep others from reading.
func lockFile(file *os.File) error {
	at := &windows.Overlapped{Offset: math.MaxUint32 - 1, OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_NOT_SUPPORTED) || errors.Is(err, windows.ERROR_INVALID_FUNCTION) {
		return nil // a share without locks: Append reads back what it wrote
	}
	return err
}

// isBusy reports whether somebody else has the file open, as Excel does while it shows it.
func isBusy(err error) bool {
	return isAny(err, ErrBusy, windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION)
}
