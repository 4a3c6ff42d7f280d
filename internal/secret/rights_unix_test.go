//go:build unix

package secret

import (
	"os"
	"testing"
)

func setRights(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	noErr(t, os.Chmod(path, mode))
}
