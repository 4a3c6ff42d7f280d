package archive

import (
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"countersign/internal/disk"
	"countersign/internal/office/filename"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Folder is an open folder: the one the office chose. It holds on to the folder itself, so one that is moved away is
// followed and one that is deleted and made again is not found; opening costs next to nothing, so open it anew for a batch
// of work. Its methods may be called from several goroutines.
type Folder struct {
	at  *disk.Dir
	dir string

	// Steps, when set, is called on the saving goroutine after each step of Save, with the target: a caller learns when the
	// body has been read, and a test that kills the process there sees what a crash at that point leaves behind. Set it
	// before the first Save.
	Steps func(Step, string)

	// Flushes, when set, are the turns at the disk that this folder shares with others. Set it before the first Save.
	Flushes *Flushes

	// Looks, when set, let Exists miss what has come into a folder within the last second. Set it before the first call.
	Looks *Looks

	// What a test sets, see bound.
	largest int64
	free    func(dir *os.File) (uint64, bool)
}

// OpenFolder opens an existing folder by its absolute path, and makes the way to it durable. It fails with ErrMissing,
// ErrNotFolder or ErrReadOnly, the last also when the folder could be read but nothing could be saved in it.
func OpenFolder(dir string) (*Folder, error) {
	if !filepath.IsAbs(dir) {
		return nil, &Error{Kind: ErrNotFolder, Folder: dir, Err: errors.New("not an absolute path")}
	}
	info, err := os.Stat(dir)
	if err != nil {
		return nil, &Error{Kind: kindOf(err), Folder: dir, Err: err}
	}
	if !info.IsDir() {
		return nil, &Error{Kind: ErrNotFolder, Folder: dir}
	}
	at, err := disk.OpenDir(dir)
	if err != nil {
		return nil, &Error{Kind: kindOf(err), Folder: dir, Err: err}
	}
	return ready(at)
}

// In is OpenFolder of a folder that is open already.
func In(dir *disk.Dir) (*Folder, error) {
	at, err := dir.Sub(".")
	if err != nil {
		return nil, &Error{Kind: kindOf(err), Folder: dir.Path(), Err: err}
	}
	return ready(at)
}

// ready is a folder in which documents can be saved. It closes one in which they cannot.
func ready(at *disk.Dir) (*Folder, error) {
	dir := at.Path()
	if err := writable(dir); err != nil {
		at.Close()
		return nil, &Error{Kind: ErrReadOnly, Folder: dir, Err: err}
	}
	if err := disk.Anchor(dir); err != nil {
		at.Close()
		return nil, &Error{Kind: kindOf(err), Folder: dir, Err: err}
	}
	return &Folder{at: at, dir: dir, largest: largest, free: freeSpace}, nil
}

// Close lets go of the folder. Saves under way end with an error.
func (f *Folder) Close() error { return f.at.Close() }

// Dir is the absolute path the folder was opened by.
func (f *Folder) Dir() string { return f.dir }

// Exists reports whether something is at rel, or at a name that a Mac or a Windows computer takes for the same: upper and
// lower case and the ways to write an accent do not count. So files chosen after asking never become twins. A folder or a
// link counts as something.
func (f *Folder) Exists(rel string) (bool, error) {
	if !filename.Safe(rel) {
		return false, f.fail(rel, ErrBadName, nil)
	}
	if _, err := f.at.Find(rel); err == nil {
		return true, nil
	}
	// On Linux several folders may be "the same" one; a name is taken when it is taken in any of them.
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

// Twin reports whether something has the name rel on a Mac or a Windows computer, but not to the letter here.
func (f *Folder) Twin(rel string) (bool, error) {
	if !filename.Safe(rel) {
		return false, f.fail(rel, ErrBadName, nil)
	}
	if _, err := f.at.Find(rel); err == nil {
		return false, nil
	}
	return f.Exists(rel)
}

// alike lists the names in a subfolder that fold to the same as name. A subfolder that is no folder holds none.
func (f *Folder) alike(sub, name string) (found []string, err error) {
	want := folded(name)
	if f.Looks != nil {
		held, err := f.lookAt(sub)
		if err != nil {
			return nil, err
		}
		for _, entry := range held.alike[want] { // what has gone meanwhile is not taken any more
			if _, gone := f.at.Find(path.Join(sub, entry)); !errors.Is(gone, fs.ErrNotExist) {
				found = append(found, entry)
			}
		}
		return found, nil
	}
	plain := ascii(want)
	err = f.each(sub, func(entry string) {
		if plain && ascii(entry) {
			if strings.EqualFold(entry, want) {
				found = append(found, entry)
			}
			return
		}
		if folded(entry) == want {
			found = append(found, entry)
		}
	})
	return found, err
}

// each calls do with every name in a subfolder. A subfolder that is no folder holds none.
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

// folded is what is left of a name without case and without the ways to write an accent.
func folded(name string) string {
	if ascii(name) {
		return strings.ToLower(name)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFC.String(name)))
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// Matches reports whether a regular file of this size in bytes and this digest, as Saved has it, is at rel. Before it says
// yes, it flushes the file and its folders: the save it comes from may have been cut short between the rename and the last
// flush.
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

// openSized opens the regular file of that size at rel; nil when there is none.
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
	sum, want := likeDigest(digest)
	n, err := io.Copy(sum, file)
	if err != nil {
		return false, err
	}
	if n != size || !strings.EqualFold(hex.EncodeToString(sum.Sum(nil)), want) {
		return false, nil
	}
	if err := flushRead(file); err != nil {
		return false, err
	}
	return true, f.flushFolders(path.Dir(rel))
}

// flushFolders flushes a subfolder and every folder above it up to the chosen one.
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

// flush waits for its turn, or for the end of ctx, and runs do.
func (f *Folder) flush(ctx context.Context, do func() error) error {
	if f.Flushes == nil {
		return do()
	}
	return f.Flushes.file(ctx, do)
}

// flushNames returns when every name that is in a folder now is durable.
func (f *Folder) flushNames(dir *disk.Dir) error {
	if f.Flushes == nil {
		return dir.Flush()
	}
	return f.Flushes.names(dir.File())
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
	return f.fail(rel, kindOf(cause), cause)
}
