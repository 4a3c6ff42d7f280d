package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/internal/disk"

	bolt "go.etcd.io/bbolt"
)

// createIfMissing makes an empty data file under a temporary name and gives it its own name when it is complete. So a
// data file that is there is never half made, and an empty one is damage rather than a beginning.
func createIfMissing(path string, opts Options) error {
	if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	if err := temp.Close(); err != nil {
		return err
	}
	if err := fill(temp.Name(), opts); err != nil {
		return err
	}
	if err := disk.RenameNew(temp.Name(), path); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil // another process was quicker, and its file wins
}

// fill makes temp an empty data file.
func fill(temp string, opts Options) error {
	db, err := bolt.Open(temp, 0o600, &bolt.Options{Timeout: opts.LockTimeout})
	if err != nil {
		return err
	}
	return errors.Join(db.Update(createBuckets), db.Close())
}
