// Package disk names files durably: a power failure takes no name back. It is the one place of the program that renames
// files and makes folders. When a function here returns, the name is on the disk and stands for the complete file. The
// package also tells whether one place lies inside another, whatever links lead there.
//
// What it relies on, beyond what File.Sync does for the bytes of a file (fsync(2); F_FULLFSYNC on macOS; FlushFileBuffers on
// Windows, which writes the file's bytes, its length and its entry, and flushes the drive's cache too):
//   - POSIX promises for a name that was created, renamed or removed only that fsync of its folder brings it to the disk
//     (fsync(2), NOTES). A folder is itself a name in the folder above, so that one is flushed too, and so on upwards. A
//     rename is atomic.
//   - Windows cannot flush a folder. MoveFileEx with MOVEFILE_WRITE_THROUGH returns when the rename is on the disk. NTFS
//     journals name changes in order, so whatever was created before is on the disk then, too, and a folder needs no flush
//     of its own. Without the flag, which os.Rename does not set, the system writes the journal when it likes. FAT, as on a
//     memory stick, has no journal and guarantees nothing.
//   - A network share behaves as its server does.
//
// It must not know what the files hold. Its functions may be called from several goroutines.
package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

var (
	// ErrLink is a link where a folder or a file was expected. Links are never followed.
	ErrLink = errors.New("a link instead of a folder or file")
	// ErrNotFolder is something other than a folder where a folder was expected.
	ErrNotFolder = errors.New("not a folder")
	// ErrNotFile is a folder, a pipe or a device where a file was expected.
	ErrNotFile = errors.New("not a file")
	// ErrSwapped means that another file or folder has replaced the one that was checked.
	ErrSwapped = errors.New("another file or folder has taken its place")
)

// Dir is an open folder in which others may create, swap and remove files and links at any moment. It is the only way to
// reach what lies in such a folder: every name is that of a direct entry, no link below the opened folder is followed, and
// what is opened is what was checked. A folder that is renamed stays the same Dir. Safe for concurrent use.
type Dir struct {
	root *os.Root
	self *os.File // the folder itself, for renames and flushes
	path string   // under which it was opened
}

// OpenDir opens a folder by its path. Links in the path are followed: whoever chose the folder chose them, too.
func OpenDir(path string) (*Dir, error) {
	return Ask(path, func() (*Dir, error) {
		root, err := os.OpenRoot(path)
		if err != nil {
			return nil, err
		}
		return newDir(root, path)
	}, func(d *Dir) { d.Close() })
}

// Real is the path of a folder with all links resolved.
func Real(path string) (string, error) {
	return Ask(path, func() (string, error) { return filepath.EvalSymlinks(path) }, nil)
}

// OpenReal opens the folder at a path that Real returned. It fails with ErrSwapped if the path now contains a link: anybody
// who may write to a folder above could have put one there.
func OpenReal(path string) (*Dir, error) {
	d, err := OpenDir(path)
	if err != nil {
		return nil, err
	}
	now, err := Real(path)
	if err == nil && now != path {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrSwapped}
	}
	if err == nil {
		var seen fs.FileInfo
		if seen, err = os.Lstat(path); err == nil { // a folder opened through a link is a different one
			err = d.is(seen)
		}
	}
	if err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func newDir(root *os.Root, path string) (*Dir, error) {
	self, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &Dir{root, self, path}, nil
}

func (d *Dir) Close() error { return errors.Join(d.self.Close(), d.root.Close()) }

// Path is where the folder was when it was opened. Something else may lie there by now.
func (d *Dir) Path() string { return d.path }

// File is the folder itself, for asking the system about its disk. Close closes it.
func (d *Dir) File() *os.File { return d.self }

// Sub opens a subfolder; sub has forward slashes, and "." is the folder itself. Everything on the way must be a folder and
// no link.
func (d *Dir) Sub(sub string) (*Dir, error) {
	return d.walk(sub, func(at *Dir, name string) (fs.FileInfo, error) { return at.Lstat(name) })
}

// Make is Sub, but creates missing folders and makes their names durable. It never creates d itself: a missing folder may
// lie on a share that is not connected, and a new one in its place would hide it.
func (d *Dir) Make(sub string, mode fs.FileMode) (*Dir, error) {
	return d.walk(sub, func(at *Dir, name string) (fs.FileInfo, error) {
		info, err := at.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			if err := at.root.Mkdir(name, mode); err == nil {
				Forget(filepath.Join(at.path, name))
			} else if !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
			info, err = at.Lstat(name)
		}
		if err != nil {
			return nil, err
		}
		return info, Once(filepath.Join(at.path, name), info, func() error { return Flush(at.self) })
	})
}

