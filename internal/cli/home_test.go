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
	"countersign/internal/single"
)

// moving is a start of a person whose data an earlier version kept elsewhere, and that data.
func moving(t *testing.T) (*run, home) {
	t.Helper()
	s := newShell(t)
	s.setUp()
	h := home{belongs: filepath.Join(t.TempDir(), "local", "countersign"), former: s.data}
	r := &run{ctx: t.Context()}
	r.global.home, r.global.Data, r.global.KeyFile = h, h.inForce(), filepath.Join(s.data, "..", "key")
	if r.global.Data != h.former {
		t.Fatal("the former folder is not in force")
	}
	return r, h
}

func TestTheDataOfAnEarlierVersionMovesWithTheNextStart(t *testing.T) {
	r, h := moving(t)
	before, err := os.ReadFile(locations.Backup(h.former))
	must(t, err)
	instance, err := r.take()
	must(t, err)
	defer instance.Close()
	after, err := os.ReadFile(locations.Backup(h.belongs))
	if err != nil || string(after) != string(before) || r.global.Data != h.belongs || r.stays != nil {
		t.Errorf("the data is in %s, %v, %v", r.global.Data, err, r.stays)
	}
	if _, err := os.Lstat(h.former); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the former folder is still there (%v)", err)
	}
}

func TestDataIsNotMovedUnderARunningInstance(t *testing.T) {
	r, h := moving(t)
	running, err := single.Acquire(h.former)
	must(t, err)
	if _, err := r.take(); !errors.Is(err, single.ErrRunning) {
		t.Errorf("got %v", err)
	}
	if h.inForce() != h.former || r.global.Data != h.former {
		t.Error("the data has moved")
	}
	must(t, running.Close())
	instance, err := r.take()
	if err != nil || r.global.Data != h.belongs {
		t.Fatalf("afterwards: %v, in %s", err, r.global.Data)
	}
	instance.Close()
}

func TestDataThatCannotMoveIsUsedWhereItIs(t *testing.T) {
	r, h := moving(t)
	if err := os.WriteFile(filepath.Dir(h.belongs), nil, 0o600); err != nil { // a file where a folder should be
		t.Fatal(err)
	}
	instance, err := r.take()
	if err != nil || r.global.Data != h.former || r.stays == nil {
		t.Fatalf("%v, in %s, because %v", err, r.global.Data, r.stays)
	}
	instance.Close()
}

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
