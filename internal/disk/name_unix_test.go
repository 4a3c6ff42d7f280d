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
	for name, rename := range map[string]func(*os.Root, string, string) error{"by link": nameByLink, "checked": nameChecked} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			for _, file := range []string{"one", "two"} {
				if err := root.WriteFile(file, []byte(file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := rename(root, "one", "a.pdf"); err != nil {
				t.Fatal(err)
			}
			if err := rename(root, "two", "a.pdf"); !errors.Is(err, fs.ErrExist) {
				t.Errorf("got %v", err)
			}
			if got, _ := root.ReadFile("a.pdf"); string(got) != "one" {
				t.Errorf("replaced by %q", got)
			}
			if names, err := fs.Glob(os.DirFS(dir), "*"); err != nil || !slices.Equal(names, []string{"a.pdf", "two"}) {
				t.Errorf("there are %q, %v", names, err)
			}
		})
	}
}

// looped is a folder with another one, whose path leads through that one: once that has another name, the path leads nowhere, and
// nothing in it can be flushed.
func looped(t *testing.T) (folder string) {
	t.Helper()
	home := t.TempDir()
	folder = filepath.Join(home, "way")
	if err := errors.Join(os.MkdirAll(filepath.Join(home, "a", "old"), 0o755), os.Symlink("a/old/..", folder)); err != nil {
		t.Fatal(err)
	}
	return folder
}

func TestAFailedFlushIsNotTakenForAFailedNaming(t *testing.T) {
	for name, rename := range map[string]func(folder string) error{
		"Rename": func(folder string) error { return Rename(filepath.Join(folder, "old"), filepath.Join(folder, "new")) },
		"RenameNew": func(folder string) error {
			return RenameNew(filepath.Join(folder, "old"), filepath.Join(folder, "new"))
		},
		"MoveNew": func(folder string) error { return MoveNew(folder, "old", "new") },
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
