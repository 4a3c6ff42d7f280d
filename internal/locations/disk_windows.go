package locations

import (
	"errors"

	"golang.org/x/sys/windows"
)

func isOtherDisk(err error) bool { return errors.Is(err, windows.ERROR_NOT_SAME_DEVICE) }

// syncFolder does nothing: NTFS journals names by itself.
func syncFolder(string) error { return nil }