// walk opens a subfolder; look checks each folder on the way before it is opened.
func (d *Dir) walk(sub string, look func(at *Dir, name string) (fs.FileInfo, error)) (*Dir, error) {
	root, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	at, err := newDir(root, d.path)
	if err != nil || sub == "." {
		return at, err
	}
	for name := range strings.SplitSeq(sub, "/") {
		next, err := at.step(name, look)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

func (d *Dir) step(name string, look func(at *Dir, name string) (fs.FileInfo, error)) (*Dir, error) {
	if err := direct(name); err != nil {
		return nil, err
	}
	seen, err := look(d, name)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(d.path, name)
	switch {
	case isLink(seen):
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrLink}
	case !seen.IsDir():
		return nil, &fs.PathError{Op: "open", Path: path, Err: ErrNotFolder}
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	next, err := newDir(root, path)
	if err != nil {
		return nil, err
	}
	if err := next.is(seen); err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func (d *Dir) is(seen fs.FileInfo) error {
	info, err := d.self.Stat()
	if err == nil && !os.SameFile(info, seen) {
		err = &fs.PathError{Op: "open", Path: d.path, Err: ErrSwapped}
	}
	return err
}

// Lstat describes the entry with that name, without following a link.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if err := direct(name); err != nil {
		return nil, err
	}
	return d.root.Lstat(name)
}

// Find is Lstat for a path with forward slashes below d. It fails with fs.ErrNotExist also if a folder on the way is
// missing.
func (d *Dir) Find(at string) (fs.FileInfo, error) {
	if !strings.Contains(at, "/") {
		return d.Lstat(at)
	}
	sub, name, err := d.Parent(at)
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	return sub.Lstat(name)
}

// Parent opens the folder that contains the entry at a path with forward slashes, and returns the entry's name.
func (d *Dir) Parent(at string) (sub *Dir, name string, err error) {
	in, name := ".", at
	if i := strings.LastIndexByte(at, '/'); i >= 0 {
		in, name = at[:i], at[i+1:]
	}
	sub, err = d.Sub(in)
	return sub, name, err
}

// Open opens a regular file for reading; flag may add more. If seen is given, the file must be the one it describes. Open
// never blocks, neither on a pipe that was swapped in nor on the holder of a lease.
func (d *Dir) Open(name string, seen fs.FileInfo, flag int) (*os.File, error) {
	info, err := d.Lstat(name)
	if err != nil {
		return nil, err
	}
	if seen == nil {
		seen = info
	}
	wrong := func(why error) error { return &fs.PathError{Op: "open", Path: filepath.Join(d.path, name), Err: why} }
	switch {
	case isLink(info):
		return nil, wrong(ErrLink)
	case !info.Mode().IsRegular():
		return nil, wrong(ErrNotFile)
	case !os.SameFile(info, seen):
		return nil, wrong(ErrSwapped)
	}
	file, err := d.root.OpenFile(name, os.O_RDONLY|flag|nonBlocking, 0)
	if err != nil {
		return nil, err
	}
	opened, err := file.Stat()
	switch {
	case err != nil:
	case !opened.Mode().IsRegular(), !os.SameFile(opened, seen):
		err = wrong(ErrSwapped)
	default:
		return file, nil
	}
	file.Close()
	return nil, err
}

// List returns the entries in directory order. Their details may be out of date: see Lstat.
func (d *Dir) List() ([]fs.DirEntry, error) {
	again, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer again.Close()
	return again.ReadDir(-1)
}

// Move renames an entry, within d or into another folder on the same disk, unless the new name is taken (fs.ErrExist). It
// flushes the names, see ErrUnflushed. It moves a link itself. Where the file system cannot rename without replacing, a hard
// link does the same in two steps; where it has no hard links either (a FAT stick), Move can only check first.
func (d *Dir) Move(name string, to *Dir, as string) error { return d.move(name, to, as, false) }

// Take moves a file as Move does, into a folder that nobody else writes to, and makes sure that only one of several
// computers gets it: it uses only a rename, which takes the name away from all others, and no hard link, which each of them
// could get. It fails with fs.ErrNotExist if another computer was faster.
func (d *Dir) Take(name string, to *Dir, as string) error { return d.move(name, to, as, true) }

func (d *Dir) move(name string, to *Dir, as string, take bool) error {
	if err := errors.Join(direct(name), direct(as)); err != nil {
		return err
	}
	if err := d.rename(name, to, as, take); err != nil {
		return err
	}
	err := Flush(to.self)
	if err == nil && d != to {
		err = Flush(d.self)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnflushed, err)
	}
	return nil
}

