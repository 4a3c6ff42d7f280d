package store

import "countersign/internal/disk"

// replaceLocked gives temp the name of a locked file, which must be let go for that.
func replaceLocked(temp, path string, release func() error) error {
	if err := release(); err != nil {
		return err
	}
	return disk.Rename(temp, path)
}
