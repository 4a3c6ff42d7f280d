//go:build unix

package store

import "countersign/internal/disk"

// replaceLocked gives temp the name of a locked file, which stays locked. release is not needed.
func replaceLocked(temp, path string, _ func() error) error {
	return disk.Rename(temp, path)
}
