package outbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
)

// A document comes into a draft in one way, whoever gives it: it is opened once, what was opened is judged and copied into the
// data folder for that draft alone, with its SHA-256, and only then the draft is stored. From there on its path is a label:
// what goes out is the copy, or nothing.

// document is a file that is given for a draft, open to be read.
type document struct {
	office.DraftFile
	file *os.File
}

// openDocument opens the file at path and judges what it has opened. Its errors are *DraftError.
func openDocument(path string) (document, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return document{}, &DraftError{message.FileNotFound(path)}
	}
	file, info, err := disk.OpenFile(abs)
	if err != nil && info != nil && info.IsDir() {
		return document{}, &DraftError{message.FileIsFolder(filepath.Base(abs))}
	}
	if err != nil {
		return document{}, &DraftError{message.FileMayNotBeRead(filepath.Base(abs))}
	}
	d, err := asDocument(file, abs)
	if err != nil {
		file.Close()
	}
	return d, err
}

// asDocument judges an open file, which was found at path.
func asDocument(file *os.File, path string) (document, error) {
	name := filepath.Base(path)
	info, err := file.Stat()
	switch {
	case err != nil:
		return document{}, &DraftError{message.FileNotRead(name)}
	case info.IsDir():
		return document{}, &DraftError{message.FileIsFolder(name)}
	case !info.Mode().IsRegular():
		return document{}, &DraftError{message.FileMayNotBeRead(name)}
	case office.IsOwn(name):
		return document{}, &DraftError{message.FileOfCountersign(name)}
	case info.Size() == 0:
		return document{}, &DraftError{message.FileEmpty(name)}
	}
	return document{DraftFile: office.DraftFile{Path: path, Name: name, Size: info.Size()}, file: file}, nil
}

// documents are the files that are given for one draft. Close them.
type documents []document

// open opens the files of d that no one has opened yet: those in the place of a document of its template, then the others.
func openDocuments(d office.NewPackage) (list documents, err error) {
	add := func(path string, original int) {
		if err != nil {
			return
		}
		var doc document
		if doc, err = openDocument(path); err == nil {
			doc.Original = original
			list = append(list, doc)
		}
	}
	if d.Template != nil {
		for i, own := range d.Template.Documents {
			if own.File != "" {
				add(own.File, i+1)
			}
		}
	}
	for _, path := range d.Files {
		add(path, 0)
	}
	if err != nil {
		list.close()
	}
	return list, err
}

func (list documents) close() {
	for _, d := range list {
		d.file.Close()
	}
}

// take copies the documents of a draft that is to be stored, and puts them into d.
func (r *Service) take(ctx context.Context, d *office.Draft, list documents) error {
	var total int64
	for _, doc := range list {
		total += doc.Size
	}
	if total > office.Largest {
		return &DraftError{message.DraftTooLarge(d.Name, total, office.Largest)}
	}
	d.Files = nil
	for i, doc := range list {
		f := doc.DraftFile
		f.Copy, f.ExternalID = fmt.Sprintf("%s-%d", d.ID, i+1), fmt.Sprintf("%s-%d", d.ID, i+1)
		taken, err := r.takeCopy(ctx, doc.file, f.Copy)
		if err != nil {
			return r.copyError(f, err)
		}
		f.Size, f.SHA256 = taken.Size, taken.SHA256
		d.Files = append(d.Files, f)
	}
	return nil
}

func (r *Service) takeCopy(ctx context.Context, source *os.File, name string) (archive.Taken, error) {
	if err := disk.MkdirAll(r.copiesDir(), 0o700); err != nil {
		return archive.Taken{}, err
	}
	data, err := filepath.Abs(r.deps.DataDir)
	if err != nil {
		return archive.Taken{}, err
	}
	folder, err := archive.OpenFolder(data)
	if err != nil {
		return archive.Taken{}, err
	}
	defer folder.Close()
	return folder.Take(ctx, archive.Taking{Target: filepath.Base(r.copiesDir()) + "/" + name, Source: source, Spare: copySpare})
}

func (r *Service) copyError(f office.DraftFile, err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, archive.ErrChanged):
		return &DraftError{message.FileBusy(f.Name)}
	case errors.Is(err, archive.ErrUnread):
		return &DraftError{message.FileMayNotBeRead(f.Name)}
	case errors.Is(err, archive.ErrFull):
		return &DraftError{message.NoRoomForCopy(f.Name)}
	}
	r.Log.Error("copy a file to be sent", "err", err)
	return &DraftError{message.NotCopied(f.Name)}
}

func (r *Service) copiesDir() string { return locations.Outbox(r.deps.DataDir) }

// copyOf is the path of the copy of f, for programs that look at it.
func (r *Service) copyOf(f office.DraftFile) string { return filepath.Join(r.copiesDir(), f.Copy) }

// openCopy opens the bytes that go out for f. They are in the copy that was taken for its draft: nothing else takes its place.
func (r *Service) openCopy(f office.DraftFile) (*os.File, error) {
	if f.Copy == "" || f.SHA256 == "" {
		return nil, &DraftError{message.FileGone(f.Name)}
	}
	folder, err := disk.OpenDir(r.copiesDir()) // a name that came with a record leads nowhere else
	if err != nil {
		return nil, &DraftError{message.FileGone(f.Name)}
	}
	defer folder.Close()
	info, err := folder.Lstat(f.Copy)
	if err != nil {
		return nil, &DraftError{message.FileGone(f.Name)}
	}
	file, err := folder.Open(f.Copy, info, 0)
	for _, other := range []error{fs.ErrNotExist, disk.ErrLink, disk.ErrNotFile, disk.ErrSwapped} {
		if errors.Is(err, other) {
			return nil, &DraftError{message.FileGone(f.Name)}
		}
	}
	return file, err
}
