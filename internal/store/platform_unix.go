//go:build unix

package store

import (
	"errors"
	"os"
	"syscall"
)

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// syncFolder makes a new name in folder survive a loss of power.
func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// tighten takes away what other users may do with a file or folder. A folder with the sticky bit (such as /tmp) is
// everybody's and stays as it is.
func tighten(path string, want os.FileMode) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSticky != 0 || info.Mode().Perm()&^want == 0 {
		return nil
	}
	return os.Chmod(path, info.Mode().Perm()&want)
}
