package disk

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"countersign/internal/trytest"
)

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }

// An office may have a folder for each package, and the program may run for years.
func TestFoldersThatAreKnownToBeDurableTakeNoMoreRoomAfterAYear(t *testing.T) {
	dir := t.TempDir()
	info := must(os.Stat(dir))
	flushed := 0
	flush := func() error { flushed++; return nil }
	for n := range 365 * 50 {
		for range 2 {
			noErr(t, Once(filepath.Join(dir, strconv.Itoa(n)), info, flush))
		}
	}
	if have := len(anchored.folders); have > mostAnchored || flushed != 365*50 {
		t.Errorf("%d are remembered, %d flushes", have, flushed)
	}
}
