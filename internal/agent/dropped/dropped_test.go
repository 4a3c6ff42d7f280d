package dropped

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/trytest"
)

var noErr, expect = trytest.NoErr, trytest.Expect

func told(t *testing.T, err error, id string) {
	t.Helper()
	if err == nil || message.For(err).ID() != id {
		t.Errorf("the error is %v, not %s", err, id)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	noErr(t, err)
	return string(b)
}

// left are the files below root.
func left(t *testing.T, root string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, filepath.Base(path))
		}
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

func TestWhatIsDroppedIsKeptWholeUnderASafeName(t *testing.T) {
	root := filepath.Join(t.TempDir(), "dropped")
	d := New(root)
	for _, c := range []struct {
		name string
		size int64
		want string
	}{
		{"Lease.pdf", 5, "Lease.pdf"},
		{"Offer.pdf", -1, "Offer.pdf"},
		{`..\..\Lease.pdf`, 5, "Lease (2).pdf"},
		{"CON", 5, "CON_"},
		{"", -1, "Document"},
	} {
		path, err := d.Take(t.Context(), c.name, c.size, strings.NewReader("bytes"))
		if err != nil {
			t.Fatal(c.name, err)
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || strings.Count(filepath.ToSlash(rel), "/") != 1 || filepath.Base(path) != c.want || read(t, path) != "bytes" {
			t.Errorf("%q went to %s, %v", c.name, path, err)
		}
	}
	other := New(root)
	path, err := other.Take(t.Context(), "Lease.pdf", 5, strings.NewReader("other"))
	if err != nil || filepath.Base(path) != "Lease.pdf" || read(t, path) != "other" {
		t.Errorf("another drop went to %s, %v", path, err)
	}
}

// endless is a file that never ends, but takes no memory.
type endless struct{ read int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read += int64(len(p))
	return len(p), nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func broken([]byte) (int, error) { return 0, errors.New("the source is gone") }

func TestNothingIsLeftOfWhatDoesNotArriveWhole(t *testing.T) {
	root := filepath.Join(t.TempDir(), "dropped")
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		ctx  context.Context
		size int64
		from io.Reader
		told string
	}{
		"shorter than it says": {t.Context(), 10, strings.NewReader("nine bytes"[:9]), "drop.drop-not-whole"},
		"longer than it says":  {t.Context(), 3, strings.NewReader("four"), "drop.drop-not-whole"},
		"longer without end":   {t.Context(), 3, &endless{}, "drop.drop-not-whole"},
		"longer than nothing":  {t.Context(), 0, strings.NewReader("x"), "drop.drop-not-whole"},
		"taken away meanwhile": {t.Context(), -1, readerFunc(func([]byte) (int, error) { os.RemoveAll(root); return 0, io.EOF }), "drop.drop-not-kept"},
		"broken":               {t.Context(), -1, io.MultiReader(strings.NewReader("half"), readerFunc(broken)), "drop.drop-not-whole"},
		"says that it is huge": {t.Context(), office.Largest + 1, strings.NewReader("x"), "drop.drop-too-large"},
		"never ends":           {t.Context(), -1, &endless{}, "drop.drop-too-large"},
		"given up":             {ended, 4, strings.NewReader("four"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := New(root)
			if c.size <= office.Largest {
				d.left = 1 << 20 // is reached sooner
			}
			_, err := d.Take(c.ctx, "a.pdf", c.size, c.from)
			if c.told != "" {
				told(t, err, c.told)
			} else if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			if e, ok := c.from.(*endless); ok && (e.read > 2<<20 || c.size > 0 && e.read > c.size+1) {
				t.Errorf("%d bytes were read", e.read)
			}
			if files := left(t, root); len(files) > 0 {
				t.Errorf("left are %q", files)
			}
		})
	}
}

func TestADropHasItsLimits(t *testing.T) {
	root := filepath.Join(t.TempDir(), "dropped")
	d := New(root)
	d.left, d.files = 10, Most-3
	take := func(content string, size int) error {
		_, err := d.Take(t.Context(), "a", int64(size), strings.NewReader(content))
		return err
	}
	noErr(t, take("sixsix", 6))
	told(t, take("sixsix", 6), "drop.drop-too-large")
	noErr(t, take("four", 4))
	told(t, take("1", 1), "drop.drop-too-many")
	_, err := d.Place("c")
	told(t, err, "drop.drop-too-many")

	d = New(filepath.Join(root, "file", "in a file"))
	noErr(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	told(t, take("1", 1), "drop.drop-not-kept")
	_, err = d.Place("c")
	told(t, err, "drop.drop-not-kept")
	if Sweep(filepath.Join(root, "file"), time.Now(), nil) == nil {
		t.Error("what cannot be looked through is taken for empty")
	}
}

func TestAFileThatTheOtherProgramWritesIsChecked(t *testing.T) {
	root := filepath.Join(t.TempDir(), "dropped")
	d := New(root)
	place := func() string {
		t.Helper()
		path, err := d.Place("../Lease.pdf")
		if err != nil || filepath.Dir(filepath.Dir(path)) != root {
			t.Fatal(path, err)
		}
		return path
	}
	path := place()
	told(t, d.Placed(path), "drop.drop-not-whole")
	noErr(t, os.WriteFile(path, []byte("bytes"), 0o644))
	if err := d.Placed(path); err != nil || read(t, path) != "bytes" {
		t.Error(err)
	}
	second := place()
	if filepath.Base(second) != "Lease (2).pdf" {
		t.Errorf("the second is at %s", second)
	}
	noErr(t, os.WriteFile(second, []byte("bytes"), 0o600))
	d.left = 6
	noErr(t, d.Placed(second))
	third := place()
	noErr(t, os.WriteFile(third, []byte("by"), 0o600))
	told(t, d.Placed(third), "drop.drop-too-large")
	expect(t, len(left(t, root)), 2, "there are %d files")
	noErr(t, os.WriteFile(third, []byte("b"), 0o600))
	noErr(t, d.Placed(third))
	fourth := place()
	if err := os.Symlink(path, fourth); err != nil {
		t.Skip(err)
	}
	told(t, d.Placed(fourth), "drop.drop-not-whole")
	if files := left(t, root); len(files) != 3 {
		t.Errorf("what is no file, or too large, stays: %q", files)
	}
}

func TestOnlyOldDropsThatNothingNamesAreForgotten(t *testing.T) {
	root := filepath.Join(t.TempDir(), "dropped")
	take := func() string {
		path, err := New(root).Take(t.Context(), "a.pdf", 1, strings.NewReader("x"))
		noErr(t, err)
		return path
	}
	needed, not := take(), take()
	now := time.Now()
	for _, c := range []struct {
		after time.Duration
		stays bool
	}{{time.Hour, true}, {29 * 24 * time.Hour, true}, {31 * 24 * time.Hour, false}} {
		noErr(t, Sweep(root, now.Add(c.after), map[string]bool{needed: true}))
		if _, err := os.Stat(needed); err != nil {
			t.Error("what a draft names is gone:", err)
		}
		if _, err := os.Stat(not); (err == nil) != c.stays {
			t.Errorf("after %v: %v", c.after, err)
		}
	}
	noErr(t, Sweep(filepath.Join(root, "none"), now, nil))
}

// A disk that is looked for may hang, and everything that is cleaned up with it. So a file is needed however its path leads there.
func TestNothingIsLookedForOnOtherDisks(t *testing.T) {
	root := filepath.Join(t.TempDir(), "dropped")
	path, err := New(root).Take(t.Context(), "a.pdf", 1, strings.NewReader("x"))
	noErr(t, err)
	rel, err := filepath.Rel(root, path)
	noErr(t, err)
	gone := filepath.Join(t.TempDir(), "not connected", rel)
	noErr(t, Sweep(root, time.Now().Add(31*24*time.Hour), map[string]bool{gone: true}))
	if _, err := os.Stat(path); err != nil {
		t.Error("what a draft names by a way that leads nowhere now is gone:", err)
	}
}

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
