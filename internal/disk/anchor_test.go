package disk

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

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
