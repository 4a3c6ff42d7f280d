//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func rename(from, to string) error { return os.Rename(from, to) }

// nonBlocking makes an open fail that would otherwise block: on the other end of a pipe, or on the holder of a lease.
const nonBlocking = unix.O_NONBLOCK

// notInNames are the characters that no entry's name can contain.
const notInNames = "/\x00"

// rename renames without replacing, atomically where the file system can; take is for Dir.Take.
func (d *Dir) rename(name string, to *Dir, as string, take bool) error {
	err := renameExclusive(d.self, name, to.self, as)
	if !Unsupported(err) {
		return err
	}
	return d.renameWithout(name, to, as, take)
}

// renameWithout is rename for file systems that cannot do it atomically.
func (d *Dir) renameWithout(name string, to *Dir, as string, take bool) error {
	if take {
		return d.renameChecked(name, to, as)
	}
	return d.renameByLink(name, to, as)
}

func (d *Dir) renameByLink(name string, to *Dir, as string) error {
	err := unix.Linkat(int(d.self.Fd()), name, int(to.self.Fd()), as, 0)
	switch {
	case err == nil:
		return d.Remove(name)
	case Unsupported(err), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EMLINK):
		return d.renameChecked(name, to, as)
	default:
		return os.NewSyscallError("linkat", err)
	}
}

func (d *Dir) renameChecked(name string, to *Dir, as string) error {
	_, err := to.Lstat(as)
	if err == nil {
		return fs.ErrExist
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.NewSyscallError("renameat", unix.Renameat(int(d.self.Fd()), name, int(to.self.Fd()), as))
}

// Busy reports whether a file could not be opened because another program has it open right now, under a lease.
func Busy(err error) bool { return errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EBUSY) }

// openFile opens a file for reading. Only the Windows version waits for programs that have the file locked.
func openFile(path string) (*os.File, error) { return os.OpenFile(path, os.O_RDONLY|nonBlocking, 0) }

// Flush makes the names in an open folder durable. Some file systems write names immediately and reject the call.
func Flush(dir *os.File) error {
	err := dir.Sync()
	if Unsupported(err) || errors.Is(err, syscall.EBADF) {
		return nil
	}
	return err
}

// FlushFolder is Flush for the folder at path. It cannot flush a folder that nobody may read.
func FlushFolder(path string) error {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	return Flush(dir)
}

// Mount is where the disk with a folder is mounted: the highest folder above it, or itself, that is on the same disk. It stays the same
// when the system is started again, which the numbers of disks do not.
func Mount(path string) (string, error) {
	return Ask(path, func() (string, error) {
		at, err := filepath.EvalSymlinks(path)
		if err != nil {
			return "", err
		}
		info, err := os.Stat(at)
		for above := filepath.Dir(at); err == nil && above != at; above = filepath.Dir(at) {
			var next fs.FileInfo
			if next, err = os.Stat(above); err != nil || next.Sys().(*syscall.Stat_t).Dev != info.Sys().(*syscall.Stat_t).Dev {
				break
			}
			at = above
		}
		return at, err
	}, nil)
}

// writable reports whether this user may create something in a folder.
func writable(path string) bool { return unix.Access(path, unix.W_OK|unix.X_OK) == nil }

// Unsupported reports whether the file system does not support the operation at all.
func Unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL)
}

// Full reports whether err says that the disk is full, or this user's quota. bbolt returns some errors as text only.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || err != nil && strings.Contains(err.Error(), syscall.ENOSPC.Error())
}

// Free is how many bytes this user may still write to the disk of an open folder. Some network file systems do not know.
func Free(dir *os.File) (uint64, bool) {
	var s unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &s); err != nil || s.Blocks == 0 {
		return 0, false
	}
	return uint64(s.Bavail) * uint64(s.Bsize), true
}
