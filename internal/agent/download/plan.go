package download

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// freeName returns the first of rel, "rel (2)", "rel (3)" ... that is neither reserved by another job nor in use. If inUse is nil,
// files in the folder are checked only when the bytes have arrived, because an existing file may be the very document, saved before
// the state was lost.
func freeName(tx *store.Tx, folder, rel string, inUse map[string]bool) string {
	for i := 1; ; i++ {
		name := filename.Numbered(rel, i)
		if taken, _ := tx.IsTaken(folder, name); !taken && !inUse[name] {
			return name
		}
	}
}

// namesThere returns the names in use in a folder among those that freeName tries for rel. A transaction must not look itself,
// because a folder may take any time to answer.
func namesThere(folder *archive.Folder, rel string) (map[string]bool, error) {
	there, err := folder.Series(rel)
	inUse := map[string]bool{}
	for _, name := range there {
		inUse[name] = true
	}
	return inUse, err
}

// settle gives j the place of its file, which is on disk: j may have been moved to another folder while the file was being named, or
// the file may have existed before. ok is false if the place, and so the file, belongs to another document.
func settle(tx *store.Tx, j office.Job) (ok bool, err error) {
	mine, ok, err := tx.Job(j.Key())
	if !ok {
		return false, err
	}
	if mine.Folder == j.Folder && mine.Target == j.Target {
		return true, nil
	}
	other, taken, _ := tx.JobAt(j.Folder, j.Target)
	if !taken || other.Key() == j.Key() {
		return true, nil
	}
	if hasFile(other, j.Digest) {
		return false, nil
	}
	// The other job had only reserved that name, or its file was taken away and another computer gave the name to j's. Insisting
	// would force one of the two to make a second copy, so the other job gets a new name. If it is being saved now, it meets j's
	// file or errMoved.
	other.Target = freeName(tx, other.Folder, other.WantedName(), nil)
	mine.Folder, mine.Target = j.Folder, j.Target
	tx.PutJob(other)
	tx.PutJob(mine)
	return true, nil
}

// hasFile reports whether the file with that digest at j's place is j's: it has been saved, or is about to be named; or unknown
// because j's record is unreadable. Otherwise j has only reserved the name, or its file is gone.
func hasFile(j office.Job, digest string) bool {
	return j.Digest == digest || j.Digest == "" && j.State == office.JobDone
}

// Folder returns where p's documents go: the office's folder, or beside the original if that was chosen and they can stay there. If
// the draft is unreadable, the original's place will not become known later either, and the documents must not wait for it.
func (r *Service) Folder(s office.Settings, p office.Package) (string, error) {
	if !s.BesideOriginal || p.DraftID == "" {
		return s.SaveTo, nil
	}
	d, _, err := r.Data.Draft(p.DraftID)
	if err != nil && !store.OfOneRecord(err) {
		return "", err
	}
	if d.Folder != "" {
		return s.SaveTo, nil // a hot folder would send what is saved in it; it gets its own copies
	}
	if len(d.Files) > 0 {
		folder := filepath.Dir(d.Files[0].Path)
		if r.deps.Lasts(folder) && r.FindFolder(folder) == nil {
			return folder, nil
		}
	}
	return s.SaveTo, nil
}

// Plan records a job for each wanted file of an executed package, including its name, before the first byte is requested. It may be
// called again for documents found later; the caller decides whether all are known (office.Package.Planned).
func (r *Service) Plan(tx *store.Tx, p *office.Package, s office.Settings, folder string) (planned int, err error) {
	if s.SavedElsewhere {
		return 0, nil
	}
	names := s.FileTemplate()
	add := func(d office.Document, kind office.FileKind) error {
		j := office.Job{
			PackageID: p.ID, DocumentID: d.ID, Kind: kind, Folder: folder,
			State: office.JobPending, Planned: r.Now(), NextTry: r.Now(),
		}
		if p.Executed.By { // it may have been saved before, for example by the office's previous computer
			j.Listed = noSum
		}
		if _, known, err := tx.Job(j.Key()); err != nil || known {
			return err
		}
		j.Wanted = names.Name(p.FileFields(d, kind, r.KindWord(s, kind)))
		j.Target = freeName(tx, folder, j.Wanted, nil)
		ok, err := tx.PlanJob(j)
		if ok {
			planned++
		}
		return err
	}
	for _, d := range p.Documents {
		if d.ID == "" || !d.Unlisted.IsZero() {
			continue
		}
		err = errors.Join(err, add(d, office.FileSigned))
		if s.SaveCAC {
			err = errors.Join(err, add(d, office.FileCertificate))
		}
	}
	if s.SaveMaster {
		err = errors.Join(err, add(office.Document{}, office.FileMaster))
	}
	return planned, err
}

