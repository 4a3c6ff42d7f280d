package secret

import (
	"errors"

	"golang.org/x/sys/windows"
)

// reachable always succeeds: the Credential Manager is always there.
func reachable() error { return nil }

// classify finds the Reason for an error of the Credential Manager (CredReadW, CredWriteW).
func classify(err error) Reason {
	if errors.Is(err, windows.ERROR_NO_SUCH_LOGON_SESSION) {
		return NoService
	}
	return Refused
}
