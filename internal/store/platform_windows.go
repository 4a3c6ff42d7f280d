package store

import (
	"errors"

	"countersign/internal/disk"

	"golang.org/x/sys/windows"
)

func isDiskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// replaceLocked gives temp the name of a locked file, which must be let go for that.
func replaceLocked(temp, path string, release func() error) error {
	if err := release(); err != nil {
		return err
	}
	return disk.Rename(temp, path)
}

// FreeSpace is what is left for this user on the disk of folder, in bytes.
func FreeSpace(folder string) (free uint64, known bool) {
	name, err := windows.UTF16PtrFromString(folder)
	if err != nil {
		return 0, false
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err == nil
}
