// Package store stores everything that Countersign must not forget: events, packages, save jobs, drafts, the activity list,
// settings and sealed values, in one bbolt file in the office's data folder.
//
// What it promises:
//
//   - [Store.Update] returns nil only when its changes are flushed to the disk. What it has acknowledged survives kill -9;
//     that is tested. Power failures are a different matter, about which kill -9 says nothing: bbolt flushes what is
//     necessary to survive one, provided the disk tells the truth.
//   - An Update is atomic, and one that fails or panics does not affect others that share its commit.
//   - Counters and indexes always agree with the records: all of them change in one transaction, in one place
//     (packages.go).
//   - Open does not change a file that a newer version wrote, that another process uses, or that it finds damaged.
//   - Opening reads the list of free pages and a handful of others, however many records there are; the exception is when
//     it shrinks a file that is mostly free (export.go).
//   - The age of what is forgotten (events.go) is counted in days on which the program ran, whatever the clock says.
//
// Identifiers come from outside. Here they are keys and never paths; an empty one is rejected, and a very long one is
// replaced by its hash. Times are stored and returned in UTC.
//
// What it must not know: the network, the window, and keys. Sealed values are bytes that somebody else sealed.
package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/private"
)

// Options adjust Open. The zero value is suitable for production.
type Options struct {
	Now         func() time.Time // the clock for records without a time; nil means time.Now
	Log         *slog.Logger     // nil logs nothing
	LockTimeout time.Duration    // how long to wait for another process's lock; 0 means 150 ms

	// Compact lets Open shrink a file that is mostly free. Where an open file cannot be replaced, on Windows, its lock is
	// released for a moment, so the caller must keep other processes out of the folder, as package single does.
	Compact                  bool
	compactGain, compactMost int64 // 0 means the constants in export.go
}

// Store is an open data file. All methods may be called from any goroutine.
//
// One caller at a time has the turn and commits what is queued, see [Store.Update]. Reads run on the caller's goroutine and
// see the last commit.
type Store struct {
	path string
	now  func() time.Time
	log  *slog.Logger
	db   *bolt.DB
	file *os.File // bbolt's own, to release the lock when bbolt cannot

	mu     sync.Mutex
	first  []*request // of UpdateFirst
	queue  []*request // of Update
	stream stream
	closed bool

	turn   chan struct{} // capacity 1: full while somebody commits
	leader chan struct{} // capacity 1: full while an Update waits for the turn, on behalf of all that are queued

	lines lineChanges

	unreadable map[string]bool // records met and skipped, by what was wrong; guarded by mu

	damage atomic.Pointer[CorruptError] // set once damage was found; after that nothing is read or written

	// Fault, for tests, makes an access to the file fail with its error, to show that no failed access counts as done. Nil
	// fails none.
	Fault func() error
}

// Open opens the data file at path, creating it (mode 0600) and its folder (mode 0700) if necessary.
//
// For a file that it must not use it returns [ErrInUse], [ErrNewer] or [ErrCorrupt], without having changed it. The caller
// decides what to do about a damaged file, see [SetAside]. Open notices a file that is empty, truncated, not a bbolt file or
// not Countersign's; two damaged meta pages; a damaged root or list of free pages. A damaged page elsewhere is noticed when
// it is reached: then View and Update return ErrCorrupt.
func Open(path string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	opts.LockTimeout = cmp.Or(opts.LockTimeout, 150*time.Millisecond)
	opts.compactGain, opts.compactMost = cmp.Or(opts.compactGain, compactGain), cmp.Or(opts.compactMost, compactMost)
	if err := prepareFolder(path, opts.Log); err != nil {
		return nil, err
	}
	if err := createIfMissing(path, opts); err != nil {
		return nil, fmt.Errorf("create data file %s: %w", path, err)
	}
	s := &Store{
		path:   path,
		now:    opts.Now,
		log:    opts.Log,
		turn:   make(chan struct{}, 1),
		leader: make(chan struct{}, 1),
	}
	if err := s.openFile(opts.LockTimeout); err != nil {
		return nil, err
	}
	if opts.Compact {
		if err := s.compact(opts); err != nil {
			return nil, err
		}
	}
	if err := s.db.View(func(tx *bolt.Tx) error { s.lines.before = uint64(tx.ID()); return nil }); err != nil {
		return nil, fmt.Errorf("open data file: %w", err)
	}
	return s, nil
}

