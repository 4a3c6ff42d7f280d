package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// createIfMissing makes an empty data file under a temporary name and gives it its own name when it is complete. So a
// data file that is there is never half made, and an empty one is damage rather than a beginning.
func createIfMissing(path string, steps []migration, opts Options) error {
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
	if err := fill(temp.Name(), steps, opts); err != nil {
		return err
	}
	if err := publish(temp.Name(), path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

// fill makes temp an empty data file of the newest schema.
func fill(temp string, steps []migration, opts Options) (err error) {
	db, err := bolt.Open(temp, 0o600, &bolt.Options{Timeout: opts.LockTimeout})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.Update(func(tx *bolt.Tx) error {
		_, err := tx.CreateBucket([]byte(bucketMeta))
		return err
	}); err != nil {
		return err
	}
	return migrate(db, temp, steps)
}

// publish gives temp its name without replacing a file that another process put there meanwhile: then that one wins.
// On a file system without hard links the check and the rename are two steps.
func publish(temp, path string) error {
	err := os.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	if _, statErr := os.Lstat(path); statErr == nil {
		return nil
	}
	if renameErr := os.Rename(temp, path); renameErr != nil {
		return fmt.Errorf("%w (and %v)", renameErr, err)
	}
	return nil
}
