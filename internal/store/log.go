package store

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"io"

	"golang.org/x/mod/sumdb/tlog"

	"countersign/internal/office"
	"countersign/internal/record"
)

// Facts are logged in the transaction that stores their records: a fact is derived from a record (facets), and is logged if
// the previous record did not yield it. So no caller can store an event, a sent draft, a saved file or a verdict without
// logging it, and the log agrees with the records after any interruption.
//
// A line of the log is stored by its number. Every 1<<record.Step lines are compressed together, which halves their size,
// and the hash of their subtree is stored. All other hashes are computed on demand.

// packed is how many lines are compressed together.
const packed = 1 << record.Step

// mostUnpacked limits the uncompressed bytes of packed lines; real ones are far smaller.
const mostUnpacked = 256 << 20

// loggedFact is a fact derived from a record. key distinguishes the facts of one record.
type loggedFact struct {
	key  string
	fact func() record.Fact
}

func (f *facets) fact(key string, fact func() record.Fact) {
	f.facts = append(f.facts, loggedFact{key, fact})
}

// logNew logs the facts that the new record yields and the old one did not.
func (tx *Tx) logNew(old, new facets) {
	if tx.importing {
		return // it was logged when it happened
	}
next:
	for _, f := range new.facts {
		for _, known := range old.facts {
			if known.key == f.key {
				continue next
			}
		}
		tx.AddFact(f.fact())
	}
}

// AddFact logs a fact, as of now, that is not derived from a record.
func (tx *Tx) AddFact(f record.Fact) error {
	f.At = tx.now()
	line, err := f.Line()
	if err != nil {
		return tx.fail(fmt.Errorf("%w: a fact: %w", ErrUnfit, err))
	}
	tx.addLine(line)
	return tx.err
}

func (tx *Tx) addLine(line []byte) {
	l := tx.Log()
	n, _ := l.Size()
	b := tx.bucket(bucketLog)
	if b == nil {
		return
	}
	b.FillPercent = 1 // lines are only appended
	tx.put(bucketLog, encodeCount(n), line)
	if *tx.logged++; *tx.logged%packed != 0 {
		return
	}
	for level, size := record.Step, (n+1)/packed; ; level, size = level+record.Step, size/packed {
		hash, err := record.NewBlock(l, level, size-1)
		tx.fail(err)
		tx.put(bucketLogHashes, blockKey(level, size-1), hash[:])
		if size%packed != 0 {
			break
		}
	}
	tx.pack(n + 1 - packed)
}

func blockKey(level int, n int64) []byte { return append([]byte{byte(level)}, encodeCount(n)...) }

func (tx *Tx) pack(first int64) {
	var all bytes.Buffer
	w, _ := flate.NewWriter(&all, flate.BestSpeed) // which, as writing to memory, cannot fail
	for n := first; n < first+packed; n++ {
		w.Write(append(bytes.Clone(tx.get(bucketLog, encodeCount(n))), '\n'))
	}
	w.Close()
	for n := first; n < first+packed; n++ {
		tx.del(bucketLog, encodeCount(n))
	}
	tx.put(bucketLogPacked, encodeCount(first), all.Bytes())
}

// Log is the record as seen by the transaction. It is for one goroutine.
type Log struct {
	tx    *Tx
	first int64    // of the lines that were last unpacked
	lines [][]byte // nil for none
}

// Log returns the record of everything that happened.
func (tx *Tx) Log() *Log { return &Log{tx: tx} }

// Size is the number of lines. It is tracked in the transaction, because bbolt finds no last key once a transaction has
// deleted everything.
func (l *Log) Size() (int64, error) {
	if l.tx.logged != nil {
		return *l.tx.logged, nil
	}
	size, err := l.readSize()
	if err == nil {
		l.tx.logged = &size
	}
	return size, err
}

func (l *Log) readSize() (int64, error) {
	for _, b := range []struct {
		name  string
		lines int64
	}{{bucketLog, 1}, {bucketLogPacked, packed}} {
		bucket := l.tx.bucket(b.name)
		if bucket == nil {
			return 0, l.tx.err
		}
		if key, _ := bucket.Cursor().Last(); len(key) == 8 {
			return int64(binary.BigEndian.Uint64(key)) + b.lines, nil
		}
	}
	return 0, nil
}