// prepareFolder creates the folder, or makes an existing one private.
func prepareFolder(path string, log *slog.Logger) error {
	folder := filepath.Dir(path)
	err := private.Folder(folder)
	if errors.Is(err, private.ErrStaysOpen) {
		log.Warn("the data folder could not be made private", "folder", folder, "err", err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("create data folder: %w", err)
	}
	return nil
}

// openFile locks and checks the file. On failure it releases everything.
func (s *Store) openFile(wait time.Duration) (err error) {
	defer func() {
		if err != nil {
			s.release()
		}
	}()
	err = s.guard(func() error {
		if err := s.inspect(wait); err != nil {
			return err
		}
		return s.lockFile(wait)
	})
	if err != nil {
		return err
	}
	if err := disk.Anchor(s.path); err != nil { // whoever created it may have been killed before its name was durable
		return fmt.Errorf("make the name of the data file durable: %w", err)
	}
	if err := private.Files(s.path); err != nil {
		s.log.Warn("the data file could not be made private", "path", s.path, "err", err)
	}
	return nil
}

// lockFile opens the file for this process alone. If the file was replaced meanwhile, it starts waiting again.
func (s *Store) lockFile(wait time.Duration) error {
	for range 3 {
		db, err := s.bolt(&bolt.Options{Timeout: wait, FreelistType: bolt.FreelistMapType})
		if err != nil {
			return err
		}
		s.db = db
		owns, err := s.ownsName()
		if err != nil {
			return fmt.Errorf("open data file: %w", err)
		}
		if owns {
			return nil
		}
		if err := s.release(); err != nil {
			return fmt.Errorf("open data file: %w", err)
		}
		s.db, s.file = nil, nil
	}
	return fmt.Errorf("open %s: %w", s.path, ErrInUse)
}

// inspect looks for damage before bbolt may write. On Windows bbolt immediately extends a file to the size of its memory
// map: a truncated file would then no longer be recognised, nor unchanged.
func (s *Store) inspect(wait time.Duration) (err error) {
	db, err := s.bolt(&bolt.Options{Timeout: wait, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { // also when guard catches a panic
		err = errors.Join(err, db.Close())
		s.file = nil
	}()
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	return db.View(func(tx *bolt.Tx) error {
		if tx.Size() > info.Size() {
			return s.corrupt(fmt.Sprintf("truncated: %d bytes of %d", info.Size(), tx.Size()))
		}
		return checkSchema(tx, s.path)
	})
}

// bolt opens the file and sets s.file.
func (s *Store) bolt(o *bolt.Options) (*bolt.DB, error) {
	o.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		// Without O_CREATE: a file that disappeared meanwhile must not come back empty.
		f, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
		if err != nil {
			return nil, err
		}
		// bbolt would treat an empty file as a new one. createIfMissing never leaves one behind.
		if info, err := f.Stat(); err != nil || info.Mode().IsRegular() && info.Size() < minFileSize {
			if err == nil {
				err = s.corrupt(fmt.Sprintf("only %d bytes", info.Size()))
			}
			return nil, errors.Join(err, f.Close())
		}
		s.file = f
		return f, nil
	}
	db, err := bolt.Open(s.path, 0o600, o)
	if err != nil {
		return nil, s.openError(err)
	}
	return db, nil
}

// minFileSize is the size of the smallest file that bbolt creates: four pages.
const minFileSize = 16 << 10

func (s *Store) openError(err error) error {
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return fmt.Errorf("open %s: %w", s.path, ErrInUse)
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum), errors.Is(err, bolterrors.ErrVersionMismatch):
		return s.corrupt(err.Error())
	}
	if errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("open data file: %w", err)
}

