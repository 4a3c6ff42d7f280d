//go:build unix

package store

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestWhatIsSetAsideIsSaidToBeThoughItsFolderCannotBeFlushed makes the path to the folder lead through the file that is set
// aside.
func TestWhatIsSetAsideIsSaidToBeThoughItsFolderCannotBeFlushed(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, "way")
	noErr(t, errors.Join(os.MkdirAll(filepath.Join(home, "a", "state.db"), 0o755), os.Symlink("a/state.db/..", folder)))
	to := must(SetAside(filepath.Join(folder, "state.db"), day))
	if _, err := os.Stat(filepath.Join(home, "a", filepath.Base(to))); err != nil {
		t.Error(err)
	}
}
