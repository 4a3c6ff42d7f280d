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

// isMissing also knows a share or a stick that went away under an open folder.
func isMissing(err error) bool {
	return isAny(err, syscall.ENOTCONN, syscall.ESTALE, syscall.ENODEV, syscall.ENXIO, syscall.EHOSTDOWN)
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

func isNotFolder(err error) bool {
	return errors.Is(err, syscall.ENOTDIR) || errors.Is(err, disk.ErrNotFolder)
}

// writable asks whether this user may make files in dir.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }

// conceal keeps others from reading half a document. Its name hides it already.
func conceal(file *os.File) error { return chmod(file, 0o600) }

// reveal gives a complete document its mode.
func reveal(file *os.File, mode fs.FileMode) error { return chmod(file, mode) }

// chmod changes the mode where the file system has one: on a FAT stick and on many network shares everything has the mode
// of the mount.
func chmod(file *os.File, mode fs.FileMode) error {
	err := file.Chmod(mode)
	if errors.Is(err, fs.ErrPermission) || disk.Unsupported(err) {
		return nil
	}
	return err
}

// flushRead flushes a file that is open for reading.
func flushRead(file *os.File) error { return disk.Flush(file) } // which is the same call
