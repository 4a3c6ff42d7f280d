//go:build unix

package store

import (
	"errors"
	"syscall"

	"countersign/internal/disk"

	"golang.org/x/sys/unix"
)

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// replaceLocked gives temp the name of a locked file, which stays locked. release is not needed.
func replaceLocked(temp, path string, _ func() error) error {
	return disk.Rename(temp, path)
}

// FreeSpace is what is left for this user on the disk of folder, in bytes. Some network file systems do not know.
func FreeSpace(folder string) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(folder, &s); err != nil || s.Blocks == 0 {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}
