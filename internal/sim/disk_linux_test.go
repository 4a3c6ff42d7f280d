package sim

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"countersign/internal/e2e/smalldisk"
)

const envSpace = "COUNTERSIGN_SIM_SPACE" // set in a process that may mount its own disks

// ownSpace runs this program again in its own name space, where it may mount small disks without affecting anything outside,
// and returns its exit code. ok is false if the system does not allow that.
func ownSpace() (code int, ok bool) {
	if os.Getenv(envSpace) != "" {
		return 0, false
	}
	child := smalldisk.Again(os.Args[1:]...)
	child.Env = append(os.Environ(), envSpace+"=1")
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	child.SysProcAttr.Pdeathsig = syscall.SIGKILL
	err := child.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), true
	}
	return 0, err == nil
}

// mount mounts an in-memory disk at dir; false if that is not allowed.
func mount(dir string) bool {
	return os.Getenv(envSpace) != "" && syscall.Mount("none", dir, "tmpfs", 0, "size=2g") == nil
}

func unmount(dir string) { syscall.Unmount(dir, syscall.MNT_DETACH) }

// fill leaves next to no room on the disk at dir, or frees it again.
func fill(dir string, full bool) error {
	size := uint64(2 << 30)
	if full {
		var s syscall.Statfs_t
		if err := syscall.Statfs(dir, &s); err != nil {
			return err
		}
		size = (s.Blocks - s.Bfree + 1) * uint64(s.Bsize)
	}
	return syscall.Mount("none", dir, "tmpfs", syscall.MS_REMOUNT, fmt.Sprintf("size=%d", size))
}

// spent is this process's processor time: on a busy machine a real clock says nothing about its work.
func spent() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
