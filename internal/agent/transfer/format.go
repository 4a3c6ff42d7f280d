// Package transfer is the single format in which an office leaves its data folder, as a backup or on its way to another computer,
// and the settings file that administrators hand out.
//
// A sealed file is a compressed list of records: a header, records of known kinds, the bytes of documents, and an end with the
// number of records. It is never opened as a data file.
//
// It promises:
//   - Read is the only way in. It limits the length and number of everything, accepts only kinds of records that belong in the
//     file, reads to the last byte, and checks each document against its check sum.
//   - ReadMove trusts nothing that would choose a path, send something by itself or let somebody in, and says what it left out. It
//     accesses no path that the file names.
//   - Reading has no effects. The caller applies the result after showing it and getting a yes: a Move in package agent, a backup
//     by store.Import, an administrator's settings through Agent.Configure.
//   - A backup exists completely or not at all, and is made while little else is happening.
//
// It must not know who is signed in, nor how loops are stopped.
package transfer

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"countersign/internal/disk"
	"countersign/internal/office"
	"countersign/internal/safe"
	"countersign/internal/store"
)

var (
	// ErrNewer means that a newer version of the program wrote the file.
	ErrNewer = errors.New("it was written by a newer version")

	// ErrDamaged means that Write did not make the file as it is.
	ErrDamaged = errors.New("what is in it is damaged")

	// ErrTooMuch means that Read would not read what was to be written.
	ErrTooMuch = errors.New("it is more than a file may hold")
)

type Kind string

const (
	Backup Kind = "backup" // of this data folder, sealed with its own key
	Move   Kind = "move"   // an office on its way to another computer, sealed with a password
)

// Header is the beginning of a file. Within a version, fields may be added but keep their meaning.
type Header struct {
	Version      int       `json:"version"`
	Kind         Kind      `json:"kind"`
	Made         time.Time `json:"made"`
	Program      string    `json:"program"`  // version of the program that made it
	Computer     string    `json:"computer"` // computer that made it
	Installation string    `json:"installation"`
}

// Document is the copy of a file waiting to be sent.
type Document struct {
	Name   string `json:"name"` // file name of the copy
	Size   int64  `json:"size"` // bytes
	SHA256 string `json:"sha256"`
	Apart  bool   `json:"apart,omitempty"` // its bytes are in a separate file instead of following
}

// Kinds of records in addition to those of the store.
const (
	kindHeader   store.Kind = "header"
	kindSettings store.Kind = "settings"
	kindSecrets  store.Kind = "secrets"
	kindAccount  store.Kind = "account"
	kindFolder   store.Kind = "folder"
	kindPerson   store.Kind = "person"
	kindForm     store.Kind = "form"
	kindPreset   store.Kind = "preset"
	kindStamp    store.Kind = "stamp"
	kindSent     store.Kind = "sent"
	kindSeen     store.Kind = "seen"
	kindBytes    store.Kind = "bytes" // bytes of a document
	kindEnd      store.Kind = "end"
)

// kinds are the record kinds that each kind of file may contain, with a number that no real file exceeds.
var kinds = map[Kind]map[store.Kind]int{
	Backup: {
		store.KindService: 1, store.KindPackage: many, store.KindJob: many, store.KindDraft: many, store.KindEvent: many,
		store.KindForgotten: many, store.KindActivity: many, store.KindFact: many, store.KindLogged: many, store.KindSealed: 1000, store.KindDoc: many, kindBytes: maxDocuments,
	},
	Move: {
		kindSettings: 1, kindSecrets: 1, kindAccount: 1, kindFolder: 10_000, kindPerson: 500, kindForm: 1, kindPreset: 1000, kindStamp: 100_000, kindSent: 500_000,
		kindSeen: 500_000, store.KindPackage: 500_000, store.KindDraft: 10_000, store.KindLogged: 10_000, kindBytes: maxDocuments,
	},
}

const (
	version      = 1
	many         = 50_000_000
	maxDocuments = 10_000
	maxRecord    = 16 << 20 // bytes
	maxDocument  = office.Largest
)

