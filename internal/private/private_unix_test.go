//go:build unix

package private

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func openUp(t *testing.T, path string) {
	t.Helper()
	noErr(t, os.Chmod(path, 0o755))
}

// changed is when the permissions were last written.
func changed(t *testing.T, path string) string {
	t.Helper()
	var info unix.Stat_t // its fields have the same names on all systems
	noErr(t, unix.Stat(path, &info))
	return fmt.Sprintf("%o %+v", info.Mode, info.Ctim)
}

func TestModesAreAsTheyShouldBeWhateverTheUmask(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	folder := filepath.Join(t.TempDir(), "a", "b")
	noErr(t, Folder(folder))
	temp := must(CreateTemp(folder, "x"))
	temp.Close()
	for path, want := range map[string]os.FileMode{filepath.Dir(folder): 0o700, folder: 0o700, temp.Name(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s has %v, %v", path, info.Mode(), err)
		}
	}
}

func TestAFolderForEverybodyKeepsItsRights(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tmp")
	noErr(t, os.Mkdir(folder, 0o700))
	noErr(t, os.Chmod(folder, 0o777|os.ModeSticky))
	noErr(t, Folder(folder))
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("it has %v, %v", info.Mode(), err)
	}
}

func TestALinkLeadsNowhere(t *testing.T) {
	dir := t.TempDir()
	theirs, link := filepath.Join(dir, "theirs"), filepath.Join(dir, "link")
	noErr(t, os.WriteFile(theirs, nil, 0o644))
	noErr(t, os.Symlink(theirs, link))
	noErr(t, Files(link))
	if !others(t, theirs) {
		t.Error("what a link leads to was changed")
	}
}