// NameNew gives a complete, flushed file in the folder its final name, as Move does. The name is on the disk after Flush, on
// Windows immediately.
func (d *Dir) NameNew(name, as string) error { return d.rename(name, d, as, false) }

// WriteNew creates a file with that content in the folder, atomically, unless the name is taken (fs.ErrExist).
func (d *Dir) WriteNew(name string, content []byte, mode fs.FileMode) error {
	temp := ".countersign-" + rand.Text() + ".part"
	file, err := d.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = d.Move(temp, d, name)
	}
	if err != nil && !errors.Is(err, ErrUnflushed) {
		_ = d.root.Remove(temp)
	}
	return err
}

// Create creates an empty file for writing, unless the name is taken (fs.ErrExist).
func (d *Dir) Create(name string, mode fs.FileMode) (*os.File, error) {
	if err := direct(name); err != nil {
		return nil, err
	}
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

// Remove removes a file, a link, or an empty folder.
func (d *Dir) Remove(name string) error {
	if err := direct(name); err != nil {
		return err
	}
	return d.root.Remove(name)
}

// Flush makes the names in the folder durable.
func (d *Dir) Flush() error { return Flush(d.self) }

// direct rejects a name that is a path rather than the name of an entry.
func direct(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, notInNames) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return nil
}

// isLink reports whether an entry is a link or what Windows calls a junction.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// ErrUnflushed means that a file or folder has its new name, but its folder could not be flushed: a power failure may undo
// the rename.
var ErrUnflushed = errors.New("the new name may not be on the disk yet")

// Replace flushes and closes temp and renames it to path in the same folder, replacing any file there. After that, and after
// any interruption, path is the old file or the complete new one. If Replace fails, temp is gone; with ErrUnflushed it has
// its name.
func Replace(temp *os.File, path string) error { return finish(temp, path, Rename) }

// Create does what Replace does, but fails with fs.ErrExist if the name is taken.
func Create(temp *os.File, path string) error { return finish(temp, path, RenameNew) }

// CreateOr returns Replace if replacing was agreed to, otherwise Create.
func CreateOr(replace bool) func(temp *os.File, path string) error {
	if replace {
		return Replace
	}
	return Create
}

func finish(temp *os.File, path string, rename func(from, to string) error) error {
	err := errors.Join(temp.Sync(), temp.Close())
	if err == nil {
		err = rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// Rename renames a file or folder whose content is flushed, replacing any file of that name, and flushes the names, see
// ErrUnflushed. It does not copy from one disk to another.
func Rename(from, to string) error {
	if err := rename(from, to); err != nil {
		return err
	}
	there, here := filepath.Dir(to), filepath.Dir(from)
	err := FlushFolder(there)
	if err == nil && there != here {
		err = FlushFolder(here)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnflushed, err)
	}
	return nil
}

// RenameNew does what Rename does with a file within one folder, but fails with fs.ErrExist if the name is taken.
func RenameNew(from, to string) error {
	folder, err := OpenDir(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Move(filepath.Base(from), folder, filepath.Base(to))
}

// LinkNew gives a file a second name in its folder. It fails with fs.ErrExist if that name is taken, and if the file system
// has no hard links.
func LinkNew(path, name string) error {
	folder := filepath.Dir(path)
	if err := os.Link(path, filepath.Join(folder, name)); err != nil {
		return err
	}
	return FlushFolder(folder)
}

// anchored holds, by path, the folders whose names are known to be on the disk. It is emptied every now and then: an office
// may have a folder for each package, and checking a forgotten one costs no more than a flush.
var anchored struct {
	mu      sync.Mutex
	folders map[string]fs.FileInfo
}

const mostAnchored = 1000

// Once calls flush, which makes the name of a folder durable, unless that already succeeded for this very folder at this
// path. So saving a hundred files flushes the path to them only once. info describes the folder.
func Once(path string, info fs.FileInfo, flush func() error) error {
	anchored.mu.Lock()
	known, ok := anchored.folders[path]
	anchored.mu.Unlock()
	if ok && os.SameFile(known, info) {
		return nil
	}
	if err := flush(); err != nil {
		return err
	}
	anchored.mu.Lock()
	defer anchored.mu.Unlock()
	if anchored.folders == nil || len(anchored.folders) >= mostAnchored {
		anchored.folders = map[string]fs.FileInfo{}
	}
	anchored.folders[path] = info
	return nil
}

// Forget drops what Once remembers of a path. Call it after creating a folder: a removed earlier one may look the same.
func Forget(path string) {
	anchored.mu.Lock()
	defer anchored.mu.Unlock()
	delete(anchored.folders, path)
}

// Anchor makes the path to an existing file or folder durable: its name in the folder above, that folder's name in the next,
// and so on up to the first folder in which this user cannot create anything. It does not matter who created the name, and
// when: this program may have been killed before it flushed it. So do not rely on something you found before it is anchored.
// Repeated calls cost only a lookup.
func Anchor(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	above := filepath.Dir(path)
	return Once(path, info, func() error {
		if above == path || !writable(above) {
			return nil
		}
		if err := FlushFolder(above); err != nil {
			return err
		}
		return Anchor(above)
	})
}

// MkdirAll is os.MkdirAll followed by Anchor, whether or not the folder was there.
func MkdirAll(path string, mode fs.FileMode) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return mkdir(path, func() error { return os.MkdirAll(path, mode) })
}

// Mkdir is os.Mkdir for a folder that must not exist yet, followed by Anchor.
func Mkdir(path string, mode fs.FileMode) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return mkdir(path, func() error { return os.Mkdir(path, mode) })
}

