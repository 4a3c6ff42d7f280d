//go:build linux || darwin

package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	crashDir  = "ARCHIVE_TEST_CRASH_DIR"
	crashStep = "ARCHIVE_TEST_CRASH_STEP"
)

// TestCrashingChild is the process that TestKilledAtAnyStep kills.
func TestCrashingChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("only as a child")
	}
	f := open(t, dir)
	f.Steps = func(s Step, _ string) {
		if string(s) == os.Getenv(crashStep) {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	_, err := f.Save(context.Background(), request("sub/a.pdf", pdf(600000)))
	t.Fatalf("survived: %v", err)
}

func TestKilledAtAnyStep(t *testing.T) {
	for _, step := range []Step{StepCreated, StepWritten, StepFlushed, StepNamed, StepDone} {
		t.Run(string(step), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			child := exec.Command(os.Args[0], "-test.run=^TestCrashingChild$")
			child.Env = append(os.Environ(), crashDir+"="+dir, crashStep+"="+string(step))
			out, err := child.CombinedOutput()
			if child.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
				t.Fatalf("the child was not killed: %v\n%s", err, out)
			}

			f := open(t, dir)
			body := pdf(600000)
			whole, err := f.Matches("sub/a.pdf", int64(len(body)), digest(body))
			must(t, err)
			if named := step == StepNamed || step == StepDone; whole != named {
				t.Errorf("a whole file under its name: %v, want %v", whole, named)
			}
			left := len(files(t, dir))
			if left != 1 {
				t.Errorf("files left: %q", files(t, dir))
			}
			if n, err := f.Sweep(t.Context(), func(token string) bool { return token != Token("p/d/executed") }); err != nil || (n == 1) == whole {
				t.Errorf("swept %d, %v", n, err)
			}
			if _, err := f.Save(t.Context(), request("sub/a.pdf", body)); err != nil && !(whole && errors.Is(err, ErrExists)) {
				t.Error(err)
			}
			wantFiles(t, dir, "sub/a.pdf")
		})
	}
}

func TestDocumentsHaveTheModeOfDocuments(t *testing.T) {
	dir := t.TempDir()
	f := open(t, dir)
	usual := filepath.Join(dir, "usual")
	must(t, os.WriteFile(usual, nil, 0o644))
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
	if _, err := f.Save(t.Context(), request("a.pdf", pdf(2000))); err != nil {
		t.Fatal(err)
	}
	want, _ := os.Stat(usual)
	got, err := os.Stat(filepath.Join(dir, "a.pdf"))
	if err != nil || got.Mode() != want.Mode() {
		t.Errorf("mode is %v, want %v", got.Mode(), want.Mode())
	}
}

func TestReadOnlyFolder(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o555))
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
		if got := kindOf(&fs.PathError{Op: "write", Path: "x", Err: errno}); got != want {
			t.Errorf("%v: got %v, want %v", errno, got, want)
		}
	}
}
