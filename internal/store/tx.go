package store

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"countersign/internal/office"
	"countersign/internal/office/filename"
)

// Tx is a transaction: a consistent view of the file and, inside [Store.Update], the changes to it. It belongs to the
// goroutine that runs fn and ends with fn. Its methods return copies, which may be kept.
//
// Methods that change something fail inside View.
type Tx struct {
	bolt       *bolt.Tx
	now        func() time.Time
	unreadable func(error)  // called for each skipped record; may be nil
	fault      func() error // Store.Fault

	importing bool   // importing: records were stored and logged earlier
	logged    *int64 // number of lines in the log; nil until asked for

	writes  int                     // number of changes, so that a failed fn without changes needs no rollback
	buckets map[string]*bolt.Bucket // cache, because bbolt looks buckets up each time in a read-only transaction
	changes *lineChanges
	lines   []string // rows of lines written or removed
}

func (s *Store) newTx(b *bolt.Tx) *Tx {
	return &Tx{bolt: b, now: s.now, unreadable: s.noteUnreadable, fault: s.Fault, changes: &s.lines}
}

func (tx *Tx) wrote(bucket string, key []byte) {
	tx.writes++
	if bucket == bucketPackageLines {
		tx.lines = append(tx.lines, string(key))
	}
}

func (tx *Tx) bucket(name string) (*bolt.Bucket, error) {
	if tx.fault != nil {
		if err := tx.fault(); err != nil {
			return nil, err
		}
	}
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

// collect appends a record to a list. It skips and notes an unreadable one, so that others are not held up.
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

// listed returns up to limit of the records that walk leads to, all if limit is negative; record reads the record of a key.
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

// each calls take with the records that walk leads to, until it returns false. It skips and notes unreadable ones, so that
// others are not held up.
func each[T any](tx *Tx, walk func(visit) error, read func(key, value []byte) (T, error), take func(T) bool) error {
	return walk(func(key, value []byte) (bool, error) {
		record, err := read(key, value)
		switch {
		case errors.Is(err, ErrRecord):
			tx.leaveOut(err)
			return true, nil
		case err != nil:
			return false, err
		}
		return take(record), nil
	})
}

// in walks through a bucket from the newest to the oldest record.
func (tx *Tx) in(bucket string) func(visit) error {
	return func(v visit) error { return tx.newest(bucket, "", v) }
}

func (tx *Tx) leaveOut(err error) {
	if tx.unreadable != nil {
		tx.unreadable(err)
	}
}

func encode(record any) ([]byte, error) {
	value, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	return value, nil
}

// decode decodes the record stored under key.
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

// shelf is a bucket of records in order of time, with the bucket of identifiers that map to them.
type shelf struct{ rows, ids string }

// rowLength is the length of a row in bytes. A shorter value in a bucket of identifiers is not a row but what remains of a
// forgotten record.
const rowLength = 16

// find returns the row of id and its record's JSON, both nil if there is none. For a forgotten record it returns what
// remains instead of the row, and no JSON.
func (tx *Tx) find(s shelf, id string) (row, value []byte, err error) {
	key, err := idKey(id)
	if err != nil {
		return nil, nil, nil // nothing is ever stored under such an identifier
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

func (tx *Tx) newRow(bucket string, at time.Time) ([]byte, error) {
	b, err := tx.bucket(bucket)
	if err != nil {
		return nil, err
	}
	tx.writes++
	// Rows are mostly appended: a filled page does not grow again.
	b.FillPercent = 0.9
	n, err := b.NextSequence()
	if err != nil {
		return nil, fmt.Errorf("write to %s: %w", bucket, err)
	}
	return join(stamp(at), encodeCount(int64(n))), nil
}

// place writes the record of id and returns its row. row is its present one, nil for a new record; if the record's time has
// changed, it moves.
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

// visit gets the keys and values of a bucket until it returns false or an error.
type visit func(key, value []byte) (more bool, err error)

// newest calls each with the records of a bucket from the newest on, or from the one before the cursor, until it returns
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

// oldest calls each with the keys of a bucket that begin with prefix, in order, until it returns false or an error.
func (tx *Tx) oldest(bucket string, prefix []byte, each visit) error {
	return tx.between(bucket, prefix, nil, func(key, value []byte) (bool, error) {
		if !bytes.HasPrefix(key, prefix) {
			return false, nil
		}
		return each(key, value)
	})
}

// between does the same for the keys from start up to but excluding end (nil: no limit).
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
		record, err := decode[T](bucket, key, value)
		last = key
		return true, collect(tx, &records, record, err)
	})
	return records, next, err
}

// first returns the time in the first key of an index by due time, the zero time if the index is empty.
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

func inUTC(times ...*time.Time) {
	for _, t := range times {
		*t = t.UTC()
	}
}

// DocNames are the names of the documents that begin with prefix, which must not be empty, in order.
func (tx *Tx) DocNames(prefix string) (names []string, err error) {
	key, err := idKey(prefix)
	if err != nil {
		return nil, err
	}
	err = tx.oldest(bucketDocs, key, func(key, _ []byte) (bool, error) {
		names = append(names, string(key))
		return true, nil
	})
	return names, err
}

