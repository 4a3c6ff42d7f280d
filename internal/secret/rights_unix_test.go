//go:build unix

package secret

import (
	"os"
	"testing"
)

func setRights(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
