package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"countersign/internal/disk"
	"countersign/internal/private"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// Options adjust Open. The zero value is right for production.
type Options struct {
	Now         func() time.Time // the clock, for records that leave their time open; time.Now when nil
	Log         *slog.Logger     // nil discards
	LockTimeout time.Duration    // how long to wait for another process to let go; 150 ms when zero

	// Compact lets Open make a file smaller of which most is free. Where a file cannot be replaced while it is open, on
	// Windows, its lock is lost for a moment: the caller keeps other processes away from the folder, as package single
	// does.
	Compact     bool
	CompactTime time.Duration // how much longer Open may take for it; 10 s when zero
	compactGain int64         // so many bytes must be free, and as many as are in use; 32 MiB when zero
}

// Store is an open data file. All methods may be called from any goroutine.
//
// Whoever has the turn writes: the writer, a goroutine that Open starts and Close ends, or a caller that finds nobody else, see
// [Store.Update]. Reading happens on the caller's goroutine and sees the last commit.
type Store struct {
	path string
	now  func() time.Time
	log  *slog.Logger
	db   *bolt.DB
	file *os.File // bbolt's own, to let go of the lock when bbolt cannot

	mu     sync.Mutex
	first  []*request // see UpdateFirst
	queue  []*request
	closed bool
	wake   chan struct{} // capacity 1: there is something in queue, or closed
	done   chan struct{} // closed when the writer has ended

	turn chan struct{} // capacity 1: full while somebody commits
	line stream        // of whoever has the turn

	lines  lineChanges
	memory memory

	unreadable map[string]bool // records that were met and left out, by what was wrong; under mu

	damage atomic.Pointer[CorruptError] // set once damage was met; nothing is read or written after that
}

// Open opens the data file at path, creating it (mode 0600) and its folder (mode 0700) when there is none.
//
// It returns [ErrInUse], [ErrNewer] or [ErrCorrupt] for a file it must not use, and has not changed it then. What to
// do about a damaged file is the caller's decision, see [SetAside]. Noticed at once: a file that is empty, truncated,
// not a bbolt file or not Countersign's; two damaged meta pages; a damaged root or list of free pages. A damaged page
// in the middle is noticed when it is reached: View and Update then return ErrCorrupt.
func Open(path string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	if opts.LockTimeout == 0 {
		opts.LockTimeout = 150 * time.Millisecond
	}
	if opts.CompactTime == 0 {
		opts.CompactTime = compactTime
	}
	if opts.compactGain == 0 {
		opts.compactGain = compactGain
	}
	if err := prepareFolder(path, opts.Log); err != nil {
		return nil, err
	}
	if err := createIfMissing(path, opts); err != nil {
		return nil, fmt.Errorf("create data file %s: %w", path, err)
	}
	s := &Store{
		path: path,
		now:  opts.Now,
		log:  opts.Log,
		wake: make(chan struct{}, 1),
		done: make(chan struct{}),
		turn: make(chan struct{}, 1),
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
	go s.write()
	return s, nil
}

// prepareFolder makes the folder, or makes an existing one private.
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

// openFile locks and checks the file. On failure everything is let go again.
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
		if err := s.lockFile(wait); err != nil {
			return err
		}
		return checkSchema(s.db, s.path)
	})
	if err != nil {
		return err
	}
	if err := disk.Anchor(s.path); err != nil { // whoever made it may have been killed before
		return fmt.Errorf("make the name of the data file durable: %w", err)
	}
	if err := private.Files(s.path); err != nil {
		s.log.Warn("the data file could not be made private", "path", s.path, "err", err)
	}
	return nil
}

// lockFile opens the file for this process alone. The wait for a file that was replaced meanwhile begins anew.
func (s *Store) lockFile(wait time.Duration) error {
	for range 3 {
		db, err := bolt.Open(s.path, 0o600, &bolt.Options{
			Timeout:      wait,
			FreelistType: bolt.FreelistMapType,
			OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
				// Without O_CREATE: a file that vanished meanwhile must not come back empty.
				f, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
				if err != nil {
					return nil, err
				}
				s.file = f
				return f, nil
			},
		})
		if err != nil {
			return s.openError(err)
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

// inspect looks for damage before bbolt may write. On Windows bbolt makes a file as long as the memory it maps it to, at
// once: a truncated one would be neither recognised afterwards nor left as it was.
func (s *Store) inspect(wait time.Duration) (err error) {
	var file *os.File
	db, err := bolt.Open(s.path, 0o600, &bolt.Options{
		Timeout:  wait,
		ReadOnly: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (*os.File, error) {
			f, err := os.OpenFile(name, flag&^os.O_CREATE, mode)
			if err != nil {
				return nil, err
			}
			if err := s.checkSize(f); err != nil {
				return nil, errors.Join(err, f.Close())
			}
			file = f
			return f, nil
		},
	})
	if err != nil {
		return s.openError(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := checkFile(file); err != nil {
		return s.corrupt(err.Error())
	}
	return nil
}

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
	if f, openErr := os.Open(s.path); openErr == nil {
		defer f.Close()
		if damage := checkFile(f); damage != nil {
			return s.corrupt(damage.Error())
		}
	}
	return fmt.Errorf("open data file: %w", err)
}

// checkSize refuses an empty file, which bbolt would take for a new one. createIfMissing never leaves one behind.
func (s *Store) checkSize(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() && info.Size() < minFileSize {
		return s.corrupt(fmt.Sprintf("only %d bytes", info.Size()))
	}
	return nil
}

func (s *Store) corrupt(reason string) *CorruptError {
	return &CorruptError{Path: s.path, Reason: reason}
}

// release closes the file. After damage bbolt may hold its own locks for ever, so its Close cannot be trusted;
// closing its file frees the lock that other processes see.
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

// View runs fn on the last committed state. What fn reads from tx must not be used after it returns, except for the
// values that the typed methods return. fn must not call Update or View, and should be
// brief: while it runs, the file cannot grow.
func (s *Store) View(fn func(*Tx) error) error {
	if err := s.usable(); err != nil {
		return err
	}
	err := s.guard(func() error {
		return s.db.View(func(b *bolt.Tx) error { return fn(s.newTx(b)) })
	})
	if errors.Is(err, bolterrors.ErrDatabaseNotOpen) {
		return ErrClosed
	}
	return err
}

// noteUnreadable notes a record that is left out.
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

// Unreadable is how many records were met so far that cannot be read and are left out. They stay in the file as they are.
func (s *Store) Unreadable() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.unreadable)
}

// usable reports why the store cannot be used, or nil.
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
	s.signal()
	<-s.done
	if !first {
		return nil
	}
	if err := s.release(); err != nil {
		return fmt.Errorf("close data file: %w", err)
	}
	s.log.Debug("data file closed", "path", s.path)
	return nil
}

// SetAside renames a damaged data file so that a fresh one can take its place, and returns its new name, which
// carries the time. It never deletes or overwrites anything.
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
		if err != nil && !errors.Is(err, disk.ErrUnflushed) { // should it be back after a power failure, it is set aside again
			return "", fmt.Errorf("set aside %s: %w", path, err)
		}
		return to, nil
	}
}
