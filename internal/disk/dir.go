// Package disk gives files their names so that a loss of power takes none of them back. It is the one place of the program
// that renames and makes folders: a name is on the disk when a function here returns, and the file that it stands for is
// the whole one. It also says whether one place lies in another, whatever names lead there.
//
// What it counts on, beyond what File.Sync does for the bytes of a file (fsync(2); F_FULLFSYNC on macOS; FlushFileBuffers on
// Windows, which has the bytes of the file, its length and its entry written, and the drive's own cache too):
//   - POSIX promises of a name that was made, renamed or removed only that fsync of the folder brings it to the disk
//     (fsync(2), NOTES). A folder is a name in the folder above: that one is flushed as well, and so on upwards. A rename
//     is done or undone as a whole.
//   - Windows has no flush of a folder. MoveFileEx with MOVEFILE_WRITE_THROUGH returns when the rename is on the disk.
//     NTFS writes changes of names to a journal, in their order, so whatever was made before is there then, too: a folder
//     needs nothing of its own. Without the flag, which os.Rename does not set, the journal is written when the system
//     likes. FAT, as on a memory stick, has no journal, and keeps what it likes.
//   - A network share does what its server does.
//
// It must not know what is kept. Its functions may be called from several goroutines.
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
	// ErrLink is a link where a folder or a file was expected. It is never followed.
	ErrLink = errors.New("a link instead of a folder or file")
	// ErrNotFolder is something else where a folder was expected.
	ErrNotFolder = errors.New("not a folder")
	// ErrNotFile is a folder, a pipe or a device where a file was expected.
	ErrNotFile = errors.New("not a file")
	// ErrSwapped is another file or folder than the one that was looked at.
	ErrSwapped = errors.New("another file or folder has taken its place")
)

// Dir is an open folder in which others make, swap and remove files and links at any moment. It is the one way to what lies in such
// a folder: every name is that of a direct entry, no link is followed below the folder that OpenDir opened, and what is opened is
// what was looked at. A folder that gets another name stays the same Dir. Safe for concurrent use.
type Dir struct {
	root *os.Root
	self *os.File // the folder itself, for renames and flushes
	path string   // under which it was opened
}

// OpenDir opens a folder by its path. Links on the way there are followed: whoever chose the folder chose them, too.
func OpenDir(path string) (*Dir, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return newDir(root, path)
}

// Real is where a folder lies, by a path in which nothing is a link.
func Real(path string) (string, error) { return filepath.EvalSymlinks(path) }

// OpenReal opens the folder that lay at a path of Real, and fails with ErrSwapped where links lead elsewhere by now: whoever may write
// to a folder above it could have put one there.
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
		if seen, err = os.Lstat(path); err == nil { // what was opened while a link was there is another folder
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

// Close lets go of the folder.
func (d *Dir) Close() error { return errors.Join(d.self.Close(), d.root.Close()) }

// Path is where the folder was when it was opened. What lies there by now may be another.
func (d *Dir) Path() string { return d.path }

// File is the folder itself, for what the system says of its disk. It is closed with d.
func (d *Dir) File() *os.File { return d.self }

// Sub opens a subfolder, sub with forward slashes; "." is the folder once more. Each folder on the way has to be one, and no link.
func (d *Dir) Sub(sub string) (*Dir, error) {
	return d.walk(sub, func(at *Dir, name string) (fs.FileInfo, error) { return at.Lstat(name) })
}

// Make is Sub, and makes the folders that are missing, and has their names on the disk. The folder d itself is never made: one that is
// missing may lie on a share that is away, and another in its place would hide it.
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

// walk opens a subfolder; look looks at each folder on the way before it is opened.
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

// Lstat looks at what has the name, and follows no link.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) {
	if err := direct(name); err != nil {
		return nil, err
	}
	return d.root.Lstat(name)
}

// Find is Lstat of a path with forward slashes below d. It fails with fs.ErrNotExist also where a folder on the way is missing.
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

// Parent opens the folder in which a path with forward slashes lies, and returns the last name of the path.
func (d *Dir) Parent(at string) (sub *Dir, name string, err error) {
	in, name := ".", at
	if i := strings.LastIndexByte(at, '/'); i >= 0 {
		in, name = at[:i], at[i+1:]
	}
	sub, err = d.Sub(in)
	return sub, name, err
}

// Open opens a regular file for reading, and flag may add to that. With seen it has to be the file that was looked at.
// It waits for nobody: not for the other end of a pipe that was swapped in, nor for the owner of a lease.
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

// List returns the entries in the order of the disk. What they say of themselves may be another's by now: see Lstat.
func (d *Dir) List() ([]fs.DirEntry, error) {
	again, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer again.Close()
	return again.ReadDir(-1)
}

// Move gives what has the name another one, in d or in another folder of the same disk, unless that one is taken
// (fs.ErrExist), and flushes the names, for which see ErrUnflushed. A link is moved as such. Where the file system cannot
// rename without replacing, a second name does the same in two steps; where it has no second names either (a FAT stick),
// all that is left is to look first.
func (d *Dir) Move(name string, to *Dir, as string) error { return d.move(name, to, as, false) }

// Take moves a file as Move does, into a folder in which nobody else puts anything, so that of several computers one has it: a
// rename takes the name away from all others, while a second name would be given to each of them. It fails with
// fs.ErrNotExist where somebody was quicker.
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