// PreviewName returns the names that s gives to the files of the latest real package, or of an example if there is none. An invalid
// pattern is an *office.ConfigError, as from Settings.Check.
func (r *Service) PreviewName(s office.Settings) (string, error) {
	t, err := filename.Parse(s.Normal().NameTemplate)
	if err != nil {
		return "", &office.ConfigError{Fields: []office.FieldError{office.TemplateFinding(err)}}
	}
	p, err := data.Read(r.Data, "the latest package", latestPackage)
	if err != nil {
		return "", err
	}
	p.Executed.Time = r.Now()
	return t.Name(p.FileFields(p.Documents[0], office.FileSigned, r.KindWord(s, office.FileSigned))), nil
}

// latestPackage returns the latest package with documents, or an example.
func latestPackage(tx *store.Tx) (office.Package, error) {
	latest := office.Package{
		Name: "Lease Sonnenweg 4", Source: office.Source{Reference: "2026-118"},
		Signers:   []office.Signer{{FirstName: "Jan", LastName: "Weber"}},
		Documents: []office.Document{{ID: "1", Name: "Lease"}},
	}
	err := tx.Packages(func(p office.Package) bool {
		found := len(p.Documents) > 0
		if found {
			latest = p
		}
		return !found
	})
	return latest, err
}

// KindWord names a kind of file in the office's language. A file keeps its planned name, even if the language changes later.
func (r *Service) KindWord(s office.Settings, kind office.FileKind) string {
	p := r.indexWords(s)
	switch kind {
	case office.FileCertificate:
		return p.Text(message.FileCertificate())
	case office.FileMaster:
		return p.Text(message.FileMaster())
	}
	return p.Text(message.FileSigned())
}

// hasOtherName reports whether j's file, received as saved, is in the folder under its name with another number, and belongs to no
// other job.
func (r *Service) hasOtherName(folder *archive.Folder, j office.Job, saved archive.Saved) (bool, error) {
	there, err := folder.Series(j.WantedName())
	if err != nil {
		return false, err
	}
	for _, name := range there {
		if same, err := folder.Matches(name, saved.Size, saved.Digest); err != nil || !same {
			continue
		}
		if mine, err := r.mayHave(j, name, saved.Digest); err != nil || mine {
			return err == nil, err
		}
	}
	return false, nil
}

// mayHave reports whether the file of that name, with j's bytes, may become j's: see settle. A job with an unreadable record owns
// it.
func (r *Service) mayHave(j office.Job, name, digest string) (bool, error) {
	mine, err := data.Read(r.Data, "who has a file name", func(tx *store.Tx) (bool, error) {
		other, taken, err := tx.JobAt(j.Folder, name)
		return err == nil && (!taken || other.Key() != j.Key() && !hasFile(other, digest)), err
	})
	if store.OfOneRecord(err) {
		return false, nil
	}
	return mine, err
}

// MoveJobs moves the files still waiting for folder old to folder next, except those already named in old: a second copy must not be
// made.
func MoveJobs(tx *store.Tx, old, next string, named map[string]bool, now time.Time) {
	if old == next || old == "" || next == "" {
		return
	}
	waiting, _ := tx.UnfinishedJobs() // includes those of a service not in use, which may be used again
	for _, j := range waiting {
		if j.Folder != old || named[j.Key()] {
			continue
		}
		j.Folder = next
		j.Target = freeName(tx, next, j.WantedName(), nil)
		j.Size, j.Digest = 0, ""
		j.NextTry = now
		tx.PutJob(j)
	}
}

// leftLately is how old a package may be that this desk saves itself although it was left to another one.
const leftLately = 30 * 24 * time.Hour