// Line is line n, counted from 0. It is valid until the transaction ends.
func (l *Log) Line(n int64) ([]byte, error) {
	if l.lines == nil || n < l.first || n >= l.first+packed {
		if line := l.tx.get(bucketLog, encodeCount(n)); line != nil {
			return line, nil
		}
		if err := l.unpack(n - n%packed); err != nil {
			return nil, err
		}
	}
	return l.lines[n-l.first], nil
}

func (l *Log) unpack(first int64) error {
	value := l.tx.get(bucketLogPacked, encodeCount(first))
	if l.tx.err != nil {
		return l.tx.err
	}
	all, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(value)), mostUnpacked))
	lines := bytes.Split(all, []byte("\n"))
	if err != nil || len(lines) != packed+1 {
		return l.tx.fail(fmt.Errorf("%w: %s %d", errUnreadable, bucketLogPacked, first))
	}
	l.first, l.lines = first, lines[:packed]
	return nil
}

// Block is the hash of a complete subtree, see record.Log.
func (l *Log) Block(level int, n int64) (hash tlog.Hash, err error) {
	if copy(hash[:], l.tx.get(bucketLogHashes, blockKey(level, n))) != len(hash) {
		l.tx.fail(fmt.Errorf("%w: %s %d %d", errUnreadable, bucketLogHashes, level, n))
	}
	return hash, l.tx.err
}

// From calls each with the lines from n on, until it returns false.
func (l *Log) From(n int64, each func(n int64, line []byte) bool) error {
	size, err := l.Size()
	for ; err == nil && n < size; n++ {
		var line []byte
		if line, err = l.Line(n); err == nil && !each(n, line) {
			break
		}
	}
	return err
}

// Head represents all lines.
func (l *Log) Head() (record.Head, error) {
	size, err := l.Size()
	if err != nil {
		return record.Head{}, err
	}
	return record.HeadOf(l, size)
}

// Export calls each with the lines, many in each record.
func (l *Log) Export(each func(Record) error) error {
	var lines []byte
	var first int64
	flush := func() error {
		if len(lines) > 0 && l.tx.err == nil {
			l.tx.fail(each(Record{Kind: KindLogged, Key: encodeCount(first), Bytes: lines}))
		}
		lines = nil
		return l.tx.err
	}
	l.From(0, func(n int64, line []byte) bool {
		if n%packed == 0 {
			flush()
			first = n
		}
		lines = append(append(lines, line...), '\n')
		return l.tx.err == nil
	})
	return flush()
}

// importLog appends lines from Export.
func (tx *Tx) importLog(r Record) error {
	size, _ := tx.Log().Size()
	lines := bytes.Split(bytes.TrimSuffix(r.Bytes, []byte("\n")), []byte("\n"))
	if len(r.Key) != 8 || decodeCount(r.Key) != size {
		return fmt.Errorf("%w: lines of the record are missing", ErrRecord)
	}
	for _, line := range lines {
		tx.addLine(line)
	}
	return tx.err
}

// The facts derived from records.

func eventFact(e office.Event) record.Fact {
	return record.Fact{Kind: record.Received, Package: e.PackageID,
		Event: &record.Event{ID: e.ID, Action: e.Action, SHA256: record.Sum(e.Body), Signature: e.Signature, URL: e.URL}}
}

func sentFact(d office.Draft) record.Fact {
	f := record.Fact{Kind: record.Sent, Package: d.PackageID, Draft: d.ID}
	for _, own := range d.Files {
		f.Files = append(f.Files, record.File{Name: own.Name, Size: own.Size, SHA256: own.SHA256})
	}
	return f
}

func savedFact(j office.Job) record.Fact {
	return record.Fact{Kind: record.Saved, Package: j.PackageID, File: loggedFile(j)}
}

func sealFact(j office.Job) record.Fact {
	f := loggedFile(j)
	f.SHA256 = j.Seal.SHA256
	return record.Fact{Kind: record.Examined, Package: j.PackageID, File: f,
		Seal: &record.Seal{State: string(j.Seal.State), Signer: j.Seal.Signer, At: j.Seal.At, Stamped: j.Seal.Stamped, Sent: string(j.Match.State)}}
}

func loggedFile(j office.Job) *record.File {
	return &record.File{Document: j.DocumentID, Kind: string(j.Kind), Name: j.Target, Size: j.Size, BLAKE3: office.BLAKE3(j.Digest)}
}