// NameNew gives a whole, flushed file of the folder's its final name there, as Move does. The name is on the disk after Flush, on
// Windows at once.
func (d *Dir) NameNew(name, as string) error { return d.rename(name, d, as, false) }

// WriteNew makes a file of the folder's with that content, whole or not at all, unless the name is taken (fs.ErrExist).
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

// Create makes an empty file for writing, unless the name is taken (fs.ErrExist).
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

// Flush has the names in the folder on the disk.
func (d *Dir) Flush() error { return Flush(d.self) }

// direct refuses what is no name of an entry but a way to somewhere.
func direct(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, notInNames) {
		return &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return nil
}

// isLink reports whether something leads elsewhere: a link, or what Windows calls a junction.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// ErrUnflushed says that a file or folder has its new name, and that a power failure may give it its old one again: its folder
// could not be flushed.
var ErrUnflushed = errors.New("the new name may not be on the disk yet")

// Replace flushes and closes temp and gives it a name in the same folder, in place of whatever has it: after that, and after
// any interruption, the name stands for the old file or the whole new one. When it fails, temp is gone; with ErrUnflushed it has
// its name.
func Replace(temp *os.File, path string) error { return finish(temp, path, Rename) }

// Create does what Replace does, but fails with fs.ErrExist where the name is taken.
func Create(temp *os.File, path string) error { return finish(temp, path, RenameNew) }

// CreateOr is Replace where that was agreed to, or else Create.
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

// Rename gives a file or folder, whose content is flushed, another name, in place of the file that has it, and flushes the
// names, for which see ErrUnflushed. It does not copy from one disk to another.
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

// RenameNew does what Rename does with a file, in one folder, but fails with fs.ErrExist where the name is taken.
func RenameNew(from, to string) error {
	folder, err := OpenDir(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Move(filepath.Base(from), folder, filepath.Base(to))
}

// LinkNew gives a file another name in its folder, beside the one that it has. It fails with fs.ErrExist where that is taken, and where the
// file system knows no such names.
func LinkNew(path, name string) error {
	folder := filepath.Dir(path)
	if err := os.Link(path, filepath.Join(folder, name)); err != nil {
		return err
	}
	return FlushFolder(folder)
}

// anchored are the folders whose names are known to be on the disk, by their paths. It forgets all of them now and then: an
// office may have a folder for each package, and the next look costs no more than a flush.
var anchored struct {
	mu      sync.Mutex
	folders map[string]fs.FileInfo
}

const mostAnchored = 1000

// Once calls flush, which makes the name of a folder durable, unless it succeeded before for this very folder at this path:
// whoever saves a hundred files flushes the way to them once. The info is that of the folder.
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

// Forget is for whoever has made a folder at a path: one that was there before and was removed may look like the same.
func Forget(path string) {
	anchored.mu.Lock()
	defer anchored.mu.Unlock()
	delete(anchored.folders, path)
}

// Anchor makes the way to a file or folder that is there durable: its name in the folder above, that one's name in the next,
// and so on up to the first in which this user can make nothing. Who gave it its name, and when, does not matter: it may
// have been this program, which was killed before it flushed it. What was found is therefore not to be counted on before it
// is anchored. After the first time that costs a look.
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

// MkdirAll is os.MkdirAll, and anchors the folder, whether it was there or not.
func MkdirAll(path string, mode fs.FileMode) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return mkdir(path, func() error { return os.MkdirAll(path, mode) })
}

// Mkdir is os.Mkdir, of a folder that is not there yet, and anchors it.
func Mkdir(path string, mode fs.FileMode) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	return mkdir(path, func() error { return os.Mkdir(path, mode) })
}

// mkdir has a folder made, with those on the way to it, and anchors it.
func mkdir(path string, make func() error) error {
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

// Inside reports whether path is dir or lies below it, whatever links lead there and however it is written. What is not there
// yet lies where the nearest folder lies that is.
func Inside(path, dir string) bool {
	written := filepath.Clean(dir)
	there, gone := os.Stat(dir)
	paths := []string{path}
	if real := resolved(path); real != path {
		paths = append(paths, real)
	}
	for _, p := range paths {
		for ; ; p = filepath.Dir(p) {
			if p == written {
				return true
			}
			if info, err := os.Stat(p); gone == nil && err == nil && os.SameFile(info, there) {
				return true
			}
			if filepath.Dir(p) == p {
				break
			}
		}
	}
	return false
}

// resolved is a path without links, as far as it is there.
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

// Same reports whether two paths lead to the same file or folder, which is there.
func Same(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// OpenFile opens a regular file that somebody named, to be read, and says what it is; links are followed. What was opened is what
// is judged: the path may lead to another file a moment later. It never waits for the other end of a pipe.
func OpenFile(path string) (*os.File, fs.FileInfo, error) {
	file, err := openFile(path)
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

// Empty reports whether a folder is away, or has nothing in it, as what a share is mounted on while it is not.
func Empty(folder string) bool {
	dir, err := os.Open(folder)
	if err != nil {
		return true
	}
	defer dir.Close()
	_, err = dir.Readdirnames(1)
	return err != nil
}

// FreeIn is Free of the folder at a path.
func FreeIn(folder string) (uint64, bool) {
	dir, err := os.Open(folder)
	if err != nil {
		return 0, false
	}
	defer dir.Close()
	return Free(dir)
}
