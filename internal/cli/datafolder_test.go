package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/locations"
	"countersign/internal/private"
)

func TestTheMapNamesAllThatLiesInTheDataFolder(t *testing.T) {
	s := newShell(t)
	s.setUp()
	known := locations.All(s.data)
	err := filepath.WalkDir(s.data, func(path string, _ fs.DirEntry, err error) error {
		if path != s.data && !slices.Contains(known, path) {
			t.Errorf("%s is on no map", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWhatLiesInTheDataFolderIsClosedToOthers(t *testing.T) {
	s := newShell(t)
	s.setUp()
	files := append(locations.All(s.data), s.data)
	for _, path := range files {
		if info, err := os.Lstat(path); err == nil && info.Mode().Type()&^fs.ModeDir == 0 {
			must(t, os.Chmod(path, info.Mode().Perm()|0o055))
		}
	}
	if code, _, stderr := s.run("status"); code != exitDone {
		t.Fatal(stderr)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		must(t, err)
		if err := errors.Join(private.OpenToOthers(f), f.Close()); err != nil && !strings.HasSuffix(path, ".sock") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
