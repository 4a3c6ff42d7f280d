//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// replaceLocked gives temp the name of a locked file, which stays locked. release is not needed.
func replaceLocked(temp, path string, _ func() error) error {
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// freeSpace is what is left for this user on the disk of folder, in bytes. Some network file systems do not know.
func freeSpace(folder string) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Blocks == 0 {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}

// syncFolder makes a new name in folder survive a loss of power.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
