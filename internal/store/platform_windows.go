package store

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func isDiskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// syncFolder does nothing: NTFS journals names by itself.
func syncFolder(string) error { return nil }

// tighten does nothing: the user's configuration folder is private by its access list.
func tighten(string, os.FileMode) error { return nil }
