//go:build unix

package locations

import (
	"errors"
	"os"
	"syscall"
)

func isOtherDisk(err error) bool { return errors.Is(err, syscall.EXDEV) }

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
