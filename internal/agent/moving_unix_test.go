//go:build unix

package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/sandbox"
)

// TestAFileOfAMoveThatHasItsNameIsNotTakenAway has the way to the folder lead through what is named, so that the folder cannot be
// flushed. Somebody may carry the file away at once.
func TestAFileOfAMoveThatHasItsNameIsNotTakenAway(t *testing.T) {
	o := newOffice(t, sandbox.Options{})
	home := t.TempDir()
	folder := filepath.Join(home, "way")
	noErr(t, errors.Join(os.MkdirAll(filepath.Join(home, "a", "temp"), 0o755), os.Symlink("a/temp/..", folder)))
	temp := must(os.Open(filepath.Join(folder, "temp")))
	noErr(t, o.nameMove(temp, filepath.Join(folder, "Office")))
	if _, err := os.Stat(filepath.Join(home, "a", "Office")); err != nil {
		t.Error(err)
	}
}
