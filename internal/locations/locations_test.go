package locations

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// folder makes a data folder. One with data and no name for the keyring's entry is one in which none could be noted.
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
	for _, unnamed := range []bool{true, false} {
		path := folder(t, unnamed)
		before := named(t, path)
		if unnamed && before != "key of "+path {
			t.Errorf("the key is looked for under %q", before)
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
