package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office/filename"
)

// Folder is an open folder, the one the office chose. It refers to the folder itself, not to its path: a folder that is
// moved is followed, and one that is deleted and created again is not found. Opening costs next to nothing, so open it anew
// for each batch of work. Its methods may be called from several goroutines.
type Folder struct {
	at  *disk.Dir
	dir string

	// Steps, when set, is called on the saving goroutine after each step of Save, with the target. It tells a caller when
	// the body has been read, and lets a test kill the process there to see what a crash at that point leaves behind. Set it
	// before the first Save.
	Steps func(Step, string)

	// Syncs limits concurrent flushes; several folders may share one. Set it before the first Save.
	Syncs *SyncLimiter

	// Cache, when set, lets Exists miss what was added to a folder within the last second, unless Save has met it. Set it before
	// the first call.
	Cache *DirCache

	// Set by tests, see bound.
	largest int64
	free    func(dir *os.File) (uint64, bool)
}

// OpenFolder opens an existing folder by its absolute path, and makes the path to it durable. It fails with ErrMissing,
// ErrNotFolder or ErrReadOnly; ErrReadOnly also when the folder can be read but nothing can be saved in it.
func OpenFolder(dir string) (*Folder, error) {
	if !filepath.IsAbs(dir) {
		return nil, &Error{Kind: ErrNotFolder, Folder: dir, Err: errors.New("not an absolute path")}
	}
	info, err := disk.Stat(dir)
	if err != nil {
		return nil, &Error{Kind: KindOf(err), Folder: dir, Err: err}
	}
	if !info.IsDir() {
		return nil, &Error{Kind: ErrNotFolder, Folder: dir}
	}
	at, err := disk.OpenDir(dir)
	if err != nil {
		return nil, &Error{Kind: KindOf(err), Folder: dir, Err: err}
	}
	return ready(at)
}

// In is OpenFolder for a folder that is already open.
func In(dir *disk.Dir) (*Folder, error) {
	at, err := dir.Sub(".")
	if err != nil {
		return nil, &Error{Kind: KindOf(err), Folder: dir.Path(), Err: err}
	}
	return ready(at)
}

// ready makes a Folder of a directory in which documents can be saved, and closes one in which they cannot.
func ready(at *disk.Dir) (*Folder, error) {
	dir := at.Path()
	if err := writable(dir); err != nil {
		at.Close()
		return nil, &Error{Kind: ErrReadOnly, Folder: dir, Err: err}
	}
	if err := disk.Anchor(dir); err != nil {
		at.Close()
		return nil, &Error{Kind: KindOf(err), Folder: dir, Err: err}
	}
	return &Folder{at: at, dir: dir, Syncs: NewSyncLimiter(1), largest: largest, free: disk.Free}, nil
}

// Close closes the folder. Saves in progress fail.
func (f *Folder) Close() error { return f.at.Close() }

// Exists reports whether something is at rel, or at a name that macOS or Windows treats as the same: it ignores case and the
// ways to encode an accent. So files named after asking never become twins. A folder or a link counts, too.
func (f *Folder) Exists(rel string) (bool, error) {
	if !filename.Safe(rel) {
		return false, f.fail(rel, ErrBadName, nil)
	}
	if _, err := f.at.Find(rel); err == nil {
		return true, nil
	}
	// On Linux several folders may fold to the same name; a name is taken when it is taken in any of them.
	parents := []string{"."}
	for element := range strings.SplitSeq(rel, "/") {
		var next []string
		for _, parent := range parents {
			names, err := f.alike(parent, element)
			if err != nil {
				return false, f.because(rel, err)
			}
			for _, name := range names {
				next = append(next, path.Join(parent, name))
			}
		}
		parents = next
	}
	return len(parents) > 0, nil
}

// Twin reports whether macOS or Windows would treat an existing name as rel, although no name here equals rel exactly.
func (f *Folder) Twin(rel string) (bool, error) {
	if !filename.Safe(rel) {
		return false, f.fail(rel, ErrBadName, nil)
	}
	taken, err := f.Exists(rel)
	if taken { // asked afterwards: the very name may just have been given
		_, exact := f.at.Find(rel)
		taken = exact != nil
	}
	return taken, err
}

// alike lists the names in a subfolder that fold to the same as name. What is not a folder has none.
func (f *Folder) alike(sub, name string) (found []string, err error) {
	held, err := f.lookAt(sub)
	if err != nil {
		return nil, err
	}
	for _, entry := range held.alike[filename.Folded(name)] { // skips entries that have been removed since
		if _, gone := f.at.Find(path.Join(sub, entry)); !errors.Is(gone, fs.ErrNotExist) {
			found = append(found, entry)
		}
	}
	return found, nil
}

