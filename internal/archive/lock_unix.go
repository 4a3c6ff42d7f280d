//go:build linux || darwin

package archive

import (
	"errors"
	"os"
	"syscall"

	"countersign/internal/disk"

	"golang.org/x/sys/unix"
)

// lockFile keeps other instances of this program from writing until the file is closed, on this computer and, as far as the
// share supports it, on others. While another has the lock, it fails with an error that isBusy recognises.
func lockFile(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if disk.Unsupported(err) || errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.EBADF) {
		return nil // a file system without locks: Append reads back what it wrote
	}
	return err
}

// isBusy reports whether somebody else has the file open.
func isBusy(err error) bool {
	return isAny(err, ErrBusy, syscall.EWOULDBLOCK, syscall.EBUSY, syscall.ETXTBSY)
}