// SaveHere has the packages planned that were left to another desk lately: it may be gone, and have saved none of them. What it saved
// in the same folder is recognized.
func SaveHere(tx *store.Tx, now time.Time) {
	var left []office.Package
	tx.Packages(func(p office.Package) bool {
		if jobs, _ := tx.JobsOf(p.ID); p.State == office.PackageExecuted && p.Planned && len(jobs) == 0 && now.Sub(p.Executed.Time) < leftLately {
			left = append(left, p)
		}
		return true
	})
	for _, p := range left {
		p.Planned, p.Saved, p.NextCheck = false, false, now
		tx.PutPackage(p)
	}
}

// Named returns the keys of jobs waiting for a folder whose files already have their names there, so that only recording them is
// left; if the folder does not answer, all that may have them.
func (r *Service) Named(folder string) (map[string]bool, error) {
	waiting, err := data.Read(r.Data, "the files that wait", (*store.Tx).UnfinishedJobs)
	named := map[string]bool{}
	there, openErr := archive.OpenFolder(folder)
	silent := errors.Is(openErr, os.ErrDeadlineExceeded)
	if openErr != nil && !silent {
		return named, err // the folder is empty or missing
	}
	if !silent {
		defer there.Close()
	}
	for _, j := range waiting {
		if j.Folder == folder && (silent && j.Digest != "" || !silent && isThere(there, j)) {
			named[j.Key()] = true
		}
	}
	return named, err
}

// docMounts is the document with where the disks of folders were mounted, see disk.Mount.
const docMounts = "mounts"

type mounts struct {
	Known  []string          `json:"known"`  // when the folders were last there
	Chosen map[string]string `json:"chosen"` // by folder: where it lay instead when a person chose it
}

// open opens a folder for documents. It counts as missing while its disk is not mounted: what was saved in the empty mount point would
// not be in the folder.
func (r *Service) open(path string) (*archive.Folder, error) {
	at, _ := r.mount(path)
	f, err := archive.OpenFolder(path)
	if err != nil && !errors.Is(err, archive.ErrReadOnly) {
		return f, err
	}
	away, failed := r.isAway(path, at, func() (bool, error) { return r.holdsSaved(path) })
	if now, err := r.mount(path); err != nil || now != at { // meanwhile, so f may be either
		away = true
	}
	if failed == nil && away {
		failed = &archive.Error{Kind: archive.ErrMissing, Folder: path}
	}
	if failed != nil && f != nil {
		f.Close()
		f = nil
	}
	return f, cmp.Or(failed, err)
}

// Unmounted reports whether the disk of a folder, for documents or a watched one, was mounted at it or above it and no longer is: then
// what is there is a mount point, unless mine recognizes the folder.
func (r *Service) Unmounted(path string, mine func() (bool, error)) (away bool, err error) {
	at, err := r.mount(path)
	if err != nil {
		return true, nil
	}
	return r.isAway(path, at, mine)
}

// isAway is Unmounted for a folder whose disk is mounted there.
func (r *Service) isAway(path, at string, mine func() (bool, error)) (away bool, err error) {
	m, _, err := data.Doc[mounts](r.Data, docMounts)
	chosen, accepted := m.Chosen[path]
	switch {
	case err != nil:
		return false, err
	case accepted && chosen == at:
		return false, nil
	case slices.ContainsFunc(m.Known, unmounted(path, at)):
		own, err := mine()
		return err == nil && !own, err
	case slices.Contains(m.Known, at) && !accepted:
		return false, nil
	}
	return false, r.changeMounts(func(m *mounts) {
		delete(m.Chosen, path)
		m.Known = append(slices.DeleteFunc(m.Known, func(was string) bool { return was == at }), at)
	})
}

// unmounted reports whether a disk that was mounted somewhere had the folder at path, but is not mounted any more: at is where the
// folder's disk is.
func unmounted(path, at string) func(was string) bool {
	real, err := disk.Real(path)
	return func(was string) bool { return err == nil && disk.Unmounted(was, at, real) }
}

// AcceptMount records that a person has chosen a folder as it is now, whatever was mounted there before. That holds for this folder
// alone, until it lies elsewhere.
func (r *Service) AcceptMount(path string) error {
	at, err := r.mount(path)
	if err != nil {
		return nil // it is not there
	}
	return r.changeMounts(func(m *mounts) {
		if slices.ContainsFunc(m.Known, unmounted(path, at)) {
			m.Chosen[path] = at
		}
	})
}