// idKey is the key of an identifier from outside. A very long one is replaced by its hash; the record itself contains all of
// it. It rejects bytes that are not UTF-8: JSON would change them, and the record could not be found by the identifier it
// contains.
func idKey(id string) ([]byte, error) {
	switch {
	case id == "":
		return nil, fmt.Errorf("%w: it is empty", ErrBadID)
	case !utf8.ValidString(id):
		return nil, fmt.Errorf("%w: it is not text", ErrBadID)
	case len(id) <= office.MaxID:
		return []byte(id), nil
	}
	sum := sha256.Sum256([]byte(id))
	return append([]byte{0}, sum[:]...), nil
}

// stamp is office.Stamp as eight bytes in sort order.
func stamp(t time.Time) []byte { return binary.BigEndian.AppendUint64(nil, office.Stamp(t)) }

// stampTime is the time of a key that begins with a stamp; the zero time for 0.
func stampTime(key []byte) time.Time { return office.StampTime(binary.BigEndian.Uint64(key)) }

// after is the smallest stamp after t: keys before it are due at t.
func after(t time.Time) []byte {
	key := stamp(t)
	return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(key)+1)
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

func cursorOf(key []byte) office.Cursor {
	return office.Cursor(base64.RawURLEncoding.EncodeToString(key))
}

func cursorKey(c office.Cursor) ([]byte, error) {
	key, err := base64.RawURLEncoding.DecodeString(string(c))
	if err != nil {
		return nil, fmt.Errorf("list position %q: %w", string(c), err)
	}
	return key, nil
}

// targetKey is equal for two names that some file system may treat as one, see filename.Folded. It also ignores where the
// folder ends and the path within it begins, the kind of slash, and dots and spaces at the end of an element, which Windows
// drops.
func targetKey(folder, target string) []byte {
	sum := sha256.Sum256([]byte(fold(filepath.Clean(folder) + "/" + target)))
	return sum[:]
}

func fold(name string) string {
	elements := strings.Split(path.Clean(filename.Folded(strings.ReplaceAll(name, `\`, "/"))), "/")
	for i, e := range elements {
		elements[i] = strings.TrimRight(e, ". ")
	}
	return strings.Join(elements, "/")
}

// Due selects what is due: times that have come, and times further ahead than anything may wait. Those were set by a wrong
// clock, and nothing must wait for that clock.
type Due struct {
	Now     time.Time
	Longest time.Duration // nothing waits longer; 0 for no limit
}

// Left is the time left until next; 0 if that is due.
func (d Due) Left(next time.Time) time.Duration {
	left := next.Sub(d.Now)
	if left < 0 || d.Longest > 0 && left > d.Longest {
		return 0
	}
	return left
}

// due visits what is due in an index by time, longest due first.
func (tx *Tx) due(index string, d Due, each visit) error {
	more := true
	watched := func(key, value []byte) (bool, error) {
		var err error
		more, err = each(key, value)
		return more, err
	}
	err := tx.between(index, nil, after(d.Now), watched)
	if err != nil || !more || d.Longest <= 0 {
		return err
	}
	return tx.between(index, after(d.Now.Add(d.Longest)), nil, watched)
}

// keyService is the key in bucketMeta for the name of the service in use.
var keyService = []byte("service")

// Service is the name of the service in use; "" before the first UseService. Stored records belong to it unless they say
// otherwise.
func (tx *Tx) Service() (string, error) {
	name, err := tx.get(bucketMeta, keyService)
	return string(name), err
}

// home fills in to which service a record belongs, and whether that is not the one in use.
func (tx *Tx) home(h *office.Home) error {
	here, err := tx.Service()
	if err != nil {
		return err
	}
	h.Service = cmp.Or(h.Service, here)
	h.Away = h.Service != here
	return nil
}

// UseService makes name the service in use. Packages, drafts and jobs of other services stay but are never due; those of
// name are due again as they were when it was last in use. What was stored before the first call belongs to the first
// service.
func (tx *Tx) UseService(name string) error {
	here, err := tx.Service()
	if err != nil || here == name {
		return err
	}
	if err := tx.put(bucketMeta, keyService, []byte(name)); err != nil {
		return err
	}
	wrong := func(h office.Home) bool { return h.Service == "" || h.Away != (h.Service != name) }
	var packages []office.Package
	errs := []error{tx.Packages(func(p office.Package) bool {
		if wrong(p.Home) {
			packages = append(packages, p)
		}
		return true
	})}
	for _, p := range packages {
		errs = append(errs, tx.PutPackage(p))
	}
	jobs, err := tx.JobsAfter("", math.MaxInt, func(j office.Job) bool { return wrong(j.Home) })
	errs = append(errs, err)
	for _, j := range jobs {
		errs = append(errs, tx.PutJob(j))
	}
	drafts, err := tx.Drafts()
	errs = append(errs, err)
	for _, d := range drafts {
		if wrong(d.Home) {
			errs = append(errs, tx.PutDraft(d))
		}
	}
	return errors.Join(errs...)
}
