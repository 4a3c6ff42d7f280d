//go:build linux

package powercut

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// Available says why nothing can be mounted here, in a sentence, or nil: the system knows no FUSE, or this user may not
// mount.
func Available() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENODEV) {
		return fmt.Errorf("there is no FUSE here: %w", err)
	}
	if err != nil {
		return nil // which is no reason not to try, and to fail
	}
	defer f.Close()
	dir, err := os.MkdirTemp("", "powercut-")
	if err != nil {
		return nil
	}
	defer os.Remove(dir)
	options := fmt.Sprintf("fd=%d,rootmode=%o,user_id=%d,group_id=%d", f.Fd(), syscall.S_IFDIR, os.Geteuid(), os.Getegid())
	err = syscall.Mount("powercut", dir, "fuse.powercut", syscall.MS_NOSUID|syscall.MS_NODEV, options)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENODEV) {
		for _, helper := range []string{"fusermount3", "fusermount"} {
			if _, lookErr := exec.LookPath(helper); lookErr == nil {
				return nil
			}
		}
		return fmt.Errorf("nothing can be mounted here: %w", err)
	}
	if err == nil {
		_ = syscall.Unmount(dir, syscall.MNT_DETACH)
	}
	return nil
}

// Mount mounts the disk at an empty folder. The process that mounts it may use it, but not map files of it into memory:
// a goroutine that waits for such memory holds up the ones that would fill it.
func (d *Disk) Mount(dir string) error {
	forever := 24 * time.Hour // nothing changes but through the kernel, which may remember all it is told
	server, err := fusefs.Mount(dir, &file{disk: d, node: d.root}, &fusefs.Options{
		MountOptions: fuse.MountOptions{
			FsName: "powercut", Name: "powercut", DirectMount: true, DisableXAttrs: true, MaxWrite: 128 << 10,
			Logger: log.New(io.Discard, "", 0), // it tells of every disk that is taken away
		},
		EntryTimeout: &forever, AttrTimeout: &forever, NullPermissions: true,
		UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
		RootStableAttr: &fusefs.StableAttr{Ino: d.root.ino, Gen: d.root.gen, Mode: syscall.S_IFDIR},
	})
	if err != nil {
		return err
	}
	d.dir, d.server = dir, server
	return nil
}

// Unmount takes the disk away. Whoever still has a file of it open, or a view of the mounted systems from before, can do
// nothing with it any more.
func (d *Disk) Unmount() error {
	if d.server == nil {
		return nil
	}
	d.LetGo()
	err := syscall.Unmount(d.dir, syscall.MNT_FORCE|syscall.MNT_DETACH)
	if errors.Is(err, syscall.EPERM) {
		err = d.server.Unmount() // by the helper that mounted it
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", d.dir, err)
	}
	d.server.Wait()
	d.server = nil
	return nil
}

// Restore gives the disk power again, after it was out, and mounts it where it was. Whoever worked on it must have ended.
// What is left of what was not flushed is up to random.
func (d *Disk) Restore(random *rand.Rand) error { return d.again(func() { d.forget(random) }) }

// Resume takes the cut back, as if it had never happened: who worked on the disk was killed, and the power stays. What was
// not flushed is still there, and still not flushed.
func (d *Disk) Resume() error { return d.again(func() {}) }

func (d *Disk) again(meanwhile func()) error {
	d.Cut()
	if err := d.Unmount(); err != nil {
		return err
	}
	d.mu.Lock()
	meanwhile()
	d.left, d.out, d.letGo = -1, make(chan struct{}), make(chan struct{})
	d.mu.Unlock()
	return d.Mount(d.dir)
}
