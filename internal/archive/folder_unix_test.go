//go:build linux || darwin

package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestDocumentsHaveTheModeOfDocuments(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	usual := filepath.Join(dir, "usual")
	noErr(t, os.WriteFile(usual, nil, 0o644))
	f.Steps = func(s Step, _ string) {
		if s != StepWritten {
			return
		}
		for _, name := range files(t, dir) {
			if info, err := os.Stat(filepath.Join(dir, name)); strings.HasSuffix(name, ".part") && (err != nil || info.Mode().Perm() != 0o600) {
				t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
			}
		}
	}
	must(f.Save(t.Context(), request("a.pdf", pdf(2000))))
	want, _ := os.Stat(usual)
	got, err := os.Stat(filepath.Join(dir, "a.pdf"))
	if err != nil || got.Mode() != want.Mode() {
		t.Errorf("mode is %v, want %v", got.Mode(), want.Mode())
	}
}

func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	noErr(t, os.Chmod(dir, 0o555))
	if unix.Access(dir, unix.W_OK) == nil {
		t.Skip("nothing is read-only for root; TestFullAndReadOnlyDisk covers it")
	}
	if _, err := OpenFolder(dir); !errors.Is(err, ErrReadOnly) {
		t.Errorf("got %v", err)
	}
}

func TestSystemErrorsAreRecognised(t *testing.T) {
	for errno, want := range map[syscall.Errno]error{
		syscall.ENOSPC: ErrFull, syscall.EDQUOT: ErrFull, syscall.EROFS: ErrReadOnly, syscall.EACCES: ErrReadOnly,
		syscall.EPERM: ErrReadOnly, syscall.ENOENT: ErrMissing, syscall.ESTALE: ErrMissing, syscall.ENOTCONN: ErrMissing,
		syscall.EEXIST: ErrExists, syscall.ENOTDIR: ErrNotFolder, syscall.EIO: nil,
	} {
		if got := KindOf(&fs.PathError{Op: "write", Path: "x", Err: errno}); got != want {
			t.Errorf("%v: got %v, want %v", errno, got, want)
		}
	}
}
