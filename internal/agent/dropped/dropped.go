// Package dropped stores files dropped on the window that the source program keeps nowhere, or not for long: mail attachments, a
// picture in a browser, the content of an archive.
//
// It promises:
//   - The name that comes with a file determines only the last element of its path, and is made safe.
//   - A taken file is complete: as many bytes as announced, on disk when Take returns; otherwise nothing remains.
//   - However much is handed over, no more is written than the office could send.
//   - What a draft or the form still names is not removed.
//
// It does not know where the files come from, nor what becomes of them.
package dropped

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
	"unicode/utf8"

	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/private"
)

// Most is how many files a drop may contain.
const Most = 200

// keep is how long a file stays that nothing refers to.
const keep = 30 * 24 * time.Hour

const triedNames = 10_000

// Delivery takes the files of one drop, each under its own name. Only one goroutine may use it at a time.
type Delivery struct {
	root   string
	folder string // this drop's folder below root; empty until the first file
	files  int
	left   int64 // bytes still allowed
}

// New returns a delivery into a folder below root, which need not exist. It does not touch the disk.
func New(root string) *Delivery { return &Delivery{root: root, left: office.Largest} }

// Take copies a file and returns its path. Size is what the other program claims, in bytes, or negative if unknown. Errors have a
// message for people, except that of ctx.
func (d *Delivery) Take(ctx context.Context, name string, size int64, from io.Reader) (path string, err error) {
	name = filename.File(name)
	if err := d.count(); err != nil {
		return "", err
	}
	if size > d.left {
		return "", d.tooLarge(name)
	}
	folder, err := d.make()
	if err != nil {
		return "", notKept(name, err)
	}
	temp, err := private.CreateTemp(folder, ".arriving-*")
	if err != nil {
		return "", notKept(name, err)
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	source := &source{ctx: ctx, r: from}
	most := d.left
	if size >= 0 {
		most = size
	}
	n, err := io.Copy(temp, io.LimitReader(source, most+1))
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case source.err != nil, err == nil && size >= 0 && n != size:
		return "", message.Error(message.DropNotWhole(name), source.err)
	case err != nil:
		return "", notKept(name, err)
	case n > d.left:
		return "", d.tooLarge(name)
	}
	d.left -= n
	return d.name(temp, folder, name)
}

// name gives a complete file the first free name.
func (d *Delivery) name(temp *os.File, folder, name string) (path string, err error) {
	if err := errors.Join(temp.Sync(), temp.Close()); err != nil {
		return "", notKept(name, err)
	}
	for i := 1; i < triedNames; i++ {
		path = filepath.Join(folder, filename.Numbered(name, i))
		if err = disk.RenameNew(temp.Name(), path); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return "", notKept(name, err)
	}
	return path, nil
}

// Place returns an unused path at which the other program may write a file itself. Call Placed afterwards.
func (d *Delivery) Place(name string) (path string, err error) {
	name = filename.File(name)
	if err := d.count(); err != nil {
		return "", err
	}
	folder, err := d.make()
	if err != nil {
		return "", notKept(name, err)
	}
	for i := 1; i < triedNames; i++ {
		path = filepath.Join(folder, filename.Numbered(name, i))
		if _, err = os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", notKept(name, err)
}

// Placed checks what another program has written at a Place, and removes anything that is not a file, or too large.
func (d *Delivery) Placed(path string) error {
	name := filepath.Base(path)
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return message.Error(message.DropNotWhole(name), err)
	case !info.Mode().IsRegular():
		_ = os.Remove(path)
		return message.Error(message.DropNotWhole(name), nil)
	case info.Size() > d.left:
		_ = os.Remove(path)
		return d.tooLarge(name)
	}
	d.left -= info.Size()
	if err := errors.Join(private.Files(path), disk.Anchor(path)); err != nil {
		return notKept(name, err)
	}
	return nil
}

// Keep returns where a file is available after the other program has finished: as a copy if files do not last at its path or the
// path is not UTF-8; otherwise, or if copying fails, at its path.
func (d *Delivery) Keep(ctx context.Context, path string) string {
	name := filepath.Base(path)
	if utf8.ValidString(path) && !locations.Fleeting(path) {
		return path
	}
	file, info, err := disk.OpenFile(path)
	if err != nil {
		return path
	}
	defer file.Close()
	copied, err := d.Take(ctx, filename.FromLatin1(name), info.Size(), file)
	if err != nil {
		return path
	}
	return copied
}

func (d *Delivery) count() error {
	if d.files++; d.files > Most {
		return message.Error(message.DropTooMany(Most), nil)
	}
	return nil
}

func (d *Delivery) make() (string, error) {
	if d.folder != "" {
		return d.folder, nil
	}
	if err := private.Folder(d.root); err != nil && !errors.Is(err, private.ErrStaysOpen) {
		return "", err
	}
	folder, err := os.MkdirTemp(d.root, "")
	if err != nil {
		return "", err
	}
	d.folder = folder
	return folder, disk.FlushFolder(d.root)
}

func (d *Delivery) tooLarge(name string) error {
	return message.Error(message.DropTooLarge(name, office.Largest), nil)
}

func notKept(name string, err error) error {
	return message.Error(message.DropNotKept(name), err)
}

// source is a reader that ends with its context and remembers its own error.
type source struct {
	ctx context.Context
	r   io.Reader
	err error // except io.EOF
}

func (s *source) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// Sweep removes old drops below root of which no file is needed, and remains of a kill. A folder is as old as its last file; a wrong
// clock only keeps a folder longer, or removes one nothing refers to. needed are paths in any spelling, because the data folder may
// have been named differently when the file was dropped. They are matched by the name of the drop's folder: most of them lead
// elsewhere, and looking there may hang with a network share or disk.
func Sweep(root string, now time.Time, needed map[string]bool) error {
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("look through what was dropped: %w", err)
	}
	holdNeeded := map[string]bool{}
	for path := range needed {
		holdNeeded[filepath.Base(filepath.Dir(path))] = true
	}
	var failed []error
	for _, e := range entries {
		folder := filepath.Join(root, e.Name())
		info, err := os.Stat(folder)
		if err != nil || now.Sub(info.ModTime()).Abs() < keep || holdNeeded[e.Name()] {
			continue
		}
		failed = append(failed, os.RemoveAll(folder))
	}
	return errors.Join(failed...)
}