// ForgetMounts forgets where disks were mounted, on another computer.
func ForgetMounts(tx *store.Tx) { tx.PutDoc(docMounts, nil) }

func (r *Service) changeMounts(change func(*mounts)) error {
	return r.Data.Update(func(tx *store.Tx) error {
		var m mounts
		tx.GetDoc(docMounts, &m)
		if m.Chosen == nil {
			m.Chosen = map[string]string{}
		}
		change(&m)
		return tx.PutDoc(docMounts, m)
	})
}

// holdsSaved reports whether a folder holds the file saved last in it, of the last hundred. An older one may have been saved in its
// mount point.
func (r *Service) holdsSaved(path string) (bool, error) {
	recent, err := r.Recent(100)
	last := slices.IndexFunc(recent, func(j office.Job) bool { return j.Folder == path })
	if err != nil || last < 0 {
		return false, err
	}
	_, err = disk.Stat(recent[last].Path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// AcceptFolder is FolderChosen after a person has chosen the office's folder anew, as it is now.
func (r *Service) AcceptFolder() error {
	err := r.AcceptMount(r.deps.Settings().SaveTo)
	r.Retry()
	r.Wake()
	return err
}

// FindFolder returns why a folder for documents cannot be opened: os.ErrDeadlineExceeded, wrapped, if it does not answer.
func (r *Service) FindFolder(path string) error {
	f, err := r.open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// FolderAway returns why a folder for documents is out of reach, if it is. One in which nothing can be saved can be read.
func (r *Service) FolderAway(path string) error {
	if err := r.FindFolder(path); !errors.Is(err, archive.ErrReadOnly) {
		return err
	}
	return nil
}

// TryFolder creates a folder for documents if necessary, and checks that files can be written there; "" if they can.
func (r *Service) TryFolder(path string) office.Code {
	wrong, err := disk.Ask(path, func() (office.Code, error) {
		if err := disk.MkdirAll(path, 0o755); err != nil {
			return office.CodeNotMade, nil
		}
		f, err := archive.OpenFolder(path)
		if err != nil {
			return "", err
		}
		defer f.Close()
		return "", f.Try()
	}, nil)
	if err != nil {
		return office.CodeNotWritable
	}
	return wrong
}

// blockFolder reports once what is wrong with the folder, and postpones its files until it works again. Files that are not named yet
// do not wait for another folder than the office's, such as that of an original: they go to the office's.
func (r *Service) blockFolder(j office.Job, cause error) {
	current := r.deps.Settings().SaveTo
	if j.Folder != current && current != "" {
		named, err := r.Named(j.Folder)
		if err == nil && r.Data.Update(func(tx *store.Tx) error { MoveJobs(tx, j.Folder, current, named, r.Now()); return nil }) == nil {
			r.Wake()
		}
	}
	var moved bool
	counts, err := data.Read(r.Data, "the files that wait", func(tx *store.Tx) (c store.JobCounts, err error) {
		stored, ok, err := tx.Job(j.Key())
		if err != nil {
			return c, err
		}
		moved = !ok || stored.Folder != j.Folder
		return tx.JobCounts()
	})
	if err != nil || moved {
		return // it waits for another folder now, and nothing may clear this one's issue
	}
	r.block(j.Folder, cause)
	if j.Folder != current && r.blocked(current) {
		return // only one message, and that folder's is more important
	}
	r.Health.Set(health.FolderFails, folderMessage(j.Folder, cause, counts.Pending))
}

// folderMessage says what prevents a folder from accepting the waiting files.
func folderMessage(folder string, cause error, waiting int) message.Message {
	name := filepath.Base(folder)
	switch {
	case errors.Is(cause, archive.ErrFull):
		return message.WaitForRoom(name, waiting)
	case errors.Is(cause, archive.ErrReadOnly):
		return message.WaitForPermission(name, waiting)
	case errors.Is(cause, archive.ErrMissing):
		return message.WaitForFolder(name, waiting)
	default:
		return message.Then(archive.Message(cause), message.FilesWait(waiting))
	}
}
