package archive

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/e2e/powercut"
)

// The folder and the subfolder exist, created by a person or by a run that was killed, but nobody has flushed them.
func TestADocumentThatWasSavedIsThereWhoeverMadeItsFolders(t *testing.T) {
	body := pdf(30_000)
	powercut.Trial{Steps: 20, Do: func(home string) error {
		dir := filepath.Join(home, "Signed")
		if err := os.MkdirAll(filepath.Join(dir, "Lease"), 0o755); err != nil {
			return err
		}
		f, err := OpenFolder(dir)
		if err != nil {
			return err
		}
		defer f.Close()
		saved, err := f.Save(context.Background(), request("Lease/a.pdf", body))
		if errors.Is(err, ErrExists) {
			var same bool
			if same, err = f.Matches("Lease/a.pdf", saved.Size, saved.Digest); err == nil && !same {
				err = errors.New("it is another")
			}
		}
		return err
	}, Look: func(t *testing.T, found powercut.Found) {
		for name, b := range found.Files {
			if !strings.Contains(name, ".countersign-") && (name != "Signed/Lease/a.pdf" || !bytes.Equal(b, body)) {
				t.Errorf("%q holds %d bytes", name, len(b))
			}
		}
		if _, there := found.Files["Signed/Lease/a.pdf"]; found.Done && !there {
			t.Errorf("there are %q", slices.Collect(maps.Keys(found.Files)))
		}
	}}.Run(t)
}

func TestWhatIsLeftOfATryIsSwept(t *testing.T) {
	powercut.Trial{Steps: 5, Do: func(home string) error {
		f, err := OpenFolder(home)
		if err != nil {
			return err
		}
		return errors.Join(f.Try(), f.Close())
	}, Look: func(t *testing.T, found powercut.Found) {
		f := open(t, found.Home)
		if n, err := f.Sweep(t.Context(), func(string) bool { return true }); n != len(found.Files) || err != nil {
			t.Errorf("of %d files %d were removed, %v", len(found.Files), n, err)
		}
		noErr(t, f.Close())
	}}.Run(t)
}
