//go:build unix

package data

import (
	"errors"
	"strings"
	"syscall"
)

// diskFull reports whether err says that there is no room, or none for this user. bbolt gives some of its errors as
// text alone.
func diskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		strings.Contains(err.Error(), syscall.ENOSPC.Error())
}