// mkdir calls make, which creates a folder and perhaps those above it, and anchors it.
func mkdir(path string, make func() error) error {
	if _, err := Stat(path); errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	missing := missingOn(path)
	if err := make(); err != nil {
		return err
	}
	for _, made := range missing {
		made, err := filepath.EvalSymlinks(made)
		if err != nil {
			return err
		}
		Forget(made)
	}
	return Anchor(path)
}

func missingOn(path string) (missing []string) {
	for {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return missing
		}
		missing = append(missing, path)
		path = filepath.Dir(path)
	}
}

// Inside reports whether path is dir or lies below it, however it is written and whatever links it contains. A path that
// does not exist yet is judged by its nearest existing parent, and one that does not answer by what is written alone.
func Inside(path, dir string) bool {
	written := filepath.Clean(dir)
	there, gone := Stat(dir)
	paths := []string{path}
	if _, err := Stat(path); errors.Is(err, os.ErrDeadlineExceeded) {
		gone = err
	} else if real := resolved(path); real != path {
		paths = append(paths, real)
	}
	for _, p := range paths {
		for ; ; p = filepath.Dir(p) {
			if p == written {
				return true
			}
			if gone == nil {
				if info, err := os.Stat(p); err == nil && os.SameFile(info, there) {
					return true
				}
			}
			if filepath.Dir(p) == p {
				break
			}
		}
	}
	return false
}

// resolved is a path with its links resolved, as far as it exists.
func resolved(path string) string {
	for rest, p := "", path; ; rest, p = filepath.Join(filepath.Base(p), rest), filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, rest)
		}
		if filepath.Dir(p) == p {
			return path
		}
	}
}

// Same reports whether two paths lead to the same existing file or folder.
func Same(a, b string) bool {
	x, err1 := Stat(a)
	y, err2 := Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// OpenFile opens for reading a regular file that somebody named, and describes it; links are followed. The description is of
// the opened file: the path may lead to another one a moment later. It never blocks on a pipe.
func OpenFile(path string) (*os.File, fs.FileInfo, error) {
	file, err := Ask(path, func() (*os.File, error) { return openFile(path) }, func(f *os.File) { f.Close() })
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	if err != nil {
		file.Close()
		return nil, info, err
	}
	return file, info, nil
}

// Unmounted reports whether the disk that was mounted at was, which had the folder at real (see Real), is not any more: now is where
// Mount finds the folder's disk.
func Unmounted(was, now, real string) bool {
	return len(now) < len(was) && (real == was || strings.HasPrefix(real, was+string(filepath.Separator)))
}

// Empty reports whether a folder is missing or empty, as the mount point of a share that is not mounted is.
func Empty(folder string) bool {
	_, err := Ask(folder, func() ([]string, error) {
		dir, err := os.Open(folder)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return dir.Readdirnames(1)
	}, nil)
	return err != nil
}

// FreeIn is Free for the folder at a path.
func FreeIn(folder string) (uint64, bool) {
	dir, err := os.Open(folder)
	if err != nil {
		return 0, false
	}
	defer dir.Close()
	return Free(dir)
}