func (s *Store) corrupt(reason string) *CorruptError {
	return &CorruptError{Path: s.path, Reason: reason}
}

// release closes the file. After damage bbolt may hold its own locks for ever, so its Close cannot be relied on; closing its
// file releases the lock that other processes see.
func (s *Store) release() error {
	if s.db != nil && s.damage.Load() == nil {
		return s.db.Close()
	}
	if s.file != nil {
		return s.file.Close()
	}
	return nil
}

// Path is the data file's path, as given to Open.
func (s *Store) Path() string { return s.path }

// View runs fn on the last committed state. What fn reads from tx must not be used after it returns, except for the values
// that the typed methods return. fn must not call Update or View, and should be quick: the file cannot grow while it runs.
func (s *Store) View(fn func(*Tx) error) error {
	if err := s.usable(); err != nil {
		return err
	}
	err := s.guard(func() error {
		return s.db.View(func(b *bolt.Tx) error { return s.newTx(b).do(fn) })
	})
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

func (s *Store) noteUnreadable(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.unreadable[err.Error()] {
		s.log.Error("a record cannot be read and is left out", "err", err)
		if s.unreadable == nil {
			s.unreadable = map[string]bool{}
		}
		s.unreadable[err.Error()] = true
	}
}

// Unreadable is the number of records that could not be read so far and were skipped. They stay in the file unchanged.
func (s *Store) Unreadable() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unreadable)
}

// usable returns why the store cannot be used, or nil.
func (s *Store) usable() error {
	if d := s.damage.Load(); d != nil {
		return d
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return nil
}

// Close lets the queued updates finish, waits for running Views and closes the file. Later calls return nil.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	s.turn <- struct{}{}
	s.commitQueues(nil, &s.first, &s.queue)
	s.turn <- struct{}{} // waits for the last commit
	defer func() { <-s.turn }()
	if !first {
		return nil
	}
	if err := s.release(); err != nil {
		return fmt.Errorf("close data file: %w", err)
	}
	s.log.Debug("data file closed", "path", s.path)
	return nil
}

// SetAside renames a damaged data file so that a new one can take its place, and returns its new name, which contains the
// time. It never deletes or overwrites anything.
func SetAside(path string, now time.Time) (string, error) {
	stamp := now.UTC().Format("20060102-150405")
	for n := 1; ; n++ {
		to := fmt.Sprintf("%s.damaged-%s", path, stamp)
		if n > 1 {
			to = fmt.Sprintf("%s-%d", to, n)
		}
		err := disk.RenameNew(path, to)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil && !errors.Is(err, disk.ErrUnflushed) { // if a power failure undoes the rename, the file is set aside again
			return "", fmt.Errorf("set aside %s: %w", path, err)
		}
		return to, nil
	}
}

// createIfMissing creates an empty data file under a temporary name and renames it when it is complete. So an existing data
// file is always complete, and an empty one is damage rather than a beginning.
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
	return nil // another process was faster, and its file is used
}

// fill makes temp an empty data file.
func fill(temp string, opts Options) error {
	db, err := bolt.Open(temp, 0o600, &bolt.Options{Timeout: opts.LockTimeout})
	if err != nil {
		return err
	}
	return errors.Join(db.Update(createBuckets), db.Close())
}

