package archive

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const smallDisk = "ARCHIVE_TEST_SMALL_DISK"

// TestFullAndReadOnlyDisk runs TestSmallDiskChild in a name space of its own, where it may mount a small disk without
// touching anything outside, as root and without.
func TestFullAndReadOnlyDisk(t *testing.T) {
	child := exec.Command(os.Args[0], "-test.run=^TestSmallDiskChild$", "-test.v")
	child.Env = append(os.Environ(), smallDisk+"="+t.TempDir())
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skipf("this system allows no name spaces, so the small disk is not tested: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: TestSmallDiskChild") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSmallDiskChild(t *testing.T) {
	dir := os.Getenv(smallDisk)
	if dir == "" {
		t.Skip("only as a child")
	}
	must(t, syscall.Mount("none", dir, "tmpfs", 0, "size=1m"))
	f := open(t, dir)
	for name, declared := range map[string]int64{"announced": 2 << 20, "not announced": -1} {
		_, err := f.Save(t.Context(), Request{Target: "a.pdf", Declared: declared, Body: bytes.NewReader(pdf(2 << 20))})
		if !errors.Is(err, ErrFull) || !strings.HasPrefix(Message(err).String(), "The disk with ") {
			t.Errorf("%s: got %v", name, err)
		}
		wantFiles(t, dir)
	}
	// What was written is given back: a document that fits still does.
	if _, err := f.Save(t.Context(), request("b.pdf", pdf(900<<10))); err != nil {
		t.Error(err)
	}

	must(t, syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	if _, err := f.Save(t.Context(), request("c.pdf", pdf(2000))); !errors.Is(err, ErrReadOnly) {
		t.Errorf("read-only disk: got %v", err)
	}
	if _, err := OpenFolder(dir); !errors.Is(err, ErrReadOnly) {
		t.Errorf("opening on a read-only disk: got %v", err)
	}
	wantFiles(t, dir, "b.pdf")
}
