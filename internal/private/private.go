// Package private keeps files and folders to the user who runs the program, by the means of the system: mode bits on
// Unix, access lists on Windows.
//
// It promises:
//   - What it makes is private from its first moment: nobody can open it in between.
//   - What is there and is open to others is closed to them. What is private already is not written to.
//   - A folder that is meant for everybody (one with the sticky bit, such as /tmp; on Windows the top of a disk) keeps its
//     rights.
//   - A folder is there after a loss of power, too, as package disk has it.
//
// On Windows the system itself keeps access, as in every profile: programs for backups and against viruses run as SYSTEM,
// and it could take the rights anyway. Administrators can do so too, but by a deliberate act, and not by just looking.
//
// It does not know what is kept, and never follows a link inside a folder.
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

// Folder makes a folder, with those above it where they are missing, or makes one that is there private. What lies in it
// already is out of reach of others on Unix; on Windows it takes the folder's rights over unless it has rights of its own.
// With [ErrStaysOpen] the folder is there and can be used, but is not private: a disk may know no rights, or the folder may
// be another's.
func Folder(path string) error {
	if err := makeFolder(path); err != nil {
		return err
	}
	return closeFolder(path)
}

// NewFolder makes a folder that nobody else has had a hand in: one that is there already is an error that matches
// [fs.ErrExist]. With [ErrStaysOpen] it is made, but is not private.
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

// Files makes those of the files and folders that are there private, and returns the errors of all that could not be. A
// link is left alone.
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

// beginning and Temporary are how the name begins and ends that a file of WriteFile's has until it is whole. A killed program may leave
// one behind, see Sweep.
const (
	beginning = ".countersign-"
	Temporary = ".new"
)

// WriteFile makes a private file, whole or not at all: fill writes its content, and name is disk.Create or disk.Replace.
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

// From is the fill of WriteFile that writes all of r.
func From(r io.Reader) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	}
}

// Sweep removes the files of WriteFile's that killed programs left in a folder, in which nobody writes one now. What cannot be removed
// is left to the next time.
func Sweep(folder string) {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if name := e.Name(); e.Type().IsRegular() && strings.HasPrefix(name, beginning) && strings.HasSuffix(name, Temporary) {
			_ = os.Remove(filepath.Join(folder, name))
		}
	}
}

// OpenToOthers says why an open file can be read, or replaced, by somebody else; nil when it cannot. On Windows the
// system and its administrators do not count.
func OpenToOthers(f *os.File) error { return openToOthers(f) }

// ErrStaysOpen means that a folder could not be closed to others.
var ErrStaysOpen = errors.New("others keep access to the folder")

// ErrOpen means that others have rights to a file.
var ErrOpen = errors.New("other users have access to it")
