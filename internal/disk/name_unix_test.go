//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
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
