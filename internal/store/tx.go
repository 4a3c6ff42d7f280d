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
// It keeps its first failure, as a bufio.Writer does: from then on its methods write nothing and read nothing but zero values, and
// View or Update returns that failure, whatever fn returns. So the error of a method may be ignored wherever what depends on it stays
// within the transaction, and nothing is ever committed without one of the changes that were asked for. A record that cannot be read
// ([ErrRecord]) is no failure of the transaction where it is read by its identifier: whoever reads it decides whether to do without
// it, and lists leave it out. What fn sets, for use outside, holds once View or Update has returned nil.
//
// Methods that change something fail inside View.
type Tx struct {
	err error // the first failure

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
	added   []office.Activity
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

// Err is the first failure of the transaction, nil for none.
func (tx *Tx) Err() error { return tx.err }

// fail keeps an error, if it is one and the first, and returns the first.
func (tx *Tx) fail(err error) error {
	if tx.err == nil {
		tx.err = err
	}
	return tx.err
}

// do runs fn and returns its error, or that of the transaction when fn has lost it.
func (tx *Tx) do(fn func(*Tx) error) error {
	if err := fn(tx); tx.err == nil || errors.Is(err, tx.err) {
		return err
	}
	return tx.err
}

// bucket is nil once the transaction has failed.
func (tx *Tx) bucket(name string) *bolt.Bucket {
	if tx.err == nil && tx.fault != nil {
		tx.err = tx.fault()
	}
	if tx.err != nil {
		return nil
	}
	if b := tx.buckets[name]; b != nil {
		return b
	}
	b := tx.bolt.Bucket([]byte(name))
	if b == nil {
		tx.err = fmt.Errorf("%w: bucket %s is missing", errUnreadable, name)
		return nil
	}
	if tx.buckets == nil {
		tx.buckets = map[string]*bolt.Bucket{}
	}
	tx.buckets[name] = b
	return b
}

// get returns the value of key, valid until the end of the transaction, or nil.
func (tx *Tx) get(bucket string, key []byte) []byte {
	if b := tx.bucket(bucket); b != nil {
		return b.Get(key)
	}
	return nil
}

func (tx *Tx) put(bucket string, key, value []byte) {
	b := tx.bucket(bucket)
	if b == nil {
		return
	}
	tx.wrote(bucket, key)
	err := b.Put(key, value)
	if errors.Is(err, bolterrors.ErrKeyRequired) || errors.Is(err, bolterrors.ErrKeyTooLarge) || errors.Is(err, bolterrors.ErrValueTooLarge) {
		err = fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	if err != nil {
		tx.err = fmt.Errorf("write to %s: %w", bucket, err)
	}
}

func (tx *Tx) del(bucket string, key []byte) {
	b := tx.bucket(bucket)
	if b == nil {
		return
	}
	tx.wrote(bucket, key)
	if err := b.Delete(key); err != nil {
		tx.err = fmt.Errorf("delete from %s: %w", bucket, err)
	}
}

// read reports whether a record was read without an error. It notes an unreadable one, which lists leave out so that others are not
// held up; any other error is a failure of the transaction.
func (tx *Tx) read(err error) bool {
	if errors.Is(err, ErrRecord) {
		tx.leaveOut(err)
	} else {
		tx.fail(err)
	}
	return err == nil
}

// listed returns up to limit of the records that walk leads to, all if limit is negative; record reads the record of a key. It
// leaves out unreadable ones.
func listed[T any](tx *Tx, limit int, walk func(visit), record func(key, value []byte) (T, error)) (list []T, err error) {
	walk(func(key, value []byte) bool {
		if len(list) == limit {
			return false
		}
		if r, err := record(key, value); tx.read(err) {
			list = append(list, r)
		}
		return true
	})
	return list, tx.err
}

// each calls take with the records that walk leads to, until it returns false. It leaves out unreadable ones.
func each[T any](tx *Tx, walk func(visit), read func(key, value []byte) (T, error), take func(T) bool) error {
	walk(func(key, value []byte) bool {
		record, err := read(key, value)
		return !tx.read(err) || take(record)
	})
	return tx.err
}

// in walks through a bucket from the newest to the oldest record.
func (tx *Tx) in(bucket string) func(visit) {
	return func(v visit) { tx.newest(bucket, "", v) }
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

// at decodes the record of an index entry.
func at[T any](tx *Tx, bucket string, row []byte) (T, error) {
	value := tx.get(bucket, row)
	if tx.err != nil {
		var none T
		return none, tx.err
	}
	return decode[T](bucket, row, value)
}

// behind reads the record whose key follows the first n bytes of an index entry.
func behind[T any](tx *Tx, n int, bucket string) func(key, _ []byte) (T, error) {
	return func(key, _ []byte) (T, error) { return at[T](tx, bucket, key[n:]) }
}

// shelf is a bucket of records in order of time, with the bucket of identifiers that map to them.
type shelf struct{ rows, ids string }

// rowLength is the length of a row in bytes. A shorter value in a bucket of identifiers is not a row but what remains of a
// forgotten record.
const rowLength = 16

// find returns the row of id and its record's JSON, both nil if there is none. For a forgotten record it returns what
// remains instead of the row, and no JSON.
func (tx *Tx) find(s shelf, id string) (row, value []byte) {
	key, err := idKey(id)
	if err != nil {
		return nil, nil // nothing is ever stored under such an identifier
	}
	if row = tx.get(s.ids, key); len(row) != rowLength {
		return row, nil
	}
	if value = tx.get(s.rows, row); value == nil {
		tx.fail(fmt.Errorf("%w: %s %x is missing", errUnreadable, s.rows, row))
		return nil, nil
	}
	return row, value
}

func (tx *Tx) newRow(bucket string, at time.Time) []byte {
	b := tx.bucket(bucket)
	if b == nil {
		return nil
	}
	tx.writes++
	// Rows are mostly appended: a filled page does not grow again.
	b.FillPercent = 0.9
	n, err := b.NextSequence()
	if err != nil {
		tx.err = fmt.Errorf("write to %s: %w", bucket, err)
	}
	return join(stamp(at), encodeCount(int64(n)))
}

// place writes the record of id and returns its row. row is its present one, nil for a new record; if the record's time has
// changed, it moves.
func (tx *Tx) place(s shelf, id string, row []byte, at time.Time, record any) []byte {
	key, err := idKey(id)
	value, unfit := encode(record)
	if err := cmp.Or(err, unfit); err != nil {
		tx.fail(fmt.Errorf("keep in %s: %w", s.rows, err))
		return nil
	}
	if row != nil && !bytes.HasPrefix(row, stamp(at)) {
		tx.del(s.rows, row)
		row = nil
	}
	if row == nil {
		row = tx.newRow(s.rows, at)
		tx.put(s.ids, key, row)
	}
	tx.put(s.rows, row, value)
	return row
}

// visit gets the keys and values of a bucket until it returns false or the transaction fails.
type visit func(key, value []byte) (more bool)

// newest calls each with the records of a bucket from the newest on, or from the one before the cursor.
func (tx *Tx) newest(bucket string, before office.Cursor, each visit) {
	b := tx.bucket(bucket)
	if b == nil {
		return
	}
	c := b.Cursor()
	key, value := c.Last()
	if before != "" {
		at, err := cursorKey(before)
		if err != nil {
			tx.err = err
			return
		}
		if found, _ := c.Seek(at); found != nil {
			key, value = c.Prev()
		} else {
			key, value = c.Last()
		}
	}
	for ; key != nil; key, value = c.Prev() {
		if !each(key, value) || tx.err != nil {
			return
		}
	}
}

// oldest calls each with the keys of a bucket that begin with prefix, in order.
func (tx *Tx) oldest(bucket string, prefix []byte, each visit) {
	tx.between(bucket, prefix, nil, func(key, value []byte) bool {
		return bytes.HasPrefix(key, prefix) && each(key, value)
	})
}

// between does the same for the keys from start up to but excluding end (nil: no limit).
func (tx *Tx) between(bucket string, start, end []byte, each visit) {
	b := tx.bucket(bucket)
	if b == nil {
		return
	}
	c := b.Cursor()
	for key, value := c.Seek(start); key != nil && (end == nil || bytes.Compare(key, end) < 0); key, value = c.Next() {
		if !each(key, value) || tx.err != nil {
			return
		}
	}
}

// page reads up to limit records of a bucket, newest first, and the cursor of the next page.
func page[T any](tx *Tx, bucket string, before office.Cursor, limit int) (records []T, next office.Cursor, err error) {
	var last []byte
	tx.newest(bucket, before, func(key, value []byte) bool {
		if len(records) >= limit {
			next = cursorOf(last)
			return false
		}
		last = key
		if record, err := decode[T](bucket, key, value); tx.read(err) {
			records = append(records, record)
		}
		return true
	})
	return records, next, tx.err
}

// first returns the time in the first key of an index by due time, the zero time if the index is empty.
func (tx *Tx) first(index string) (time.Time, error) {
	b := tx.bucket(index)
	if b == nil {
		return time.Time{}, tx.err
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
		return nil, tx.fail(err)
	}
	tx.oldest(bucketDocs, key, func(key, _ []byte) bool {
		names = append(names, string(key))
		return true
	})
	return names, tx.err
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
func (tx *Tx) due(index string, d Due, each visit) {
	more := true
	watched := func(key, value []byte) bool {
		more = each(key, value)
		return more
	}
	tx.between(index, nil, after(d.Now), watched)
	if more && d.Longest > 0 {
		tx.between(index, after(d.Now.Add(d.Longest)), nil, watched)
	}
}

// keyService is the key in bucketMeta for the name of the service in use.
var keyService = []byte("service")

// Service is the name of the service in use; "" before the first UseService. Stored records belong to it unless they say
// otherwise.
func (tx *Tx) Service() (string, error) {
	name := tx.get(bucketMeta, keyService)
	return string(name), tx.err
}

// home fills in to which service a record belongs, and whether that is not the one in use.
func (tx *Tx) home(h *office.Home) {
	here, _ := tx.Service()
	h.Service = cmp.Or(h.Service, here)
	h.Away = h.Service != here
}

// UseService makes name the service in use. Packages, drafts and jobs of other services stay but are never due; those of
// name are due again as they were when it was last in use. What was stored before the first call belongs to the first
// service.
func (tx *Tx) UseService(name string) error {
	here, err := tx.Service()
	if err != nil || here == name {
		return err
	}
	tx.put(bucketMeta, keyService, []byte(name))
	wrong := func(h office.Home) bool { return h.Service == "" || h.Away != (h.Service != name) }
	var packages []office.Package
	tx.Packages(func(p office.Package) bool {
		if wrong(p.Home) {
			packages = append(packages, p)
		}
		return true
	})
	for _, p := range packages {
		tx.PutPackage(p)
	}
	jobs, _ := tx.JobsAfter("", math.MaxInt, func(j office.Job) bool { return wrong(j.Home) })
	for _, j := range jobs {
		tx.PutJob(j)
	}
	drafts, _ := tx.Drafts()
	for _, d := range drafts {
		if wrong(d.Home) {
			tx.PutDraft(d)
		}
	}
	return tx.err
}
