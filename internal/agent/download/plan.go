package download

import (
	"errors"
	"os"
	"path/filepath"
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

// freeName is the first of rel, "rel (2)", "rel (3)" ... that no other job has reserved and that is not in use. Where nil is given for
// that, whether a file of that name is in the folder is seen when the bytes are there: it may be the very document, saved before the
// state was lost.
func freeName(tx *store.Tx, folder, rel string, inUse map[string]bool) (string, error) {
	for i := 1; ; i++ {
		name := filename.Numbered(rel, i)
		taken, err := tx.IsTaken(folder, name)
		if err != nil || !taken && !inUse[name] {
			return name, err
		}
	}
}

// namesThere are the names that are in use in a folder of those that freeName tries for rel. A transaction must not look itself: a
// folder may take as long as it likes.
func namesThere(folder *archive.Folder, rel string) (map[string]bool, error) {
	there, err := folder.Series(rel)
	inUse := map[string]bool{}
	for _, name := range there {
		inUse[name] = true
	}
	return inUse, err
}

// settle makes the place of j's file, which is on disk, j's own: it may have been sent to another folder while the file was
// given its name, or the file may have been there before. ok is false when that place is another document's, whose file
// it is then.
func settle(tx *store.Tx, j office.Job) (ok bool, err error) {
	mine, ok, err := tx.Job(j.Key())
	if err != nil || !ok {
		return false, err
	}
	if mine.Folder == j.Folder && mine.Target == j.Target {
		return true, nil
	}
	other, taken, err := tx.JobAt(j.Folder, j.Target)
	if err != nil || !taken || other.Key() == j.Key() {
		return err == nil, err
	}
	if hasFile(other, j.Digest) {
		return false, nil
	}
	// The other had only reserved that name, or people took its file away and another computer gave the name to j's: to respect
	// that would drive one of the two to a second copy. It gets another one. Whoever is saving it now meets j's file or errMoved.
	if other.State != office.JobDone {
		other.Size, other.Digest = 0, ""
	}
	if other.Target, err = freeName(tx, other.Folder, other.WantedName(), nil); err != nil {
		return false, err
	}
	mine.Folder, mine.Target = j.Folder, j.Target
	return true, errors.Join(tx.PutJob(other), tx.PutJob(mine))
}

// hasFile reports whether the file with that digest at j's place is j's: it is saved, or about to get its name; or nothing is known of
// j, because its record cannot be read. Else j has only reserved the name, or its file is gone.
func hasFile(j office.Job, digest string) bool {
	return j.Digest == digest || j.Digest == "" && j.State == office.JobDone
}

// Folder is where p's documents go: the office's folder, or beside the original when that was chosen and it is
// still there. Where a draft that cannot be read had its original nobody will know later either, and its documents are
// not to wait for that.
func (r *Service) Folder(s office.Settings, p office.Package) (string, error) {
	if !s.BesideOriginal || p.DraftID == "" {
		return s.SaveTo, nil
	}
	d, _, err := r.Data.Draft(p.DraftID)
	if err != nil && !store.OfOneRecord(err) {
		return "", err
	}
	if d.Folder != "" {
		return s.SaveTo, nil // a hot folder would send what is saved in it; it has its own copies of it
	}
	if len(d.Files) > 0 {
		folder := filepath.Dir(d.Files[0].Path)
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder, nil
		}
	}
	return s.SaveTo, nil
}

