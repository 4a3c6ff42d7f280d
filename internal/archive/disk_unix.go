//go:build linux || darwin

package archive

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"countersign/internal/disk"

	"golang.org/x/sys/unix"
)

// isMissing also recognises a share or a memory stick that disappeared under an open folder.
func isMissing(err error) bool {
	return isAny(err, syscall.ENOTCONN, syscall.ESTALE, syscall.ENODEV, syscall.ENXIO, syscall.EHOSTDOWN)
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func isNotFolder(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, disk.ErrNotFolder)
}

// writable checks whether this user may create files in dir.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// conceal makes an unfinished document unreadable for others. Its name hides it already.
func conceal(file *os.File) error { return chmod(file, 0o600) }

// reveal gives a finished document its mode.
func reveal(file *os.File, mode fs.FileMode) error { return chmod(file, mode) }

// chmod sets the mode where the file system supports modes: on a FAT stick and on many network shares every file has the
// mode of the mount.
func chmod(file *os.File, mode fs.FileMode) error {
	err := file.Chmod(mode)
	if errors.Is(err, fs.ErrPermission) || disk.Unsupported(err) {
		return nil
	}
	return err
}

// flushRead flushes a file that is open for reading.
func flushRead(file *os.File) error { return disk.Flush(file) }

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