// each calls do with every name in a subfolder. What is not a folder has none.
func (f *Folder) each(sub string, do func(entry string)) error {
	dir, err := f.at.Sub(sub)
	if sub != "." && (errors.Is(err, fs.ErrNotExist) || isNotFolder(err)) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		names, err := dir.File().Readdirnames(1024)
		for _, entry := range names {
			do(entry)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Matches reports whether there is a regular file at rel with this size in bytes and this digest (see Saved). Before it
// returns true, it flushes the file and its folders: the save that wrote it may have been interrupted between the rename and
// the last flush.
func (f *Folder) Matches(rel string, size int64, digest string) (bool, error) {
	if !filename.Safe(rel) {
		return false, f.fail(rel, ErrBadName, nil)
	}
	same, err := f.matches(rel, size, digest)
	if err != nil {
		return false, f.because(rel, err)
	}
	return same, nil
}

// openSized opens the regular file of that size at rel; it returns nil when there is none.
func (f *Folder) openSized(rel string, size int64) (*os.File, error) {
	at, name, err := f.at.Parent(rel)
	if err == nil {
		defer at.Close()
		var info fs.FileInfo
		if info, err = at.Lstat(name); err == nil {
			if !info.Mode().IsRegular() || info.Size() != size {
				return nil, nil
			}
			return at.Open(name, info, 0)
		}
	}
	if errors.Is(err, fs.ErrNotExist) || isNotFolder(err) {
		return nil, nil
	}
	return nil, err
}

func (f *Folder) matches(rel string, size int64, digest string) (bool, error) {
	file, err := f.openSized(rel, size)
	if err != nil || file == nil {
		return false, err
	}
	defer file.Close()
	sum := newDigest()
	n, err := io.Copy(sum, file)
	if err != nil {
		return false, err
	}
	if n != size || digestText(sum) != digest {
		return false, nil
	}
	if err := flushRead(file); err != nil {
		return false, err
	}
	return true, f.flushFolders(path.Dir(rel))
}

// flushFolders flushes a subfolder and every folder above it, up to the chosen one.
func (f *Folder) flushFolders(sub string) error {
	for {
		dir, err := f.at.Sub(sub)
		if err != nil {
			return err
		}
		err = dir.Flush()
		dir.Close()
		if err != nil || sub == "." {
			return err
		}
		sub = path.Dir(sub)
	}
}

// fail makes the error for one file, or for the folder itself when rel is ".".
func (f *Folder) fail(rel string, kind, cause error) error {
	if rel == "." {
		rel = ""
	}
	return &Error{Kind: kind, Folder: f.dir, File: rel, Err: cause}
}

// because makes the error for one file from what the system reported.
func (f *Folder) because(rel string, cause error) error {
	return f.fail(rel, KindOf(cause), cause)
}

// What can keep a document from being saved. Test for these with errors.Is; the errors returned are of type *[Error].
var (
	ErrExists    = errors.New("a file of that name is there already")
	ErrFull      = errors.New("the disk is full")                     // or the quota is used up
	ErrMissing   = errors.New("the folder is missing")                // or its drive or share is not connected
	ErrNotFolder = errors.New("not a folder")                         // or not an absolute path
	ErrReadOnly  = errors.New("the folder may not be written")        // permissions, or a read-only disk
	ErrOutside   = errors.New("a link instead of a subfolder")        // it may lead anywhere, so it is not followed
	ErrBadName   = errors.New("not a name that this program makes")   // the target is not a safe relative path
	ErrNotPDF    = errors.New("not a PDF document")                   // no %PDF- within the first KiB
	ErrShort     = errors.New("fewer bytes came than were announced") // see Error.Got and Error.Want
	ErrLong      = errors.New("more bytes came than were announced")  // see Error.Want; or more than any document has
	ErrNoEnd     = errors.New("the end of the document is missing")   // or it never had one, see Request.Before
	ErrDownload  = errors.New("the download broke off")               // the body's own error is wrapped too
	ErrChanged   = errors.New("the file was changed meanwhile")       // while it was being copied
	ErrUnread    = errors.New("the file could not be read")           // the source of a copy
)

// Error says what went wrong with which file or folder.
type Error struct {
	Kind      error  // one of the Err values above, or nil when the cause is none of them
	Folder    string // the absolute folder
	File      string // the target relative to Folder, empty when the folder itself is meant
	Got, Want int64  // bytes, for ErrShort and ErrLong
	Err       error  // the cause, nil when Kind says everything
}

// Error is for logs: it names paths and the cause.
func (e *Error) Error() string {
	what := "open folder " + e.Folder
	if e.File != "" {
		what = "save " + e.File + " in " + e.Folder
	}
	switch {
	case e.Kind == nil:
		return fmt.Sprintf("%s: %v", what, e.Err)
	case errors.Is(e.Kind, ErrShort), errors.Is(e.Kind, ErrLong):
		return fmt.Sprintf("%s: %v: %d of %d", what, e.Kind, e.Got, e.Want)
	case e.Err == nil:
		return fmt.Sprintf("%s: %v", what, e.Kind)
	default:
		return fmt.Sprintf("%s: %v: %v", what, e.Kind, e.Err)
	}
}

// Unwrap gives errors.Is and errors.As both the kind and the cause.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Kind, e.Err}, func(err error) bool { return err == nil })
}

// Message is the error for people: what happened, to which file or folder.
func (e *Error) Message() message.Message {
	folder, file := filepath.Base(e.Folder), path.Base(e.File)
	switch e.Kind {
	case ErrExists:
		return message.FileThere(file, folder)
	case ErrFull:
		return message.DiskFull(folder)
	case ErrMissing:
		if e.File == "" {
			return message.FolderMissing(folder)
		}
	case ErrNotFolder:
		if e.File != "" {
			return message.SubfolderIsFile(file, folder)
		}
		return message.NotAFolder(folder)
	case ErrReadOnly:
		if e.File == "" {
			return message.FolderForbidden(folder)
		}
		if sub := path.Dir(e.File); sub != "." {
			return message.FolderForbidden(sub)
		}
	case ErrOutside:
		return message.LeadsOut(file, folder)
	case ErrBadName:
		return message.NoFileName(file)
	case ErrNotPDF:
		return message.NotAPDF(file)
	case ErrNoEnd:
		return message.NoEnd(file)
	case ErrShort, ErrLong, ErrDownload:
		return message.DownloadInterrupted(file)
	}
	if e.File == "" {
		return message.FolderUnusable(folder)
	}
	return message.NotSaved(file, folder)
}

// Message is the text for people of any error of this package, empty for nil.
func Message(err error) message.Message {
	if err == nil {
		return message.Message{}
	}
	if errors.Is(err, context.Canceled) {
		return message.SavingStopped()
	}
	if m, ok := message.Of(err); ok {
		return m
	}
	return message.DocumentNotSaved()
}

func isAny(err error, several ...error) bool {
	return slices.ContainsFunc(several, func(one error) bool { return errors.Is(err, one) })
}

// Refuses reports whether err, from one of f's methods, concerns the folder and not one file or subfolder: no other file can be
// saved in it either.
func (f *Folder) Refuses(err error) bool {
	var e *Error
	return errors.Is(err, ErrFull) || isAny(err, ErrMissing, ErrReadOnly, ErrNotFolder) &&
		(!errors.As(err, &e) || e.File == "" || f.Try() != nil)
}

// KindOf classifies what the system reports. It checks for a full disk before missing permission, because a full disk is the
// temporary one.
func KindOf(err error) error {
	switch {
	case disk.Full(err):
		return ErrFull
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	case errors.Is(err, disk.ErrNotFolder):
		return ErrNotFolder
	case errors.Is(err, disk.ErrLink):
		return ErrOutside
	case isMissing(err), errors.Is(err, fs.ErrNotExist), errors.Is(err, os.ErrDeadlineExceeded):
		return ErrMissing
	case isReadOnly(err), errors.Is(err, fs.ErrPermission):
		return ErrReadOnly
	case isNotFolder(err):
		return ErrNotFolder
	default:
		return nil
	}
}

// SyncLimiter limits how many flushes run at once. More of them do not make a disk faster, and make everybody else wait
// longer for it, such as the caller's database. Files renamed in one folder while it is being flushed share its next flush.
type SyncLimiter struct {
	turns chan struct{}
	flush func(folder *os.File) error

	mu      sync.Mutex
	folders []*folderFlush // not finished yet
}

// folderFlush is one flush of a folder. It makes durable every name that was there when it began.
type folderFlush struct {
	folder fs.FileInfo
	begun  bool
	done   chan struct{}
	err    error // set once done is closed
}

// NewSyncLimiter allows atOnce flushes at the same time.
func NewSyncLimiter(atOnce int) *SyncLimiter {
	return &SyncLimiter{turns: make(chan struct{}, atOnce), flush: disk.Flush}
}

// file waits for a free slot, or until ctx ends, and runs flush.
func (q *SyncLimiter) file(ctx context.Context, flush func() error) error {
	select {
	case q.turns <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-q.turns }()
	return flush()
}

// names returns when every name that is in the folder now is durable.
func (q *SyncLimiter) names(dir *os.File) error {
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	own, others := q.join(info)
	if own == nil {
		<-others.done
		return others.err
	}
	if others != nil {
		<-others.done
	}
	q.turns <- struct{}{}
	q.mu.Lock()
	own.begun = true // names added from now on may be missed by this flush
	q.mu.Unlock()
	own.err = q.flush(dir)
	<-q.turns
	q.mu.Lock()
	q.folders = slices.DeleteFunc(q.folders, func(f *folderFlush) bool { return f == own })
	q.mu.Unlock()
	close(own.done)
	return own.err
}

// join returns in others a flush of the folder that has not begun, which covers the caller's names, too. If there is none it
// returns a new one in own, for the caller to run, after others if one is running.
func (q *SyncLimiter) join(folder fs.FileInfo) (own, others *folderFlush) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range q.folders {
		if os.SameFile(f.folder, folder) {
			others = f
		}
	}
	if others != nil && !others.begun {
		return nil, others
	}
	own = &folderFlush{folder: folder, done: make(chan struct{})}
	q.folders = append(q.folders, own)
	return own, others
}

