package locations

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"countersign/internal/trytest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noErr = trytest.NoErr

func named(t *testing.T, path string) string {
	t.Helper()
	name, err := Entry(path)
	if err != nil || name == "" {
		t.Fatal(name, err)
	}
	return name
}

func TestTheKeyOfAFolderIsFoundWhereverSomebodyMovesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	noErr(t, os.Mkdir(path, 0o700))
	before := named(t, path)
	noErr(t, os.WriteFile(State(path), nil, 0o600))
	if again := named(t, path); again != before {
		t.Errorf("%q became %q", before, again)
	}
	moved := filepath.Join(t.TempDir(), "elsewhere")
	noErr(t, os.Rename(path, moved))
	if after := named(t, moved); after != before {
		t.Errorf("%q became %q where it was moved to", before, after)
	}
	noErr(t, os.Mkdir(path, 0o700))
	if other := named(t, path); other == before {
		t.Errorf("another office in its place has its key")
	}
}

// If the key were looked for under another name, it would seem absent, and a new one would replace it.
func TestAFolderWhoseNoteCannotBeReadHasNoKeyForNow(t *testing.T) {
	path := t.TempDir()
	noErr(t, os.Mkdir(filepath.Join(path, entry), 0o700)) // a folder instead of the file
	if name, err := Entry(path); name != "" || err == nil {
		t.Errorf("%q, %v", name, err)
	}
}
