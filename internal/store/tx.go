package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/internal/office"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Tx is a transaction: everything in the file as it is at one moment, and inside [Store.Update] the changes to it. It
// belongs to the goroutine that runs fn and ends with fn. Its methods return copies; what they return may be kept.
//
// Methods that change something fail inside View.
type Tx struct {
	bolt       *bolt.Tx
	now        func() time.Time
	unreadable func(error) // told of a record that is left out; nil for nobody

	writes  int                     // how many changes were made, so that a failed fn that made none needs no rollback
	buckets map[string]*bolt.Bucket // that were looked for: bbolt looks for them anew where nothing is to be written
	changes *lineChanges
	memory  *memory  // nil for none
	lines   []string // rows of the lines that were written or removed

	followed map[string]facets // by bucket and key of a record: what follows from it as it is kept, see follow
	event    keptEvent         // the one that was read last
}

// keptEvent is an event as it is kept: whoever changes it next need not read it once more.
type keptEvent struct {
	row string // empty for none
	office.Event
}

func (s *Store) newTx(b *bolt.Tx) *Tx {
	return &Tx{bolt: b, now: s.now, unreadable: s.noteUnreadable, changes: &s.lines, memory: &s.memory}
}

// wrote notes a change.
func (tx *Tx) wrote(bucket string, key []byte) {
	tx.writes++
	delete(tx.followed, bucket+string(key))
	if bucket == bucketEvents && tx.event.row == string(key) {
		tx.event = keptEvent{}
	}
	if bucket == bucketPackageLines {
		tx.lines = append(tx.lines, string(key))
	}
}

func (tx *Tx) bucket(name string) (*bolt.Bucket, error) {
	if b := tx.buckets[name]; b != nil {
		return b, nil
	}
	b := tx.bolt.Bucket([]byte(name))
	if b == nil {
		return nil, fmt.Errorf("%w: bucket %s is missing", errUnreadable, name)
	}
	if tx.buckets == nil {
		tx.buckets = map[string]*bolt.Bucket{}
	}
	tx.buckets[name] = b
	return b, nil
}

// get returns the value of key, valid until the end of the transaction, or nil.
func (tx *Tx) get(bucket string, key []byte) ([]byte, error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return nil, err
	}
	return b.Get(key), nil
}

func (tx *Tx) put(bucket string, key, value []byte) error {
	b, err := tx.bucket(bucket)
	if err != nil {
		return err
	}
	tx.wrote(bucket, key)
	err = b.Put(key, value)
	if errors.Is(err, bolterrors.ErrKeyRequired) || errors.Is(err, bolterrors.ErrKeyTooLarge) || errors.Is(err, bolterrors.ErrValueTooLarge) {
		err = fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	if err != nil {
		return fmt.Errorf("write to %s: %w", bucket, err)
	}
	return nil
}

func (tx *Tx) del(bucket string, key []byte) error {
	b, err := tx.bucket(bucket)
	if err != nil {
		return err
	}
	tx.wrote(bucket, key)
	if err := b.Delete(key); err != nil {
		return fmt.Errorf("delete from %s: %w", bucket, err)
	}
	return nil
}

// collect adds a record that was read to a list. One that cannot be read is left out and noted, so that it holds up none
// of the others.
func collect[T any](tx *Tx, list *[]T, record T, err error) error {
	switch {
	case err == nil:
		*list = append(*list, record)
	case errors.Is(err, ErrRecord):
		tx.leaveOut(err)
		return nil
	}
	return err
}

// listed is up to limit of the records that walk leads to, all below 0; record reads the one of a key.
func listed[T any](tx *Tx, limit int, walk func(visit) error, record func(key []byte) (T, error)) (list []T, err error) {
	err = walk(func(key, _ []byte) (bool, error) {
		if len(list) == limit {
			return false, nil
		}
		r, err := record(key)
		return true, collect(tx, &list, r, err)
	})
	return list, err
}

// leaveOut notes a record that cannot be read.
func (tx *Tx) leaveOut(err error) {
	if tx.unreadable != nil {
		tx.unreadable(err)
	}
}

// encode is the record as it is kept.
func encode(record any) ([]byte, error) {
	value, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	return value, nil
}

// decode reads the record that is there under key.
func decode[T any](bucket string, key, value []byte) (T, error) {
	var record T
	if value == nil {
		return record, fmt.Errorf("%w: %s %x is missing", errUnreadable, bucket, key)
	}
	if err := json.Unmarshal(value, &record); err != nil {
		var none T
		return none, fmt.Errorf("%w: %s %x: %v", ErrRecord, bucket, key, err)
	}
	return record, nil
}

// shelf is a bucket of records in the order of time and the bucket of identifiers that leads to them.
type shelf struct{ rows, ids string }

// rowLength is the length of a row in bytes. What is shorter in a bucket of identifiers is no row but all that is left
// of a forgotten record.
const rowLength = 16

// find returns the row of id and its record's JSON, both nil when there is none. Of a forgotten record it returns what
// is left in place of the row, and no JSON.
func (tx *Tx) find(s shelf, id string) (row, value []byte, err error) {
	key, err := idKey(id)
	if err != nil {
		return nil, nil, nil // nothing is ever kept under such an identifier
	}
	if row, err = tx.get(s.ids, key); err != nil || len(row) != rowLength {
		return row, nil, err
	}
	if value, err = tx.get(s.rows, row); err != nil {
		return nil, nil, err
	}
	if value == nil {
		return nil, nil, fmt.Errorf("%w: %s %x is missing", errUnreadable, s.rows, row)
	}
	return row, value, nil
}

// newRow makes a row key that no record has.
func (tx *Tx) newRow(bucket string, at time.Time) ([]byte, error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return nil, err
	}
	tx.writes++
	// Rows are mostly appended: pages that are filled will not grow again.
	b.FillPercent = 0.9
	n, err := b.NextSequence()
	if err != nil {
		return nil, fmt.Errorf("write to %s: %w", bucket, err)
	}
	return join(stamp(at), encodeCount(int64(n))), nil
}

