package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/e2e/powercut"
)

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
		return MoveNew(home, "x", "Sent/x")
	}, Look: func(t *testing.T, found powercut.Found) {
		_, here := found.Files["x"]
		_, there := found.Files["Sent/x"]
		if here && there || found.Done && !there {
			t.Errorf("done: %v; here: %v, there: %v", found.Done, here, there)
		}
	}}.Run(t)
}

func TestAMoveReplacesNothing(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "Sent"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x", "Sent/x"} {
		if err := put(filepath.Join(home, filepath.FromSlash(name)), name, Replace); err != nil {
			t.Fatal(err)
		}
	}
	if err := MoveNew(home, "x", "Sent/x"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("it is told %v", err)
	}
	text, err := os.ReadFile(filepath.Join(home, "Sent", "x"))
	if err != nil || string(text) != "Sent/x" {
		t.Errorf("%q, %v", text, err)
	}
}
