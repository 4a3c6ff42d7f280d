package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

// step opens the folder of that name.
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

// is reports whether d is the folder that was looked at.
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