// DirCache remembers for a moment which names folders hold. Without it, saving many files at once would read all names of
// their folder for each of them. A file that appears in between may be missed, as it may be during a download; the rename
// still never replaces anything. A folder that does not answer holds up no other.
type DirCache struct {
	mu      sync.Mutex
	folders map[string]*look
}

type look struct {
	mu    sync.Mutex // held while the names are being read
	names *names
}

type names struct {
	alike   map[string][]string // names by their folded form
	numbers []int               // that any of the names ends with, see filename.Numbered; ascending
}

// cacheTime is how long cached names stay valid.
const cacheTime = time.Second

// in returns the names in a folder, at most cacheTime old.
func (l *DirCache) in(folder string, read func() (*names, error)) (*names, error) {
	known := l.of(folder)
	known.mu.Lock()
	defer known.mu.Unlock()
	if known.names != nil {
		return known.names, nil
	}
	held, err := read()
	if err != nil {
		l.forget(folder, known)
		return nil, err
	}
	known.names = held
	time.AfterFunc(cacheTime, func() { l.forget(folder, known) })
	return held, nil
}

// forget drops a folder's cached names if they are still these, nil for any: those of a year's files, or of a folder for each
// package, must not stay in memory until the next lookup.
func (l *DirCache) forget(folder string, old *look) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if old == nil || l.folders[folder] == old {
		delete(l.folders, folder)
	}
}