// Plan records a job per wanted file of an executed package, each with its name, before the first byte is asked for. It
// may be called again for documents that were not known before; whether all are known now is for the caller to say
// (office.Package.Planned).
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
		if p.Executed.By { // who knows who has saved it before, such as the office's last computer
			j.Listed = noSum
		}
		if _, known, err := tx.Job(j.Key()); err != nil || known {
			return err
		}
		j.Wanted = names.Name(p.FileFields(d, kind, r.KindWord(s, kind)))
		var err error
		if j.Target, err = freeName(tx, folder, j.Wanted, nil); err != nil {
			return err
		}
		ok, err := tx.PlanJob(j)
		if ok {
			planned++
		}
		return err
	}
	for _, d := range p.Documents {
		if d.ID == "" {
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

// PreviewName is what the files of a real package, the latest one, would be called with s; of a made-up one where
// there is none. A pattern that is wrong is an *office.ConfigError, as Settings.Check finds it.
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

// latestPackage is the latest package that has documents, or one that shows what names look like.
func latestPackage(tx *store.Tx) (office.Package, error) {
	latest := office.Package{
		Name: "Lease Sonnenweg 4", Source: office.Source{Reference: "2026-118"},
		Signers:   []office.Signer{{FirstName: "Jan", LastName: "Weber"}},
		Documents: []office.Document{{ID: "1", Name: "Lease"}},
	}
	err := tx.Packages(func(p office.Package) bool {
		if len(p.Documents) > 0 {
			latest = p
		}
		return len(p.Documents) == 0
	})
	return latest, err
}

// KindWord is what a kind of file is called in the language of an office. A file keeps the name that it was planned with, whatever
// language the office chooses later.
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

// hasOtherName reports whether j's file, of which saved was received, is in the folder under its name with another number, and is
// nobody else's.
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

// mayHave reports whether the file of that name, whose bytes are j's, may become j's: see settle. One whose record cannot
// be read has it.
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

// MoveJobs sends the files that still wait for folder old to folder next, but not those that are named there already: they stay
// the only ones of their documents.
func MoveJobs(tx *store.Tx, old, next string, named map[string]bool, now time.Time) error {
	if old == next || old == "" || next == "" {
		return nil
	}
	waiting, err := tx.UnfinishedJobs() // also those of a service not in use: it may be used again
	if err != nil {
		return err
	}
	for _, j := range waiting {
		if j.Folder != old || named[j.Key()] {
			continue
		}
		j.Folder = next
		if j.Target, err = freeName(tx, next, j.WantedName(), nil); err != nil {
			return err
		}
		j.Size, j.Digest = 0, ""
		j.NextTry = now
		if err := tx.PutJob(j); err != nil {
			return err
		}
	}
	return nil
}

// Named are the jobs, by their keys, that wait for a folder, and whose files have their names there: all that is left to do is to
// record them. It takes as long as the folder does.
func (r *Service) Named(folder string) (map[string]bool, error) {
	waiting, err := data.Read(r.Data, "the files that wait", (*store.Tx).UnfinishedJobs)
	named := map[string]bool{}
	there, openErr := archive.OpenFolder(folder)
	if openErr != nil {
		return named, err // nothing is there
	}
	defer there.Close()
	for _, j := range waiting {
		if j.Folder == folder && isThere(there, j) {
			named[j.Key()] = true
		}
	}
	return named, err
}

// TryFolder makes a folder for documents if need be, and makes sure that files can be written there; "" when they can.
func TryFolder(path string) office.Code {
	if err := disk.MkdirAll(path, 0o755); err != nil {
		return office.CodeNotMade
	}
	f, err := archive.OpenFolder(path)
	if err != nil {
		return office.CodeNotWritable
	}
	defer f.Close()
	if f.Try() != nil {
		return office.CodeNotWritable
	}
	return ""
}

// blockFolder says once what is wrong with the folder, and leaves its files until it is well again.
func (r *Service) blockFolder(j office.Job, cause error) error {
	var moved bool
	counts, err := data.Read(r.Data, "the files that wait", func(tx *store.Tx) (c store.JobCounts, err error) {
		stored, ok, err := tx.Job(j.Key())
		if err != nil {
			return c, err
		}
		moved = !ok || stored.Folder != j.Folder
		return tx.JobCounts()
	})
	if err != nil {
		return err
	}
	if moved {
		return nil // it waits for another folder by now, and nobody may look at this one again
	}
	r.block(j.Folder, cause)
	if current := r.deps.Settings().SaveTo; j.Folder != current && r.blocked(current) {
		return nil // one message, and that folder's matters more
	}
	r.Health.Set(health.FolderFails, folderMessage(j.Folder, cause, counts.Pending))
	return nil
}

// folderMessage says what keeps a folder from taking files, of which waiting wait.
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
