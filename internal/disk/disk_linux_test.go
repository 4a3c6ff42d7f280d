package disk

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"countersign/internal/e2e/powercut"
)

// put writes a file and names it.
func put(path, text string, name func(*os.File, string) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	if _, err := temp.WriteString(text); err != nil {
		return errors.Join(err, temp.Close())
	}
	return name(temp, path)
}

func TestAReplacedFileIsTheOldOrTheNewOneAndTheNewOneOnceReplaced(t *testing.T) {
	powercut.Trial{Steps: 24, Do: func(home string) error {
		path := filepath.Join(home, "a")
		if err := put(path, "old", Replace); err != nil {
			return err
		}
		return put(path, "new", Replace)
	}, Look: func(t *testing.T, found powercut.Found) {
		text, there := found.Files["a"]
		if there && string(text) != "old" && string(text) != "new" || found.Done && string(text) != "new" {
			t.Errorf("done: %v; it holds %q", found.Done, text)
		}
	}}.Run(t)
}

func TestANewFileInANewFolderStays(t *testing.T) {
	powercut.Trial{Steps: 24, Do: func(home string) error {
		folder := filepath.Join(home, "a", "b", "c")
		if err := MkdirAll(folder, 0o700); err != nil {
			return err
		}
		path := filepath.Join(folder, "x")
		if err := put(path, "x", Create); !errors.Is(err, fs.ErrExist) {
			return err
		}
		return Anchor(path)
	}, Look: func(t *testing.T, found powercut.Found) {
		text, there := found.Files["a/b/c/x"]
		if there && string(text) != "x" || found.Done && !there {
			t.Errorf("done: %v; there are %q", found.Done, slices.Collect(maps.Keys(found.Files)))
		}
	}}.Run(t)
}

// The folder and the file were created by somebody else, or by this program before it was killed, and were not flushed.
func TestWhatIsAnchoredStaysWhoeverMadeIt(t *testing.T) {
	powercut.Trial{Steps: 24, Do: func(home string) error {
		folder := filepath.Join(home, "a", "b")
		path := filepath.Join(folder, "x")
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		f, err := os.Create(path)
		if err == nil {
			_, err = f.WriteString("x")
		}
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			return err
		}
		return Anchor(path)
	}, Look: func(t *testing.T, found powercut.Found) {
		if _, there := found.Files["a/b/x"]; found.Done && !there {
			t.Errorf("there are %q", slices.Collect(maps.Keys(found.Files)))
		}
	}}.Run(t)
}

func TestARenamedFolderIsInOnePlace(t *testing.T) {
	powercut.Trial{Steps: 24, Do: func(home string) error {
		to := filepath.Join(home, "to", "data")
		if _, err := os.Stat(to); err == nil {
			return Anchor(to)
		}
		for _, folder := range []string{"from/data", "to"} {
			if err := MkdirAll(filepath.Join(home, folder), 0o700); err != nil {
				return err
			}
		}
		if err := put(filepath.Join(home, "from", "data", "x"), "x", Replace); err != nil {
			return err
		}
		return Rename(filepath.Join(home, "from", "data"), to)
	}, Look: func(t *testing.T, found powercut.Found) {
		_, here := found.Files["from/data/x"]
		_, there := found.Files["to/data/x"]
		if here && there || found.Done && !there {
			t.Errorf("done: %v; there are %q", found.Done, slices.Collect(maps.Keys(found.Files)))
		}
	}}.Run(t)
}

func TestATakenNameIsNotGivenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	noErr(t, put(path, "first", Create))
	if err := put(path, "second", Create); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second is told %v", err)
	}
	text, err := os.ReadFile(path)
	names, globErr := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	hidden, hiddenErr := filepath.Glob(filepath.Join(filepath.Dir(path), ".*"))
	if err := errors.Join(err, globErr, hiddenErr); err != nil || string(text) != "first" || len(names) != 1 || len(hidden) != 0 {
		t.Errorf("%q is in %q and %q: %v", text, names, hidden, err)
	}
}

// A folder that is removed and created again may get the same inode number.
func TestAFolderThatIsMadeAgainIsAnchoredAgain(t *testing.T) {
	powercut.Trial{Steps: 24, Do: func(home string) error {
		folder := filepath.Join(home, "a")
		if err := os.RemoveAll(folder); err != nil {
			return err
		}
		for range 2 {
			if err := MkdirAll(folder, 0o700); err != nil {
				return err
			}
			if err := os.Remove(folder); err != nil {
				return err
			}
		}
		if err := MkdirAll(folder, 0o700); err != nil {
			return err
		}
		return put(filepath.Join(folder, "x"), "x", Create)
	}, Look: func(t *testing.T, found powercut.Found) {
		if _, there := found.Files["a/x"]; found.Done && !there {
			t.Errorf("there are %q", slices.Collect(maps.Keys(found.Files)))
		}
	}}.Run(t)
}

func TestAMovedFileIsInOnePlace(t *testing.T) {
	powercut.Trial{Steps: 24, Do: func(home string) error {
		if err := MkdirAll(filepath.Join(home, "Sent"), 0o700); err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(home, "Sent", "x")); err == nil {
			return Anchor(filepath.Join(home, "Sent", "x"))
		}
		if err := put(filepath.Join(home, "x"), "x", Replace); err != nil {
			return err
		}
		folder, err := OpenDir(home)
		if err != nil {
			return err
		}
		defer folder.Close()
		sent, err := folder.Sub("Sent")
		if err != nil {
			return err
		}
		defer sent.Close()
		return folder.Move("x", sent, "x")
	}, Look: func(t *testing.T, found powercut.Found) {
		_, here := found.Files["x"]
		_, there := found.Files["Sent/x"]
		if here && there || found.Done && !there {
			t.Errorf("done: %v; here: %v, there: %v", found.Done, here, there)
		}
	}}.Run(t)
}