// of returns the cache entry of a folder, and makes an empty one if there is none.
func (l *DirCache) of(folder string) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.folders[folder]
	if known == nil {
		if l.folders == nil {
			l.folders = map[string]*look{}
		}
		known = &look{}
		l.folders[folder] = known
	}
	return known
}

// lookAt returns the names in a subfolder. The result must not be changed.
func (f *Folder) lookAt(sub string) (*names, error) {
	read := func() (*names, error) {
		held := &names{alike: map[string][]string{}}
		err := f.each(sub, func(entry string) {
			key := filename.Folded(entry)
			held.alike[key] = append(held.alike[key], entry)
			if n := filename.Number(entry); n > 0 {
				held.numbers = append(held.numbers, n)
			}
		})
		slices.Sort(held.numbers)
		held.numbers = slices.Compact(held.numbers)
		return held, err
	}
	if f.Cache == nil {
		return read()
	}
	return f.Cache.in(f.key(sub), read)
}

// key is what the cache calls a subfolder.
func (f *Folder) key(sub string) string { return filepath.Join(f.dir, filepath.FromSlash(sub)) }

// forget drops what is remembered of a subfolder.
func (f *Folder) forget(sub string) {
	if f.Cache != nil {
		f.Cache.forget(f.key(sub), nil)
	}
}

// Series lists the existing files named rel, or rel with a number (filename.Numbered), in the order of the numbers. There
// may be gaps: people remove files.
func (f *Folder) Series(rel string) (found []string, err error) {
	if !filename.Safe(rel) {
		return nil, f.fail(rel, ErrBadName, nil)
	}
	sub := path.Dir(rel)
	held, err := f.lookAt(sub)
	if err != nil {
		return nil, f.because(rel, err)
	}
	for _, n := range append([]int{1}, held.numbers...) {
		name := filename.Numbered(rel, n)
		if len(held.alike[filename.Folded(path.Base(name))]) > 0 {
			found = append(found, name)
		}
	}
	return found, nil
}