// The buckets. Records are stored in order of time, under "stamp sequence" (16 bytes), so that lists need no look-ups; a
// bucket of identifiers maps to these rows.
const (
	bucketMeta   = "meta"   // "schema": decimal
	bucketCounts = "counts" // counter name -> int64, big-endian

	bucketEvents        = "events"         // row -> Event
	bucketEventIDs      = "event_ids"      // id -> row, or what remains of a forgotten event, see forgotten
	bucketEventsPending = "events_pending" // row
	bucketEventsOld     = "events_old"     // Event.Day as four bytes, row: events that can eventually be forgotten

	bucketPackages        = "packages"         // row -> Package
	bucketPackageIDs      = "package_ids"      // id -> row
	bucketPackageLines    = "package_lines"    // row -> PackageLine
	bucketPackagesDue     = "packages_due"     // stamp of NextCheck, row
	bucketPackagesRefused = "packages_refused" // stamp of Refused, row: signed by everyone, and not planned
	bucketPackagesByDraft = "packages_drafts"  // draft id -> row
	bucketWithdrawalsDue  = "withdrawals_due"  // stamp of Withdrawal.NextTry, row: pending
	bucketJobs            = "jobs"             // Job.Key -> Job
	bucketJobsDue         = "jobs_due"         // stamp of NextTry, Job.Key
	bucketJobsRefused     = "jobs_refused"     // stamp of Refused, Job.Key: not done
	bucketJobsFailed      = "jobs_failed"      // stamp of Planned, Job.Key
	bucketJobsUnproven    = "jobs_unproven"    // stamp of Done, Job.Key
	bucketJobsWrong       = "jobs_wrong"       // stamp of Done, Job.Key
	bucketJobsDone        = "jobs_done"        // stamp of Done, Job.Key: the newest mostRecent
	bucketTargets         = "targets"          // targetKey -> Job.Key
	bucketDrafts          = "drafts"           // row -> Draft
	bucketDraftIDs        = "draft_ids"        // id -> row
	bucketDraftStates     = "drafts_by_state"  // state, 0, row
	bucketDraftsDue       = "drafts_due"       // stamp of NextTry, row
	bucketActivity        = "activity"         // row -> Activity
	bucketOnce            = "facts"            // hash of a fact
	bucketSealed          = "sealed"           // name -> bytes
	bucketDocs            = "docs"             // name -> JSON
	bucketLog             = "log"              // number -> line
	bucketLogPacked       = "log_packed"       // number of the first -> packed lines
	bucketLogHashes       = "log_hashes"       // level, number -> hash of a part of the tree
)

// schema is the version of this layout. Before the first release it stays 1 and may change.
const schema = 1

var keySchema = []byte("schema")

// createBuckets turns an empty file into one of this schema.
func createBuckets(tx *bolt.Tx) error {
	for _, name := range []string{
		bucketMeta, bucketCounts,
		bucketEvents, bucketEventIDs, bucketEventsPending, bucketEventsOld,
		bucketPackages, bucketPackageIDs, bucketPackageLines, bucketPackagesDue, bucketPackagesRefused, bucketPackagesByDraft, bucketWithdrawalsDue,
		bucketJobs, bucketJobsDue, bucketJobsRefused, bucketJobsFailed, bucketJobsDone, bucketJobsUnproven, bucketJobsWrong, bucketTargets,
		bucketDrafts, bucketDraftIDs, bucketDraftStates, bucketDraftsDue,
		bucketActivity, bucketOnce, bucketSealed, bucketDocs,
		bucketLog, bucketLogPacked, bucketLogHashes,
	} {
		if _, err := tx.CreateBucket([]byte(name)); err != nil {
			return fmt.Errorf("create bucket %s: %w", name, err)
		}
	}
	return tx.Bucket([]byte(bucketMeta)).Put(keySchema, []byte(strconv.Itoa(schema)))
}

// checkSchema rejects a file of a newer schema, and one that is not ours.
func checkSchema(tx *bolt.Tx, path string) error {
	b := tx.Bucket([]byte(bucketMeta))
	if b == nil {
		return &CorruptError{Path: path, Reason: "not a Countersign data file"}
	}
	v := b.Get(keySchema)
	have, err := strconv.Atoi(string(v))
	switch {
	case err != nil || have < schema:
		return &CorruptError{Path: path, Reason: fmt.Sprintf("schema version %q", v)}
	case have > schema:
		return fmt.Errorf("%w: %s has schema %d, this version knows %d", ErrNewer, path, have, schema)
	}
	return nil
}

func encodeCount(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func decodeCount(v []byte) int64 {
	if len(v) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(v))
}

