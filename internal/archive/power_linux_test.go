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
	"countersign/internal/e2e/smalldisk"
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

// The power fails while files are being listed. Lines reported as written are there, complete, and after the next run every
// file is listed once.
func TestAnIndexSurvivesALossOfPower(t *testing.T) {
	powercut.Trial{Steps: 24, Do: func(home string) error {
		f, err := OpenFolder(home)
		if err != nil {
			return err
		}
		defer f.Close()
		for n := 1; n <= 3; n++ {
			x, err := f.OpenIndex(indexTitles, ';', Mark{})
			if err != nil {
				return err
			}
			var lines [][]string
			if line := indexLine(n); !x.Has(line[1], line[2]) {
				lines = append(lines, line)
			}
			_, err = x.Append(lines)
			if err := errors.Join(err, x.Close()); err != nil {
				return err
			}
		}
		return nil
	}, Look: func(t *testing.T, found powercut.Found) {
		text := string(found.Files[IndexName])
		lines := strings.Split(strings.TrimSuffix(text, "\r\n"), "\r\n")
		if found.Done && (len(lines) != 4 || !strings.HasSuffix(text, "\r\n")) {
			t.Errorf("done, and it is\n%s", text)
		}
		f := open(t, found.Home)
		addLines(t, f, Mark{}, 1, 3)
		if len(lines) > 1 && slices.Contains(lines[1:len(lines)-1], "") {
			t.Errorf("an empty line in\n%s", text)
		}
		wantLines(t, found.Home, IndexName, 3)
	}}.Run(t)
}

func TestFullAndReadOnlyDisk(t *testing.T) {
	dir := smalldisk.Dir(t)
	if dir == "" {
		return
	}
	smalldisk.Mount(t, dir, "1m")
	f := open(t, dir)
	for name, declared := range map[string]int64{"announced": 2 << 20, "not announced": -1} {
		_, err := f.Save(t.Context(), Request{Target: "a.pdf", Declared: declared, Body: bytes.NewReader(pdf(2 << 20))})
		if !errors.Is(err, ErrFull) || !strings.HasPrefix(Message(err).String(), "The disk with ") {
			t.Errorf("%s: got %v", name, err)
		}
		wantFiles(t, dir)
	}
	// The space is freed: a document that fits can still be saved.
	if _, err := f.Save(t.Context(), request("b.pdf", pdf(900<<10))); err != nil {
		t.Error(err)
	}

	smalldisk.ReadOnly(t, dir, true)
	if _, err := f.Save(t.Context(), request("c.pdf", pdf(2000))); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only disk: got %v", err)
	}
	if _, err := OpenFolder(dir); !errors.Is(err, ErrReadOnly) {
		t.Errorf("opening on a read-only disk: got %v", err)
	}
	wantFiles(t, dir, "b.pdf")
}
