//go:build linux || darwin

package archive

import (
	"errors"
	"os"
	"syscall"

	"countersign/internal/disk"

	"golang.org/x/sys/unix"
)

// lockFile keeps others of this program from writing, on this and, as far as the share can, on other computers, until the
// file is closed. It fails with what isBusy knows while another has it.
func lockFile(file *os.File) error {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if disk.Unsupported(err) || errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.EBADF) {
		return nil // a file system without locks: what was written is read again
	}
	return err
}

// isBusy reports whether somebody else has the file open.
func isBusy(err error) bool {
	return isAny(err, ErrBusy, syscall.EWOULDBLOCK, syscall.EBUSY, syscall.ETXTBSY)
}
