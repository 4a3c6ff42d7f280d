package private

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"countersign/internal/trytest"
)

// others reports whether others have access to a file or folder.
func others(t *testing.T, path string) bool {
	t.Helper()
	f, err := os.Open(path)
	noErr(t, err)
	defer f.Close()
	err = OpenToOthers(f)
	if err != nil && !errors.Is(err, ErrOpen) {
		t.Fatal(err)
	}
	return err != nil
}

func TestWhatIsMadeIsPrivate(t *testing.T) {
	top := t.TempDir()
	openUp(t, top)
	folder := filepath.Join(top, "a", "b")
	for range 2 { // when creating it, and when it exists
		noErr(t, Folder(folder))
		if others(t, folder) {
			t.Error("the folder is open to others")
		}
	}
	temp := must(CreateTemp(top, "key-*"))
	defer temp.Close()
	if _, err := temp.WriteString("key"); err != nil {
		t.Error(err)
	}
	if err := OpenToOthers(temp); err != nil {
		t.Errorf("a new file in an open folder: %v", err)
	}
	other, err := CreateTemp(top, "key-*")
	if err != nil || other.Name() == temp.Name() {
		t.Errorf("a second one: %v", err)
	}
	other.Close()
}

func TestWhatIsOpenIsClosed(t *testing.T) {
	top := t.TempDir()
	folder, file := filepath.Join(top, "folder"), filepath.Join(top, "file")
	noErr(t, os.Mkdir(folder, 0o755))
	noErr(t, os.WriteFile(file, []byte("x"), 0o644))
	openUp(t, folder)
	openUp(t, file)
	if !others(t, folder) || !others(t, file) {
		t.Fatal("the test opens nothing")
	}
	noErr(t, errors.Join(Folder(folder), Files(file, filepath.Join(top, "missing"))))
	if others(t, folder) || others(t, file) {
		t.Error("still open to others")
	}
	if err := os.WriteFile(filepath.Join(folder, "new"), nil, 0o600); err != nil {
		t.Errorf("the owner is shut out: %v", err)
	}
	if b, err := os.ReadFile(file); string(b) != "x" || err != nil {
		t.Errorf("the owner reads %q, %v", b, err)
	}
}

func TestWhatIsPrivateIsNotWrittenTo(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "folder")
	noErr(t, Folder(folder))
	before := changed(t, folder)
	noErr(t, Folder(folder))
	if after := changed(t, folder); after != before {
		t.Errorf("written: %s, then %s", before, after)
	}
}

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestANewFolderIsNobodyElses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "update")
	noErr(t, NewFolder(path))
	noErr(t, os.WriteFile(filepath.Join(path, "file"), nil, 0o600))
	if err := NewFolder(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("one that is there is taken for new: %v", err)
	}
	if others(t, path) {
		t.Error("it is open to others")
	}
}

// Temporary files left by a killed program are removed; everything else stays.
func TestWhatAKilledProgramLeftIsRemoved(t *testing.T) {
	folder := t.TempDir()
	names := []string{".countersign-123" + Temporary, ".countersign-123.part", "letter" + Temporary, ".other" + Temporary}
	for _, name := range names {
		noErr(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	noErr(t, os.Mkdir(filepath.Join(folder, ".countersign-folder"+Temporary), 0o700))
	Sweep(folder)
	left := must(os.ReadDir(folder))
	if _, err := os.Lstat(filepath.Join(folder, names[0])); !errors.Is(err, fs.ErrNotExist) || len(left) != len(names) {
		t.Errorf("left are %v", left)
	}
	Sweep(filepath.Join(folder, "none"))
}
