//go:build linux

// Package smalldisk lets tests mount disks of their own, to test full disks and read-only disks.
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

// Again is a command that runs this program with args in its own name space, where it may mount disks without affecting
// anything outside, whether or not it is root.
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

// Dir runs the calling test again by means of Again. There it returns an empty folder in which to mount disks; in the outer
// test it returns "", and nothing is left to do.
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

// Mount mounts an empty disk at a folder. size is in the format of tmpfs: "2m". The disk disappears with the test's name
// space.
func Mount(t *testing.T, dir, size string) {
	t.Helper()
	mount(t, dir, 0, "size="+size)
}

// ReadOnly makes a disk of Mount read-only, or writable again.
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

// Fill fills the disk that contains dir almost completely, until the returned file is removed.
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
