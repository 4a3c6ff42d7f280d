package dropped

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWhatWillNotLastIsCopied(t *testing.T) {
	cache, place := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", cache) // so that place does not count
	root := filepath.Join(t.TempDir(), "dropped")
	put := func(folder, name string) string {
		t.Helper()
		path := filepath.Join(folder, name)
		noErr(t, os.WriteFile(path, []byte("bytes"), 0o600))
		return path
	}
	d := New(root)
	fleeting := put(cache, "Lease.pdf")
	kept := d.Keep(t.Context(), fleeting)
	noErr(t, os.Remove(fleeting))
	if filepath.Base(kept) != "Lease.pdf" || read(t, kept) != "bytes" {
		t.Errorf("kept is %s", kept)
	}
	gone := filepath.Join(cache, "gone.pdf")
	for _, path := range []string{gone, cache} {
		if got := d.Keep(t.Context(), path); got != path {
			t.Errorf("%s became %s", path, got)
		}
	}
	if runtime.GOOS == "linux" {
		odd := d.Keep(t.Context(), put(place, "\xc4nderung.pdf"))
		if filepath.Base(odd) != "Änderung.pdf" || read(t, odd) != "bytes" {
			t.Errorf("a name in Latin-1 became %q", odd)
		}
	}
}
