package disk

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

func TestASubfolderIsMadeAndTheFolderAroundItNever(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "share")
	if err := MkdirIn(folder, filepath.Join("Waiting", "one"), 0o755); err == nil {
		t.Error("it was made in a folder that is not there")
	}
	if _, err := os.Stat(folder); err == nil {
		t.Error("the folder around it was made")
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := MkdirIn(folder, filepath.Join("Waiting", "one"), 0o755); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(filepath.Join(folder, "Waiting", "one")); err != nil || !info.IsDir() {
		t.Error(info, err)
	}
}

// An office may have a folder for each package, and the program may run for years.
func TestFoldersThatAreKnownToBeDurableTakeNoMoreRoomAfterAYear(t *testing.T) {
	dir := t.TempDir()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	flushed := 0
	flush := func() error { flushed++; return nil }
	for n := range 365 * 50 {
		for range 2 {
			if err := Once(filepath.Join(dir, strconv.Itoa(n)), info, flush); err != nil {
				t.Fatal(err)
			}
		}
	}
	if have := len(anchored.folders); have > mostAnchored || flushed != 365*50 {
		t.Errorf("%d are remembered, %d flushes", have, flushed)
	}
}
