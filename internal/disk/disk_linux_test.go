package disk

import (
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"countersign/internal/e2e/powercut"
)

// survives does something on a disk that forgets, again and again, and looks at what is there after the power failed: as
// soon as it was done, and at every point before that.
func survives(t *testing.T, do func(home string) error, look func(t *testing.T, done bool, files map[string][]byte)) {
	t.Helper()
	if err := powercut.Available(); err != nil {
		t.Skipf("NOT RUN: the power cannot fail, for %v", err)
	}
	const steps = 24 // more than anything takes here
	for seed := range uint64(4 * steps) {
		d, dir := powercut.New(), t.TempDir()
		if err := d.Mount(dir); err != nil {
			t.Fatal(err)
		}
		home := filepath.Join(dir, "home")
		if err := os.Mkdir(home, 0o755); err != nil {
			t.Fatal(err)
		}
		d.Flush()
		anchored.Clear() // a program that starts knows nothing
		out := d.CutAfter(1 + int(seed)%steps)
		ended := make(chan error, 1)
		go func() { ended <- do(home) }()
		done := false
		select {
		case err := <-ended:
			if done = err == nil; !done {
				t.Fatal(err)
			}
		case <-out:
			d.LetGo()
			<-ended
		}
		if err := d.Restore(rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Fatal(err)
		}
		look(t, done, d.Files("home"))
		if err := d.Unmount(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// put writes a file and gives it its name.
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
	survives(t, func(home string) error {
		path := filepath.Join(home, "a")
		if err := put(path, "old", Replace); err != nil {
			return err
		}
		return put(path, "new", Replace)
	}, func(t *testing.T, done bool, files map[string][]byte) {
		text, there := files["a"]
		if there && string(text) != "old" && string(text) != "new" || done && string(text) != "new" {
			t.Errorf("done: %v; it holds %q", done, text)
		}
	})
}

func TestANewFileInANewFolderStays(t *testing.T) {
	survives(t, func(home string) error {
		folder := filepath.Join(home, "a", "b", "c")
		if err := MkdirAll(folder, 0o700); err != nil {
			return err
		}
		return put(filepath.Join(folder, "x"), "x", Create)
	}, func(t *testing.T, done bool, files map[string][]byte) {
		text, there := files["a/b/c/x"]
		if there && string(text) != "x" || done && !there {
			t.Errorf("done: %v; there are %q", done, slices.Collect(maps.Keys(files)))
		}
	})
}

// Somebody else made the folder and the file, or this program, which was killed then: they are not flushed.
func TestWhatIsAnchoredStaysWhoeverMadeIt(t *testing.T) {
	survives(t, func(home string) error {
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
	}, func(t *testing.T, done bool, files map[string][]byte) {
		if _, there := files["a/b/x"]; done && !there {
			t.Errorf("there are %q", slices.Collect(maps.Keys(files)))
		}
	})
}

func TestARenamedFolderIsInOnePlace(t *testing.T) {
	survives(t, func(home string) error {
		for _, folder := range []string{"from/data", "to"} {
			if err := MkdirAll(filepath.Join(home, folder), 0o700); err != nil {
				return err
			}
		}
		if err := put(filepath.Join(home, "from", "data", "x"), "x", Create); err != nil {
			return err
		}
		return Rename(filepath.Join(home, "from", "data"), filepath.Join(home, "to", "data"))
	}, func(t *testing.T, done bool, files map[string][]byte) {
		_, here := files["from/data/x"]
		_, there := files["to/data/x"]
		if here && there || done && !there {
			t.Errorf("done: %v; there are %q", done, slices.Collect(maps.Keys(files)))
		}
	})
}

func TestATakenNameIsNotGivenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	if err := put(path, "first", Create); err != nil {
		t.Fatal(err)
	}
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

// A folder that was removed and made again may be given the same number.
func TestAFolderThatIsMadeAgainIsAnchoredAgain(t *testing.T) {
	survives(t, func(home string) error {
		folder := filepath.Join(home, "a")
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
	}, func(t *testing.T, done bool, files map[string][]byte) {
		if _, there := files["a/x"]; done && !there {
			t.Errorf("there are %q", slices.Collect(maps.Keys(files)))
		}
	})
}
