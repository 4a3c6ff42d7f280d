package disk

import (
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
