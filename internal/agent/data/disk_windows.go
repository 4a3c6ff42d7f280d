package data

import (
	"errors"
	"strings"

	"golang.org/x/sys/windows"
)

// diskFull reports whether err says that there is no room, or none for this user. bbolt gives some of its errors as
// text alone.
func diskFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED) || strings.Contains(err.Error(), windows.ERROR_DISK_FULL.Error())
}
