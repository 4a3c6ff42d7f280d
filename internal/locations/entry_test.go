package locations

import (
	"os"
	"path/filepath"
	"testing"
)

// folder makes a data folder; of an earlier version, when it has data and no name of its own for the keyring's entry.
func folder(t *testing.T, data bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data")
	must(t, os.Mkdir(path, 0o700))
	if data {
		fill(t, path)
	}
	return path
}

func fill(t *testing.T, path string) {
	t.Helper()
	must(t, os.WriteFile(State(path), nil, 0o600))
}

func named(t *testing.T, path string) string {
	t.Helper()
	name, err := Entry(path)
	if err != nil || name == "" {
		t.Fatal(name, err)
	}
	return name
}

func TestTheKeyOfAFolderIsFoundWhereverSomebodyMovesIt(t *testing.T) {
	for _, earlier := range []bool{true, false} {
		path := folder(t, earlier)
		before := named(t, path)
		if earlier && before != "key of "+path {
			t.Errorf("an earlier version's key is looked for under %q", before)
		}
		fill(t, path)
		if again := named(t, path); again != before {
			t.Errorf("%q became %q", before, again)
		}
		moved := filepath.Join(t.TempDir(), "elsewhere")
		must(t, os.Rename(path, moved))
		if after := named(t, moved); after != before {
			t.Errorf("%q became %q where it was moved to", before, after)
		}
		must(t, os.Mkdir(path, 0o700))
		if other := named(t, path); other == before {
			t.Errorf("another office in its place has its key")
		}
	}
}

func TestAFolderThatCannotBeWrittenToStillHasAKey(t *testing.T) {
	path := folder(t, true)
	if err := os.Mkdir(filepath.Join(path, entry), 0o700); err != nil { // a folder where the file should be
		t.Fatal(err)
	}
	if name, err := Entry(path); name != "key of "+path || err == nil {
		t.Errorf("%q, %v", name, err)
	}
}
