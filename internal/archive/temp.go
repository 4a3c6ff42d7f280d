package archive

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"regexp"

	"countersign/internal/disk"
	"countersign/internal/office/filename"
)

// tempName recognises a temporary file of this program and gives its token.
var tempName = regexp.MustCompile(`^\.countersign-([0-9a-f]{16})-[0-9a-f]{16}\.part$`)

// Token is what the name of a temporary file carries of Request.Key: 16 hexadecimal digits, so that a key may hold
// anything and shows nothing.
func Token(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// temp is a document on its way: hidden, readable by its owner alone, and gone unless it is kept.
type temp struct {
	at   *disk.Dir // the subfolder of the target
	name string
	file *os.File
	mode fs.FileMode // that of a usual document here
	shut bool        // file is closed
	kept bool        // it has its final name
}

// createTemp makes the temporary file of a job.
func createTemp(at *disk.Dir, key string) (*temp, error) {
	var random [8]byte
	rand.Read(random[:]) // never fails
	t := &temp{at: at, name: ".countersign-" + Token(key) + "-" + hex.EncodeToString(random[:]) + ".part"}
	// The empty file is made with the mode of a document to learn what the umask leaves of it: asking for the umask
	// means changing it, for every goroutine.
	file, err := at.Create(t.name, 0o644)
	if err != nil {
		return nil, err
	}
	t.file = file
	info, err := file.Stat()
	if err == nil {
		t.mode = info.Mode().Perm()
		err = conceal(file)
	}
	if err != nil {
		t.discard()
		return nil, err
	}
	return t, nil
}

// finish gives the file the looks of a document, flushes and closes it.
func (t *temp) finish() error {
	if err := reveal(t.file, t.mode); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	t.shut = true
	return t.file.Close()
}

// discard closes and removes the file unless it is kept. What cannot be removed is left to Sweep.
func (t *temp) discard() {
	if !t.shut {
		t.file.Close()
	}
	if !t.kept {
		_ = t.at.Remove(t.name)
	}
}

// tried is the key of the file that Try makes, the same on every computer.
const tried = "whether files can be made here"

// Try makes a file in the folder, as a save does first, and removes it. What a crash leaves of it Sweep removes.
func (f *Folder) Try() error {
	temp, err := createTemp(f.at, tried)
	if err != nil {
		return f.because(".", err)
	}
	err = errors.Join(temp.file.Close(), f.at.Remove(temp.name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // another computer's Sweep may be quicker
		return f.because(".", err)
	}
	return nil
}

// Sweep removes the temporary files that crashes left in the folder and its subfolders, and says how many. It touches
// only regular files named as this program names them, and of these only those whose token keep refuses; a nil keep
// refuses all, and those of Try and of a beginning index always go. Call it when no save is under way. Where several computers share the folder, each
// puts an identity of its own into Request.Key and keeps the tokens it does not know: they are another's saves under way.
//
// A subfolder that cannot be read does not stop the rest; its error is returned at the end.
func (f *Folder) Sweep(ctx context.Context, keep func(token string) bool) (removed int, err error) {
	return f.sweep(ctx, f.at, ".", filename.MaxDepth-1, keep)
}

// sweep looks into one subfolder, name of the folder above, and, depth levels deep, into those below it. It skips hidden
// folders: Template makes none.
func (f *Folder) sweep(ctx context.Context, above *disk.Dir, name string, depth int, keep func(string) bool) (removed int, err error) {
	dir, err := above.Sub(name)
	if err != nil {
		return 0, f.because(name, err)
	}
	defer dir.Close()
	var failed []error
	for {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		entries, err := dir.File().ReadDir(256)
		for _, entry := range entries {
			if entry.IsDir() && depth > 0 && entry.Name()[0] != '.' {
				n, err := f.sweep(ctx, dir, entry.Name(), depth-1, keep)
				removed += n
				failed = append(failed, err)
				continue
			}
			match := tempName.FindStringSubmatch(entry.Name())
			if match == nil || !entry.Type().IsRegular() || (keep != nil && match[1] != Token(tried) && match[1] != Token(IndexName) && keep(match[1])) {
				continue
			}
			if err := dir.Remove(entry.Name()); err != nil {
				failed = append(failed, f.because(entry.Name(), err))
				continue
			}
			removed++
		}
		if errors.Is(err, io.EOF) {
			return removed, errors.Join(failed...)
		}
		if err != nil {
			return removed, errors.Join(append(failed, f.because(name, err))...)
		}
	}
}
