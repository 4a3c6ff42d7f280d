//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestFileSystemsWithoutExclusiveRename(t *testing.T) {
	for name, rename := range map[string]func(*Dir, string, *Dir, string) error{"by link": (*Dir).renameByLink, "checked": (*Dir).renameChecked} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			for _, file := range []string{"one", "two"} {
				write(t, filepath.Join(d.Path(), file), file)
			}
			noErr(t, rename(d, "one", d, "a.pdf"))
			if err := rename(d, "two", d, "a.pdf"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("got %v", err)
			}
			if got, _ := os.ReadFile(filepath.Join(d.Path(), "a.pdf")); string(got) != "one" {
				t.Errorf("replaced by %q", got)
			}
			if names, err := fs.Glob(os.DirFS(d.Path()), "*"); err != nil || !slices.Equal(names, []string{"a.pdf", "two"}) {
				t.Errorf("there are %q, %v", names, err)
			}
		})
	}
}

// looped is a folder that contains another one whose path leads through it: once that one is renamed, the path leads
// nowhere, and nothing in the folder can be flushed.
func looped(t *testing.T) (folder string) {
	t.Helper()
	home := t.TempDir()
	folder = filepath.Join(home, "way")
	noErr(t, errors.Join(os.MkdirAll(filepath.Join(home, "a", "old"), 0o755), os.Symlink("a/old/..", folder)))
	return folder
}

func TestAFailedFlushIsNotTakenForAFailedNaming(t *testing.T) {
	for name, rename := range map[string]func(folder string) error{
		"Rename": func(folder string) error { return Rename(filepath.Join(folder, "old"), filepath.Join(folder, "new")) },
	} {
		t.Run(name, func(t *testing.T) {
			folder := looped(t)
			if err := rename(folder); !errors.Is(err, ErrUnflushed) || !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v", err)
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "a", "new")); err != nil {
				t.Error(err)
			}
			if err := rename(folder); err == nil || errors.Is(err, ErrUnflushed) {
				t.Errorf("where nothing was named: %v", err)
			}
		})
	}
}
