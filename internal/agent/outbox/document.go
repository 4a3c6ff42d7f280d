package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/locations"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
	"countersign/internal/store"
)

// Every document enters a draft in the same way: it is opened once, what was opened is validated and copied into the data folder for
// that draft alone, with its SHA-256, and only then the draft is stored. From then on its path is only a label: the copy is sent, or
// nothing.

// document is a file given for a draft, open for reading. If it comes from a list, DraftFile.Copy names its copy there.
type document struct {
	office.DraftFile
	file *os.File
}

// openDocument opens the file at path and validates what it opened. Its errors are *DraftError.
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

// asDocument validates an open file that was found at path.
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
	case !office.Sendable(name):
		return document{}, &DraftError{message.FileType(name)}
	case info.Size() == 0:
		return document{}, &DraftError{message.FileEmpty(name)}
	}
	return document{DraftFile: office.DraftFile{Path: path, Name: name, Size: info.Size()}, file: file}, nil
}

// documents are the files given for one draft. Close them.
type documents []document

// openDocuments opens the files of d that are not open yet: those that replace a template's document, then the others.
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

// take copies the documents of a draft about to be stored and adds them to d.
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
		if doc.Copy != "" && r.shareCopy(doc.Copy, f.Copy) == nil {
			d.Files = append(d.Files, f)
			continue
		}
		taken, err := r.takeCopy(ctx, doc.file, f.Copy)
		if err != nil {
			return r.copyError(f, err)
		}
		f.Size, f.SHA256 = taken.Size, taken.SHA256
		d.Files = append(d.Files, f)
	}
	return nil
}

