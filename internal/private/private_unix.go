//go:build unix

package private

import (
	"fmt"
	"os"

	"countersign/internal/disk"
)

func makeFolder(path string) error { return disk.MkdirAll(path, 0o700) }

func newFolder(path string) error { return disk.Mkdir(path, 0o700) }

func tightenFolder(path string) error { return tighten(path, 0o700) }

func tightenFile(path string) error { return tighten(path, 0o600) }

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

func createTemp(folder, pattern string) (*os.File, error) { return os.CreateTemp(folder, pattern) } // mode 0600

func openToOthers(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: its mode is %04o", ErrOpen, info.Mode().Perm())
	}
	return nil
}
