//go:build linux

// Package smalldisk lets tests mount disks of their own, and fill them, to see what is done on a full one and on one that is read-only.
package smalldisk

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Again is this program, to be started with args in a name space of its own, where it may mount disks without touching
// anything outside, as root and without.
func Again(args ...string) *exec.Cmd {
	child := exec.Command(os.Args[0], args...)
	child.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	return child
}

const folder = "COUNTERSIGN_TEST_DISKS"

// Dir runs the test that calls it once more as Again says. It returns an empty folder to mount disks in there, and "" in
// the test outside, which has nothing left to do.
func Dir(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv(folder); dir != "" {
		return dir
	}
	child := Again("-test.run=^"+t.Name()+"$", "-test.v")
	child.Env = append(os.Environ(), folder+"="+t.TempDir())
	out, err := child.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Skipf("this system allows no name spaces, so small disks are not tested: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return ""
}

// Mount puts an empty disk at a folder. Its size is as tmpfs wants it: "2m". It goes with the test's name space.
func Mount(t *testing.T, dir, size string) {
	t.Helper()
	mount(t, dir, 0, "size="+size)
}

// ReadOnly takes writing from a disk of Mount, or gives it back.
func ReadOnly(t *testing.T, dir string, on bool) {
	t.Helper()
	flags := uintptr(syscall.MS_REMOUNT)
	if on {
		flags |= syscall.MS_RDONLY
	}
	mount(t, dir, flags, "")
}

func mount(t *testing.T, dir string, flags uintptr, data string) {
	t.Helper()
	if err := syscall.Mount("none", dir, "tmpfs", flags, data); err != nil {
		t.Fatal(err)
	}
}

// Fill leaves next to nothing of the disk with dir, until the file it returns is removed.
func Fill(t *testing.T, dir string) (file string) {
	t.Helper()
	file = filepath.Join(dir, "filler")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := 64 << 10; chunk >= 4096; chunk /= 2 {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, chunk))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
	return file
}