// maxAll limits the total bytes of records and of documents. A Move is held in memory until a person has seen what it is.
var maxAll = map[Kind]struct{ records, documents int64 }{Backup: {16 << 30, 0}, Move: {512 << 20, 64 << 30}}

// limits are what Writer and Read still allow in a file of a kind.
type limits struct {
	kind       Kind
	counts     map[store.Kind]int // of records so far
	left, room int64              // bytes of records and of documents
}

func limitsOf(kind Kind) limits {
	return limits{kind, map[store.Kind]int{}, maxAll[kind].records, maxAll[kind].documents}
}

func (l *limits) oneMore(kind store.Kind) bool {
	l.counts[kind]++
	return l.counts[kind] <= kinds[l.kind][kind]
}

func (l *limits) hasRoom(d Document) bool {
	l.room -= d.Size
	return l.room >= 0
}

type Writer struct {
	limits
	sealed io.WriteCloser
	packed *gzip.Writer
	count  int
}

// Write begins a file sealed with a key. It is truncated unless closed.
func Write(w io.Writer, key safe.Key, h Header) (*Writer, error) {
	sealed, err := safe.Seal(w, key)
	if err != nil {
		return nil, err
	}
	packed, err := gzip.NewWriterLevel(sealed, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	h.Version = version
	x := &Writer{limits: limitsOf(h.Kind), sealed: sealed, packed: packed}
	b, err := json.Marshal(h)
	return x, errors.Join(err, x.write(store.Record{Kind: kindHeader, JSON: b}))
}

func (w *Writer) Put(r store.Record) error {
	if !w.oneMore(r.Kind) {
		return fmt.Errorf("%w: %d records of the kind %s", ErrTooMuch, w.counts[r.Kind], r.Kind)
	}
	return w.write(r)
}

func (w *Writer) write(r store.Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if w.left -= int64(len(line) + 1); len(line) >= maxRecord || w.left < 0 {
		return fmt.Errorf("%w: a record of the kind %s, of %d bytes", ErrTooMuch, r.Kind, len(line))
	}
	w.count++
	_, err = w.packed.Write(append(line, '\n'))
	return err
}

func (w *Writer) put(kind store.Kind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.Put(store.Record{Kind: kind, JSON: b})
}

// Document writes a document after checking that it has not changed: another one would be sent in its place.
func (w *Writer) Document(d Document, path string) error {
	if err := w.put(kindBytes, d); err != nil {
		return err
	}
	if !w.hasRoom(d) {
		return fmt.Errorf("%w: its documents", ErrTooMuch)
	}
	return d.copyTo(w.packed, path)
}

// errOtherBytes means that a document is missing or is not what it was.
var errOtherBytes = errors.New("a document is not what it was")

func (d Document) copyTo(w io.Writer, path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errOtherBytes, err)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, sum), io.LimitReader(f, d.Size+1))
	if err == nil && (n != d.Size || hex.EncodeToString(sum.Sum(nil)) != d.SHA256) {
		err = fmt.Errorf("%w: %s", errOtherBytes, d.Name)
	}
	return err
}

// Close writes the end of the file; it does not close the underlying writer.
func (w *Writer) Close() error {
	if err := w.write(store.Record{Kind: kindEnd, JSON: strconv.AppendInt(nil, int64(w.count), 10)}); err != nil {
		return err
	}
	return errors.Join(w.packed.Close(), w.sealed.Close())
}

// Reading receives what Read finds.
type Reading struct {
	// Record gets each record. An error stops reading.
	Record func(store.Record) error
	// Document gets each document with a reader of its bytes, which fails with ErrDamaged if they do not match. Bytes are checked
	// even if it does not read them. May be nil.
	Document func(Document, io.Reader) error
}