// place writes the record of id and returns its row. row is where it has been until now, nil for a new one; it
// moves when its time has changed.
func (tx *Tx) place(s shelf, id string, row []byte, at time.Time, record any) ([]byte, error) {
	key, err := idKey(id)
	if err != nil {
		return nil, err
	}
	value, err := encode(record)
	if err != nil {
		return nil, fmt.Errorf("encode for %s: %w", s.rows, err)
	}
	if row != nil && !bytes.HasPrefix(row, stamp(at)) {
		if err := tx.del(s.rows, row); err != nil {
			return nil, err
		}
		row = nil
	}
	if row == nil {
		if row, err = tx.newRow(s.rows, at); err != nil {
			return nil, err
		}
		if err := tx.put(s.ids, key, row); err != nil {
			return nil, err
		}
	}
	return row, tx.put(s.rows, row, value)
}

// visit is told of the keys and values of a bucket until it returns false or an error.
type visit func(key, value []byte) (more bool, err error)

// newest calls each with the records of a bucket from the newest, or from the one before the cursor, until it returns
// false or an error.
func (tx *Tx) newest(bucket string, before office.Cursor, each visit) error {
	b, err := tx.bucket(bucket)
	if err != nil {
		return err
	}
	c := b.Cursor()
	key, value := c.Last()
	if before != "" {
		at, err := cursorKey(before)
		if err != nil {
			return err
		}
		if found, _ := c.Seek(at); found != nil {
			key, value = c.Prev()
		} else {
			key, value = c.Last()
		}
	}
	for ; key != nil; key, value = c.Prev() {
		if more, err := each(key, value); err != nil || !more {
			return err
		}
	}
	return nil
}

// oldest calls each with the keys of a bucket that have the prefix, in order, until it returns false or an error.
func (tx *Tx) oldest(bucket string, prefix []byte, each visit) error {
	return tx.between(bucket, prefix, nil, func(key, value []byte) (bool, error) {
		if !bytes.HasPrefix(key, prefix) {
			return false, nil
		}
		return each(key, value)
	})
}

// between does the same for the keys from start on and below end (nil: all).
func (tx *Tx) between(bucket string, start, end []byte, each visit) error {
	b, err := tx.bucket(bucket)
	if err != nil {
		return err
	}
	c := b.Cursor()
	for key, value := c.Seek(start); key != nil && (end == nil || bytes.Compare(key, end) < 0); key, value = c.Next() {
		if more, err := each(key, value); err != nil || !more {
			return err
		}
	}
	return nil
}

// page reads up to limit records of a bucket, newest first, and the cursor of the next page.
func page[T any](tx *Tx, bucket string, before office.Cursor, limit int) (records []T, next office.Cursor, err error) {
	var last []byte
	err = tx.newest(bucket, before, func(key, value []byte) (bool, error) {
		if len(records) >= limit {
			next = cursorOf(last)
			return false, nil
		}
		record, err := decode[T](bucket, key, value) // not to be remembered: a history is read once
		last = key
		return true, collect(tx, &records, record, err)
	})
	return records, next, err
}

// first returns the time in the first key of an index of what is due, the zero time when the index is empty.
func (tx *Tx) first(index string) (time.Time, error) {
	b, err := tx.bucket(index)
	if err != nil {
		return time.Time{}, err
	}
	key, _ := b.Cursor().First()
	if key == nil {
		return time.Time{}, nil
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(key))).UTC(), nil
}

// inUTC sets the times of a record to UTC.
func inUTC(times ...*time.Time) {
	for _, t := range times {
		*t = t.UTC()
	}
}