// shareCopy links a copy under another name, so that a list of thousands needs the space of one document; a copy's bytes never
// change. A list's draft has its id before it is stored, so the name may exist after a kill.
func (r *Service) shareCopy(from, to string) error {
	if err := os.Remove(filepath.Join(r.copiesDir(), to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return disk.LinkNew(filepath.Join(r.copiesDir(), from), to)
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

// copyOf returns the path of f's copy, for programs that read it.
func (r *Service) copyOf(f office.DraftFile) string { return filepath.Join(r.copiesDir(), f.Copy) }

// openCopy opens the bytes to send for f: only the copy made for its draft.
func (r *Service) openCopy(f office.DraftFile) (*os.File, error) { return openCopyIn(r.copiesDir(), f) }

func openCopyIn(dir string, f office.DraftFile) (*os.File, error) {
	if f.Copy == "" || f.SHA256 == "" {
		return nil, &DraftError{message.FileGone(f.Name)}
	}
	folder, err := disk.OpenDir(dir) // a name from a record cannot lead elsewhere
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

// copySpare is how many bytes must stay free in addition to a copy.
const copySpare = 4 << 20

// sweepCopies keeps what was sent, and removes other copies that no draft needs, and remains of a kill. It does nothing while a
// draft is being made, because it will be called again.
func (r *Service) sweepCopies() {
	if !r.taking.TryLock() {
		return
	}
	defer r.taking.Unlock()
	entries, err := os.ReadDir(r.copiesDir())
	if len(entries) == 0 {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.Log.Warn("look through the copies", "err", err)
		}
		return
	}
	drafts, err := data.Read(r.Data, "the drafts", func(tx *store.Tx) ([]office.Draft, error) { return tx.Drafts(office.DraftsKept...) })
	if err != nil {
		r.Log.Warn("look which copies are needed", "err", err)
		return
	}
	if r.Data.Store.Unreadable() > 0 {
		return // an unreadable record may be a draft that can be repaired later
	}
	needed := map[string]bool{}
	for _, d := range drafts {
		for _, f := range d.Files {
			needed[f.Copy] = true
		}
	}
	for _, e := range entries {
		if needed[e.Name()] {
			continue
		}
		if kept, err := r.keepSent(e.Name()); kept || err != nil {
			if err != nil {
				r.Log.Warn("keep what was sent", "err", err)
			}
			continue
		}
		if err := os.Remove(filepath.Join(r.copiesDir(), e.Name())); err != nil {
			r.Log.Warn("remove a copy", "err", err)
		}
	}
}

// refusedKeep is how many counted days a refused draft's copies are kept. Afterwards it cannot be sent unless its documents are
// added again.
const refusedKeep = 30

// ForgetCopies drops the copies of drafts refused long ago, so that they do not accumulate, and what was sent before a restore long
// ago.
func (r *Service) ForgetCopies() error {
	err := r.Data.Update(func(tx *store.Tx) error {
		today, _ := tx.Day()
		refused, _ := tx.Drafts(office.DraftFailed)
		for _, d := range refused {
			switch {
			case d.Day == 0:
				d.Day = today
			case today-d.Day > refusedKeep && slices.ContainsFunc(d.Files, func(f office.DraftFile) bool { return f.Copy != "" }):
				for i := range d.Files {
					d.Files[i].Copy = ""
				}
			default:
				continue
			}
			tx.PutDraft(d)
		}
		for doc, lost := range maps.Collect(store.Docs[lostDraft](tx, docLost, "")) {
			if today-lost.Day > restoredLately {
				tx.PutDoc(doc, nil)
			}
		}
		return nil
	})
	r.Wake() // removes them
	return err
}

// SetCopiesAside sets aside the copies of a lost data file's drafts, except those that are needed.
func (r *Service) SetCopiesAside(needed map[string]bool) {
	entries, err := os.ReadDir(r.copiesDir())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.Log.Warn("look through the copies", "err", err)
	}
	aside := r.copiesDir() + r.Now().UTC().Format(".lost-20060102T150405")
	for _, e := range entries {
		if needed[e.Name()] {
			continue
		}
		err := disk.MkdirAll(aside, 0o700)
		if err == nil {
			err = disk.Rename(filepath.Join(r.copiesDir(), e.Name()), filepath.Join(aside, e.Name()))
		}
		if err != nil {
			r.Log.Warn("set a copy aside", "err", err)
		}
	}
}

// Adopted adapts another computer's draft whose copies are here: its files were not given on this computer.
func Adopted(d office.Draft, dataDir string) office.Draft {
	d = d.Clone()
	for i := range d.Files {
		f := &d.Files[i]
		f.Path = filepath.Join(locations.Outbox(dataDir)+".moved", f.Copy, f.Name)
		if d.Template != nil && f.Original > 0 && f.Original <= len(d.Template.Documents) {
			d.Template.Documents[f.Original-1].File = f.Path
		}
	}
	return d
}

// hugeFile is the size in bytes above which people are warned.
const hugeFile = 100 << 20

// FileInfo is what is known of a file before it is sent.
type FileInfo struct {
	Name    string
	Size    int64           // bytes
	Pages   int             // 0 while unknown
	Problem message.Message // why it cannot be sent
	Warning message.Message // what to know before sending it
}

// Inspect examines a file to be sent. It may take a moment; call it off the UI goroutine.
func (r *Service) Inspect(ctx context.Context, path string) FileInfo {
	d, err := openDocument(path)
	if err != nil {
		return FileInfo{Name: filepath.Base(path), Problem: message.For(err)}
	}
	d.file.Close()
	info := r.look(ctx, d.DraftFile, d.Path)
	if info.Pages > 0 && info.Warning.IsZero() && r.deps.Sealed(path) {
		info.Warning = message.FileSealed()
	}
	return info
}

func (r *Service) look(ctx context.Context, f office.DraftFile, path string) (info FileInfo) {
	info = FileInfo{Name: f.Name, Size: f.Size}
	if f.Size > hugeFile {
		info.Warning = message.FileLarge(f.Name)
	}
	if !strings.EqualFold(filepath.Ext(f.Name), ".pdf") {
		return info
	}
	var err error
	info.Pages, err = r.deps.Pages(ctx, path)
	switch {
	case errors.Is(err, preview.ErrNotPDF):
		info.Problem = message.FileNotPDF(f.Name)
	case errors.Is(err, preview.ErrPassword):
		info.Problem = message.FileProtected(f.Name)
	case errors.Is(err, preview.ErrUnreadable):
		info.Warning = message.FileMaybeDamaged(f.Name)
	case err != nil:
		r.Log.Debug("the pages of a file were not counted", "err", err)
	}
	return info
}

// What was sent is kept to compare it with what comes back. The sweep that would remove its copies moves them from the outbox to a
// folder of their own: the draft is recorded as sent first, so that a kill in between loses nothing. They are deleted as many
// counted days after their package has ended as events are kept. The hashes stay with the draft. The copies are neither backed up
// nor moved to another computer.

func (r *Service) sentDir() string { return locations.Sent(r.deps.DataDir) }

// OpenSent opens the bytes sent, or to send, for f, and fails with fs.ErrNotExist once they are deleted.
func (r *Service) OpenSent(f office.DraftFile) (*os.File, error) {
	for _, dir := range []string{r.copiesDir(), r.sentDir()} { // in this order: it may be moved meanwhile
		file, err := openCopyIn(dir, f)
		if _, gone := errors.AsType[*DraftError](err); gone {
			continue
		}
		if err != nil {
			return nil, err
		}
		same, err := isGiven(file, f)
		if same {
			_, err = file.Seek(0, io.SeekStart)
			return file, err
		}
		file.Close()
		if err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("%s: %w", f.Name, fs.ErrNotExist)
}

// isGiven reports whether a file holds the bytes given for f.
func isGiven(file io.Reader, f office.DraftFile) (bool, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(file, f.Size+1))
	return err == nil && n == f.Size && hex.EncodeToString(sum.Sum(nil)) == f.SHA256, err
}

// Original returns the path of f's original if that still holds the bytes given for f.
func (r *Service) Original(f office.DraftFile) (string, error) {
	file, err := openSame(f)
	if err == nil {
		defer file.Close()
		var same bool
		if same, err = isGiven(file, f); same {
			return f.Path, nil
		}
	}
	return "", message.Error(message.OriginalChanged(f.Name), err)
}

// draftOfCopy returns the id of the draft for which a copy of this name was made.
func draftOfCopy(name string) string { return name[:max(strings.LastIndexByte(name, '-'), 0)] }

func has(d office.Draft, name string) bool {
	return slices.ContainsFunc(d.Files, func(f office.DraftFile) bool { return f.Copy == name })
}

// keepSent moves a copy to the folder of what was sent, if it was.
func (r *Service) keepSent(name string) (kept bool, err error) {
	d, err := data.Read(r.Data, "whose copy it is", func(tx *store.Tx) (office.Draft, error) {
		d, _, err := tx.Draft(draftOfCopy(name))
		return d, err
	})
	if err != nil || d.State != office.DraftSent || !has(d, name) {
		return false, err
	}
	if err := disk.MkdirAll(r.sentDir(), 0o700); err != nil {
		return false, err
	}
	return true, disk.Rename(filepath.Join(r.copiesDir(), name), filepath.Join(r.sentDir(), name))
}

const draftsAtOnce = 200

// ForgetSent deletes what was sent in packages that ended and were compared more than that many counted days ago. A package that
// cannot be compared, because its files were moved away, keeps them twice as long. Copies that belong to no known draft, as after a
// restore, are judged by age.
func (r *Service) ForgetSent(ctx context.Context, keep int) error {
	entries, err := os.ReadDir(r.sentDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	copies := map[string][]fs.DirEntry{}
	var ids []string
	for _, e := range entries {
		id := draftOfCopy(e.Name())
		if len(copies[id]) == 0 {
			ids = append(ids, id)
		}
		copies[id] = append(copies[id], e)
	}
	for some := range slices.Chunk(ids, draftsAtOnce) {
		if ctx.Err() != nil {
			return nil
		}
		var unneeded []fs.DirEntry
		err := r.Data.Update(func(tx *store.Tx) error {
			unneeded = nil
			for _, id := range some {
				d, known, err := tx.Draft(id)
				if store.OfOneRecord(err) {
					continue // it may be repaired later
				}
				if err == nil && known {
					err = letGo(tx, &d, keep)
				}
				if err != nil {
					return err
				}
				for _, e := range copies[id] {
					if known && !has(d, e.Name()) || !known && r.isOld(e, keep) {
						unneeded = append(unneeded, e)
					}
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		if r.Data.Store.Unreadable() > 0 {
			continue
		}
		for _, e := range unneeded {
			if err := os.Remove(filepath.Join(r.sentDir(), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// isOld reports whether a copy was made more than that many days ago.
func (r *Service) isOld(e fs.DirEntry, days int) bool {
	info, err := e.Info()
	return err == nil && r.Now().Sub(info.ModTime()) > time.Duration(days)*24*time.Hour
}

// letGo drops the sent copies of d, whose package has ended, once they have been kept long enough.
func letGo(tx *store.Tx, d *office.Draft, keep int) error {
	p, _, err := tx.Package(d.PackageID)
	if store.OfOneRecord(err) {
		return nil
	}
	if err != nil {
		return err
	}
	jobs, _ := tx.JobsOf(d.PackageID)
	today, _ := tx.Day()
	ended := p.State.Over() || p.Gone || p.State == "declined" || p.State == office.PackageExecuted && p.Saved
	compared := !slices.ContainsFunc(jobs, func(j office.Job) bool { return j.Match.State == "" })
	switch {
	case !ended && d.Day == 0, ended && d.Day > 0 && today-d.Day <= keep, ended && d.Day > 0 && !compared && today-d.Day <= 2*keep:
		return nil
	case !ended:
		d.Day = 0
	case d.Day == 0:
		d.Day = today
	default:
		for i := range d.Files {
			d.Files[i].Copy = ""
		}
	}
	return tx.PutDraft(*d)
}
