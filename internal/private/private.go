// Package private restricts files and folders to the user who runs the program, using the system's means: mode bits on Unix,
// access control lists on Windows.
//
// It promises:
//   - What it creates is private from the start: there is no moment in which others can open it.
//   - It makes existing files and folders private. It does not write to what is already private.
//   - It leaves the permissions of shared folders alone (those with the sticky bit, such as /tmp; on Windows the root of a
//     disk).
//   - Folders it creates survive a power failure, see package disk.
//
// On Windows the system itself keeps access, as in every profile: backup programs and virus scanners run as SYSTEM, which
// could take the permission anyway. Administrators can do that, too, but only deliberately and not by just looking.
//
// It does not know what the files contain, and never follows a link inside a folder.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Folder creates a folder, including missing parents, or makes an existing one private. On Unix that also protects what is
// already inside; on Windows the contents inherit the folder's permissions unless they have their own. ErrStaysOpen means
// that the folder exists and is usable, but is not private: the disk may not support permissions, or the folder may belong
// to somebody else.
func Folder(path string) error {
	if err := makeFolder(path); err != nil {
		return err
	}
	return closeFolder(path)
}

// NewFolder creates a folder that nobody else can have prepared: if the folder exists, the error matches [fs.ErrExist].
// [ErrStaysOpen] means that it was created but is not private.
func NewFolder(path string) error {
	if err := newFolder(path); err != nil {
		return err
	}
	return closeFolder(path)
}

func closeFolder(path string) error {
	if err := tightenFolder(path); err != nil {
		return fmt.Errorf("%w: %w", ErrStaysOpen, err)
	}
	return nil
}

// Files makes the existing ones of these files and folders private, and returns the errors of all that failed. It skips
// links.
func Files(paths ...string) error {
	var failed []error
	for _, path := range paths {
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
		case info.IsDir():
			err = tightenFolder(path)
		case info.Mode().IsRegular():
			err = tightenFile(path)
		}
		if err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// CreateTemp is os.CreateTemp for a private file.
func CreateTemp(folder, pattern string) (*os.File, error) { return createTemp(folder, pattern) }

// beginning and Temporary are the prefix and the suffix of a temporary file of WriteFile. A killed program may leave one
// behind, see Sweep.
const (
	beginning = ".countersign-"
	Temporary = ".new"
)

// WriteFile creates a private file atomically: fill writes its content, and name is disk.Create or disk.Replace.
func WriteFile(path string, name func(temp *os.File, path string) error, fill func(io.Writer) error) error {
	temp, err := CreateTemp(filepath.Dir(path), beginning+"*"+Temporary)
	if err != nil {
		return err
	}
	if err := fill(temp); err != nil {
		return errors.Join(err, temp.Close(), os.Remove(temp.Name()))
	}
	return name(temp, path)
}

// From returns a fill function for WriteFile that copies all of r.
func From(r io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	}
}

// Sweep removes the temporary files that killed programs left in a folder. Nobody may be writing one there. It leaves what
// it cannot remove to the next call.
func Sweep(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && strings.HasPrefix(name, beginning) && strings.HasSuffix(name, Temporary) {
			_ = os.Remove(filepath.Join(folder, name))
		}
	}
}

// OpenToOthers says why somebody else can read or replace an open file; nil if nobody can. On Windows, SYSTEM and
// administrators do not count.
func OpenToOthers(f *os.File) error { return openToOthers(f) }

// ErrStaysOpen means that a folder could not be made private.
var ErrStaysOpen = errors.New("others keep access to the folder")

// ErrOpen means that others have access to a file.
var ErrOpen = errors.New("other users have access to it")
