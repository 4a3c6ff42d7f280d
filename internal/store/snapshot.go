package store

import (
	"errors"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

// Snapshot copies the whole file, as it is at this moment, to a new file of that name, flushed, for its owner alone.
// Updates go on meanwhile, but the file cannot grow: the copy goes to a disk of this computer and not to a share.
func (s *Store) Snapshot(path string) error {
	if err := s.usable(); err != nil {
		return err
	}
	return s.guard(func() (err error) {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("copy the data file: %w", err)
		}
		defer func() {
			if err = errors.Join(err, f.Close()); err != nil {
				removeQuietly(path)
			}
		}()
		err = s.db.View(func(tx *bolt.Tx) error {
			_, err := tx.WriteTo(f)
			return err
		})
		if err != nil {
			return fmt.Errorf("copy the data file: %w", err)
		}
		return f.Sync()
	})
}

// Adopt puts everything that is in another data file in the place of everything that is here, and does whatever also does
// beside, in one commit: after a kill there is the one or the other. What is in the other file is read to its end before
// anything is changed here, so that damage there is an error (ErrCorrupt) and does not become damage here. also may be called
// more than once.
func (s *Store) Adopt(other *Store, also func(*Tx) error) error {
	if err := other.readAll(); err != nil {
		return fmt.Errorf("read %s: %w", other.path, err)
	}
	return other.db.View(func(from *bolt.Tx) error {
		return s.Update(func(tx *Tx) error {
			if err := tx.replaceAll(from); err != nil {
				return err
			}
			return also(tx)
		})
	})
}

// readAll reads every page that holds a record.
func (s *Store) readAll() error {
	if err := s.usable(); err != nil {
		return err
	}
	return s.guard(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			var sum int
			return tx.ForEach(func(_ []byte, b *bolt.Bucket) error {
				return b.ForEach(func(key, value []byte) error {
					for _, part := range [][]byte{key, value} {
						for i := 0; i < len(part); i += 512 {
							sum += int(part[i])
						}
					}
					return nil
				})
			})
		})
	})
}

// replaceAll makes the content of every bucket that of from.
func (tx *Tx) replaceAll(from *bolt.Tx) error {
	tx.writes++
	tx.followed, tx.event, tx.buckets = nil, keptEvent{}, nil
	var old [][]byte
	err := tx.bolt.ForEach(func(name []byte, _ *bolt.Bucket) error {
		old = append(old, append([]byte(nil), name...))
		return nil
	})
	for _, name := range old {
		err = errors.Join(err, tx.bolt.DeleteBucket(name))
	}
	if err != nil {
		return fmt.Errorf("empty the data file: %w", err)
	}
	err = from.ForEach(func(name []byte, b *bolt.Bucket) error {
		to, err := tx.bolt.CreateBucket(name)
		if err != nil {
			return err
		}
		if err := to.SetSequence(b.Sequence()); err != nil {
			return err
		}
		to.FillPercent = 0.9
		return b.ForEach(to.Put)
	})
	if err != nil {
		return fmt.Errorf("take over the other data file: %w", err)
	}
	tx.changes.forget(uint64(tx.bolt.ID()))
	return nil
}
