package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	bolt "go.etcd.io/bbolt"
)

// bbolt uses a page that became free again, but never gives one back. When most of a file is free, Open copies what is
// in use to a new file and puts that one in its place.
//
// The old file keeps its lock until the new one has its name; who waits for that lock meanwhile finds that it belongs to
// a file without a name, and begins anew (ownsName). The copy is on the disk before it gets the name, so whatever
// interrupts this leaves the old file or the whole new one there, and at most a temporary one beside it that the next
// Open removes.

const (
	compactGain  = 32 << 20            // so many bytes must be free, and as many as are in use
	compactTime  = 10 * time.Second    // so long may a start take longer
	compactPause = 30 * 24 * time.Hour // after a copy that took too long
	compactPart  = 1 << 20             // bytes in one transaction of the copy
	spaceLeft    = 64 << 20            // bytes that the disk must have left beside the copy
)

// keyCompact is the time, in Unix seconds, of the last copy that took too long.
var keyCompact = []byte("compact_failed")

var errTooSlow = errors.New("copying what is in use takes too long")

// compact makes the file smaller when that pays off, and leaves it alone when anything is in the way. The error is that
// of opening the file again.
func (s *Store) compact(o Options) error {
	temp := s.path + ".compact"
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		s.log.Warn("remove an unfinished copy of the data file", "err", err)
		return nil
	}
	used, pays := s.paysOff(o.compactGain)
	if !pays {
		return nil
	}
	if free, known := FreeSpace(filepath.Dir(s.path)); known && free < uint64(used)+uint64(used)/4+spaceLeft {
		s.log.Info("the data file stays as large as it is: the disk has too little room for a copy", "free", free)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), o.CompactTime)
	defer cancel()
	if err := s.copyTo(ctx, temp, o.LockTimeout); err != nil {
		s.log.Warn("the data file stays as large as it is", "err", err)
		if errors.Is(err, errTooSlow) {
			s.noteSlow()
		}
		removeQuietly(temp)
		return nil
	}
	err := replaceLocked(temp, s.path, s.release)
	if err != nil {
		s.log.Warn("the data file stays as large as it is", "err", err)
		removeQuietly(temp)
	} else {
		s.log.Info("the data file was made smaller", "bytes", used)
	}
	s.release() // which is the second time where files cannot be replaced while they are open
	s.db, s.file = nil, nil
	return s.openFile(o.LockTimeout)
}

// paysOff reports how many bytes are in use, and whether enough others are free.
func (s *Store) paysOff(gain int64) (used int64, pays bool) {
	var size int64
	var slow time.Time
	err := s.db.View(func(tx *bolt.Tx) error {
		size = tx.Size()
		if v, err := strconv.ParseInt(string(tx.Bucket([]byte(bucketMeta)).Get(keyCompact)), 10, 64); err == nil {
			slow = time.Unix(v, 0)
		}
		return nil
	})
	st := s.db.Stats()
	free := int64(st.FreePageN+st.PendingPageN) * int64(s.db.Info().PageSize)
	used = size - free
	// A time in the future is no reason to wait: the clock was wrong then, or is now.
	since := s.now().Sub(slow)
	waits := since >= 0 && since < compactPause
	return used, err == nil && free >= max(used, gain) && !waits
}

// copyTo writes all that is in use to a file of that name, and flushes it. Damage that it meets is an error here: a
// start must not depend on pages that nobody has asked for.
func (s *Store) copyTo(ctx context.Context, temp string, wait time.Duration) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	dst, err := bolt.Open(temp, 0o600, &bolt.Options{Timeout: wait, FreelistType: bolt.FreelistMapType, NoSync: true})
	if err != nil {
		return err
	}
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the data file may be damaged: %v", reason)
		}
		err = errors.Join(err, dst.Close())
	}()
	err = s.db.View(func(from *bolt.Tx) error {
		return from.ForEach(func(name []byte, b *bolt.Bucket) error {
			if err := copyBucket(ctx, dst, name, b); err != nil {
				return fmt.Errorf("copy %s: %w", name, err)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return dst.Sync()
}

// copyBucket copies a bucket, a part at a time, and makes sure that all of it has arrived.
func copyBucket(ctx context.Context, dst *bolt.DB, name []byte, from *bolt.Bucket) error {
	c, copied := from.Cursor(), 0
	key, value := c.First()
	for {
		if ctx.Err() != nil {
			return errTooSlow
		}
		err := dst.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(name)
			if err != nil {
				return err
			}
			if err := b.SetSequence(from.Sequence()); err != nil {
				return err
			}
			b.FillPercent = 0.9
			for size := 0; key != nil && size < compactPart; key, value = c.Next() {
				if err := b.Put(key, value); err != nil {
					return err
				}
				size, copied = size+len(key)+len(value), copied+1
			}
			return nil
		})
		if err != nil {
			return err
		}
		if key == nil {
			break
		}
	}
	return dst.View(func(tx *bolt.Tx) error {
		if n := tx.Bucket(name).Stats().KeyN; n != copied || from.Stats().KeyN != copied {
			return fmt.Errorf("%d records arrived of %d", n, copied)
		}
		return nil
	})
}

// noteSlow keeps the next starts from trying again.
func (s *Store) noteSlow() {
	err := s.db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte(bucketMeta)).Put(keyCompact, strconv.AppendInt(nil, s.now().Unix(), 10))
	})
	if err != nil {
		s.log.Warn("note that the data file was not made smaller", "err", err)
	}
}

// ownsName reports whether the file that was opened and locked still has its name: another process may have put a
// smaller copy in its place while this one waited for the lock.
func (s *Store) ownsName() (bool, error) {
	open, err := s.file.Stat()
	if err != nil {
		return false, err
	}
	named, err := os.Stat(s.path)
	if err != nil {
		return false, err
	}
	return os.SameFile(open, named), nil
}

// removeQuietly removes a file that the next Open would remove too.
func removeQuietly(path string) { _ = os.Remove(path) }