// Read reads a sealed file of a kind to its end. digest identifies the content. Nothing in the file may be used before Read has
// returned without an error. Errors of r are returned unchanged.
func Read(r io.Reader, with safe.Key, kind Kind, to Reading) (h Header, digest string, err error) {
	plain, err := safe.Open(r, with)
	if err != nil {
		return h, "", err
	}
	packed, err := gzip.NewReader(plain)
	if err != nil {
		return h, "", judge(err)
	}
	packed.Multistream(false)
	x := &reader{limits: limitsOf(kind), to: to, sum: sha256.New()}
	x.in = bufio.NewReaderSize(io.TeeReader(packed, x.sum), 64<<10)
	if err := x.header(&h); err != nil {
		return h, "", err
	}
	for done := false; !done; {
		if done, err = x.record(); err != nil {
			return h, "", err
		}
	}
	if _, err := x.in.ReadByte(); err != io.EOF { // only now is it known to be complete
		return h, "", errors.Join(judge(err), fmt.Errorf("%w: something follows", ErrDamaged))
	}
	return h, hex.EncodeToString(x.sum.Sum(nil)), nil
}

type reader struct {
	limits
	to    Reading
	in    *bufio.Reader
	sum   hash.Hash
	count int
}

func (x *reader) next() (r store.Record, err error) {
	var line []byte
	for {
		part, err := x.in.ReadSlice('\n')
		x.left -= int64(len(part))
		if len(line)+len(part) > maxRecord || x.left < 0 {
			return r, fmt.Errorf("%w: it is longer than any real one", ErrDamaged)
		}
		line = append(line, part...)
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return r, judge(err)
		}
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("%w: a record: %w", ErrDamaged, err)
	}
	x.count++
	return r, nil
}

func (x *reader) header(h *Header) error {
	r, err := x.next()
	if err != nil {
		return err
	}
	if r.Kind != kindHeader || json.Unmarshal(r.JSON, h) != nil || h.Version < 1 {
		return fmt.Errorf("%w: its header", ErrDamaged)
	}
	if h.Version > version {
		return ErrNewer
	}
	if h.Kind != x.kind {
		return safe.ErrForeign
	}
	return nil
}

// record reads the next record and reports whether it was the end.
func (x *reader) record() (done bool, err error) {
	r, err := x.next()
	if err != nil {
		return false, err
	}
	if r.Kind == kindEnd {
		var count int
		if json.Unmarshal(r.JSON, &count) != nil || count != x.count-1 {
			return false, fmt.Errorf("%w: records are missing", ErrDamaged)
		}
		return true, nil
	}
	if !x.oneMore(r.Kind) {
		return false, fmt.Errorf("%w: a record of the kind %q", ErrDamaged, r.Kind)
	}
	if r.Kind == kindBytes {
		return false, x.document(r)
	}
	return false, x.to.Record(r)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,99}$`)

func (x *reader) document(r store.Record) error {
	var d Document
	if json.Unmarshal(r.JSON, &d) != nil || !plainName.MatchString(d.Name) || d.Size < 0 || d.Size > maxDocument || d.Apart != (x.kind == Backup) {
		return fmt.Errorf("%w: a document", ErrDamaged)
	}
	var in io.Reader = strings.NewReader("")
	if !d.Apart {
		if !x.hasRoom(d) {
			return fmt.Errorf("%w: it has more documents than any real one", ErrDamaged)
		}
		in = checked(x.in, d)
	}
	if x.to.Document != nil {
		if err := x.to.Document(d, in); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, in)
	return err
}

// checked reads d from r. It fails with ErrDamaged if the bytes are those of another document.
func checked(r io.Reader, d Document) io.Reader {
	return &checkedReader{in: io.LimitReader(r, d.Size), d: d, sum: sha256.New()}
}

type checkedReader struct {
	in  io.Reader
	d   Document
	got int64
	sum hash.Hash
}

func (c *checkedReader) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.got += int64(n)
	c.sum.Write(p[:n])
	if err == io.EOF && (c.got != c.d.Size || hex.EncodeToString(c.sum.Sum(nil)) != c.d.SHA256) {
		return n, fmt.Errorf("%w: %s", ErrDamaged, c.d.Name)
	}
	if err != io.EOF {
		err = judge(err)
	}
	return n, err
}

// judge classifies a read error: that of the underlying file is returned unchanged, any other means damage.
func judge(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &corrupt):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// Open opens a file that a person or program has named. It accepts only regular files and never blocks.
func Open(path string) (*os.File, error) {
	f, _, err := disk.OpenFile(path)
	if errors.Is(err, disk.ErrNotFile) {
		err = errors.Join(safe.ErrForeign, err)
	}
	return f, err
}
