package secret

import (
	"errors"
	"os/exec"
)

// reachable always succeeds: the Keychain is always there.
func reachable() error { return nil }

// classify finds the Reason for an error of go-keyring, which runs /usr/bin/security: its exit code is the low byte of the
// Security framework's result (SecBase.h).
func classify(err error) Reason {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return NoService
	}
	switch exit.ExitCode() {
	case 36, // errSecInteractionNotAllowed
		51,  // errSecAuthFailed
		128: // the user cancelled
		return Locked
	case 37, // errSecNoDefaultKeychain
		50: // errSecNoSuchKeychain
		return NoService
	default:
		return Refused
	}
}
