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

// What is answered as kept must be where the next start looks.
func TestNothingIsKeptInAFileThatHasNoNameAnyMore(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	path := filepath.Join(folder, "state.db")
	s := openTest(t, path)
	put := func() error { return s.Update(func(tx *Tx) error { return tx.PutDoc("d", 1) }) }
	noErr(t, os.Rename(folder, folder+".old"))
	if err := put(); !errors.Is(err, ErrGone) {
		t.Errorf("its folder is gone: %v", err)
	}
	noErr(t, errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(path, nil, 0o600)))
	if err := s.UpdateFirst(func(tx *Tx) error { return tx.PutDoc("d", 1) }); !errors.Is(err, ErrGone) {
		t.Errorf("another file is there: %v", err)
	}
	noErr(t, errors.Join(os.RemoveAll(folder), os.Rename(folder+".old", folder)))
	view(t, s, func(tx *Tx) error {
		if known, err := tx.GetDoc("d", new(int)); known || err != nil {
			t.Errorf("kept: %v, %v", known, err)
		}
		return nil
	})
	noErr(t, put())
}
