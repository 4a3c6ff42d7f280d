package locations

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"countersign/internal/disk"
	"countersign/internal/private"
)

// Move brings the data of an earlier version from one folder to another, once.
//
// On one disk that is a renaming. Between disks, as where an office keeps profiles on a server, everything is copied to a
// folder beside the new one, flushed, read back and compared; then that folder gets the new one's name, which is the
// moment in which the new one comes into force; the old files are removed last. An interrupted move is taken up by the next
// one.
type Move struct {
	From, To string

	// Hold keeps every other instance away from a folder until release is called. Its error ends the move.
	Hold func(folder string) (release func() error, err error)

	rename func(from, to string) error // disk.Rename when nil
	reach  func(point string)          // tests end the move there; nil does nothing
}

// moving is added to the name of the new folder while it is filled.
const moving = ".moving"

// Moving is the folder in which the data is gathered while it moves to folder from another disk.
func Moving(folder string) string { return folder + moving }

// source is what the file origin holds.
type source struct {
	Folder string `json:"folder"`
	State  []byte `json:"state"` // SHA-256 of the state that was copied
}

// Do moves the data, or finishes a move. Nothing is to be done when the data is where it belongs, or when there is none.
// After an error InForce tells where the data is; it can be used there.
func (m Move) Do() error {
	if m.rename == nil {
		m.rename = disk.Rename
	}
	if m.reach == nil {
		m.reach = func(string) {}
	}
	if Holds(m.To) {
		return m.finish()
	}
	if !Holds(m.From) {
		return nil
	}
	release, err := m.Hold(m.From)
	if err != nil {
		return err
	}
	// Windows renames no folder of which a file is open: the lock must be let go, and whoever takes it now is in the way.
	if err := release(); err != nil {
		return err
	}
	m.reach("before the renaming")
	if err := disk.MkdirAll(filepath.Dir(m.To), 0o700); err != nil {
		return err
	}
	_ = os.Remove(m.To) // only an empty folder goes
	if err := m.rename(m.From, m.To); !isOtherDisk(err) {
		return err
	}
	return m.byCopy()
}

func (m Move) byCopy() (err error) {
	release, err := m.Hold(m.From)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.leave(release)) }()
	if Holds(m.To) || !Holds(m.From) {
		return nil // another instance was quicker
	}
	temp := Moving(m.To)
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	if err := m.fill(temp); err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	m.reach("before the switch")
	if err := m.rename(temp, m.To); err != nil {
		return errors.Join(err, os.RemoveAll(temp))
	}
	m.reach("after the switch")
	return m.clear()
}

// fill copies all that matters to temp.
func (m Move) fill(temp string) error {
	if err := private.Folder(temp); err != nil && !errors.Is(err, private.ErrStaysOpen) {
		return err
	}
	from := source{Folder: m.From}
	err := filepath.WalkDir(m.From, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.From, path)
		if err != nil || name == "." || leftBehind(name) {
			return err
		}
		to := filepath.Join(temp, name)
		m.reach("copying")
		switch {
		case d.IsDir():
			return disk.MkdirAll(to, 0o700)
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is no file", path)
		}
		sum, err := copyFile(path, to)
		if name == state {
			from.State = sum
		}
		return err
	})
	if err != nil {
		return err
	}
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	if err := writeFile(filepath.Join(temp, origin), bytes.NewReader(text)); err != nil {
		return err
	}
	return syncTree(temp)
}

// leftBehind are the files that belong to a place and not to the data.
func leftBehind(name string) bool { return slices.Contains([]string{lock, socket, origin}, name) }

// finish removes what a move that was interrupted has left.
func (m Move) finish() error {
	if err := disk.Anchor(m.To); err != nil { // the move was interrupted before that
		return err
	}
	if _, err := os.Lstat(filepath.Join(m.To, origin)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	release, err := m.Hold(m.From)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Remove(filepath.Join(m.To, origin)) // all of it was removed
	}
	if err != nil {
		return err
	}
	return errors.Join(m.clear(), m.leave(release))
}

// leave lets go of the old folder, and removes it where nothing but the lock is left.
func (m Move) leave(release func() error) error {
	err := release()
	entries, readErr := os.ReadDir(m.From)
	if readErr != nil || len(entries) > 1 || len(entries) == 1 && entries[0].Name() != lock {
		return err
	}
	_ = os.Remove(filepath.Join(m.From, lock))
	_ = os.Remove(m.From)
	return err
}

// clear removes the old files, which the caller holds. Had an earlier version worked on with them since, they would be
// more than a copy: then they stay.
func (m Move) clear() error {
	marker := filepath.Join(m.To, origin)
	var from source
	text, err := os.ReadFile(marker)
	if err != nil || json.Unmarshal(text, &from) != nil || from.Folder != m.From {
		return err
	}
	sum, err := sumOf(State(m.From))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !bytes.Equal(sum, from.State) {
		return os.Remove(marker)
	}
	entries, err := os.ReadDir(m.From)
	if err != nil {
		return err
	}
	// What makes the folder one with data goes last: so long as it is there, the next start comes here again.
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int { return last(a) - last(b) })
	for _, e := range entries {
		if e.Name() == lock || e.Name() == socket {
			continue
		}
		m.reach("removing")
		if err := os.RemoveAll(filepath.Join(m.From, e.Name())); err != nil {
			return err
		}
	}
	return os.Remove(marker)
}

func last(e fs.DirEntry) int { return slices.Index([]string{backup, state}, e.Name()) }

// copyFile copies a file to a new one, flushes it, and compares what is there then. It returns the SHA-256.
func copyFile(from, to string) ([]byte, error) {
	in, err := os.Open(from)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	sum := sha256.New()
	if err := writeFile(to, io.TeeReader(in, sum)); err != nil {
		return nil, err
	}
	got, err := sumOf(to)
	if err == nil && !bytes.Equal(got, sum.Sum(nil)) {
		err = fmt.Errorf("the copy of %s differs", from)
	}
	return got, err
}

func writeFile(path string, content io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func sumOf(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return sum.Sum(nil), err
}

// syncTree makes the names in a folder and those below survive a loss of power.
func syncTree(top string) error {
	return filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return disk.FlushFolder(path)
	})
}