// errUnreadable marks a record that exists but cannot be decoded. guard turns it into a CorruptError, which includes the
// path.
var errUnreadable = errors.New("unreadable record")

// guard runs fn and turns all signs of a damaged file into a CorruptError: bbolt's assertions, which are panics; reads past
// the end of the mapped file, which are memory faults; and records that cannot be decoded. It passes on the caller's own
// panics.
func (s *Store) guard(fn func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(old)
	defer func() {
		value := recover()
		if value == nil {
			return
		}
		if known, ok := value.(damaged); ok {
			value = known.value
		} else if !isFault(value) && !inBolt() {
			panic(value)
		}
		damage := s.corrupt(fmt.Sprint(value))
		s.log.Error("the data file is damaged", "path", s.path, "reason", damage.Reason)
		// From now on bbolt may hold its locks for ever, and further writes could spread the damage.
		s.damage.CompareAndSwap(nil, damage)
		err = damage
	}()
	err = fn()
	if errors.Is(err, errUnreadable) {
		return s.corrupt(err.Error())
	}
	return err
}

// damaged wraps a panic that was recognised as damage, on its way to guard.
type damaged struct{ value any }

// isFault distinguishes an invalid memory access (past the end of the file) from a nil pointer.
func isFault(value any) bool {
	fault, ok := value.(interface {
		runtime.Error
		Addr() uintptr
	})
	return ok && fault.Addr() >= 4096
}

// inBolt reports whether the panic being recovered was raised in bbolt itself. Only a deferred function may call it.
func inBolt() bool {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	panicked := false
	for {
		frame, more := frames.Next()
		switch {
		case frame.Function == "runtime.gopanic" || frame.Function == "runtime.sigpanic":
			panicked = true
		case panicked && !strings.HasPrefix(frame.Function, "runtime."):
			return strings.HasPrefix(frame.Function, "go.etcd.io/bbolt")
		}
		if !more {
			return false
		}
	}
}

var (
	// ErrInUse means that another process has the file open.
	ErrInUse = message.Error(message.DataInUse(), nil)
	// ErrGone means that the open file is no longer at its path, where the next start would look.
	ErrGone = message.Error(message.DataGone(), nil)

	// ErrNewer means that a newer version wrote the file. It was not changed.
	ErrNewer = message.Error(message.DataNewer(), nil)

	// ErrCorrupt means that the file is damaged; the error is a [*CorruptError].
	ErrCorrupt = errors.New("the data file is damaged")

	// ErrClosed means that the store has been closed.
	ErrClosed = errors.New("the data file is closed")

	// ErrRecord means that one record cannot be read, although the file is otherwise fine. It stays as it is; lists skip it
	// (see [Store.Unreadable]).
	ErrRecord = errors.New("a record cannot be read")

	// ErrUnfit means that one record cannot be stored: it cannot be encoded, or is too large.
	ErrUnfit = errors.New("a record cannot be kept")

	// ErrNotFound means that a record to change does not exist.
	ErrNotFound = errors.New("no such record")

	// ErrTargetTaken means that another job has reserved the same file name.
	ErrTargetTaken = errors.New("the file name is reserved by another document")

	// ErrBadID means that an identifier is empty or not UTF-8.
	ErrBadID = errors.New("the identifier cannot be used")
)

// OfOneRecord reports whether err concerns a single record, and so says nothing about the file or other records.
func OfOneRecord(err error) bool {
	for _, own := range []error{ErrRecord, ErrUnfit, ErrNotFound, ErrTargetTaken, ErrBadID} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// CorruptError says which file is damaged and how that was noticed. errors.Is(err, ErrCorrupt) holds.
type CorruptError struct {
	Path   string
	Reason string // for the log: what was wrong with which part
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%v: %s: %s", ErrCorrupt, e.Path, e.Reason)
}

// Is makes errors.Is(err, ErrCorrupt) hold.
func (e *CorruptError) Is(target error) bool { return target == ErrCorrupt }

func (e *CorruptError) Message() message.Message { return message.DataDamaged(e.Path) }
