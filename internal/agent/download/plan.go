package download

import (
	"errors"
	"os"
	"path/filepath"

	"countersign/internal/agent/data"
	"countersign/internal/archive"
	"countersign/internal/office"
	"countersign/internal/office/filename"
	"countersign/internal/store"
)

// freeTarget is the first of rel, "rel (2)", "rel (3)" ... that no other job has reserved. Whether a file of that name
// is in the folder is seen when the bytes are there: it may be the very document, saved before the state was lost.
func freeTarget(tx *store.Tx, folder, rel string) (string, error) {
	return freeName(tx, folder, rel, nil)
}

// freeName is freeTarget for a name that is not in use either.
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
	// The other had only reserved that name, which would drive one of the two to a second copy. It gets the name that j
	// had, if that is in the same folder: its own file may be the one that is there. Whoever is saving it now meets j's
	// file or errMoved.
	there, given := mine.Folder == j.Folder, mine.Target
	other.Size, other.Digest = 0, ""
	if other.Target, err = freeTarget(tx, other.Folder, other.WantedName()); err != nil {
		return false, err
	}
	mine.Folder, mine.Target = j.Folder, j.Target
	if err := errors.Join(tx.PutJob(other), tx.PutJob(mine)); err != nil {
		return false, err
	}
	if there {
		other.Target = given
		return true, tx.PutJob(other)
	}
	return true, nil
}

// hasFile reports whether the file with that digest at j's place is j's: it is saved, or about to get its name. Else j has
// only reserved the name.
func hasFile(j office.Job, digest string) bool {
	return j.State == office.JobDone || j.Digest == digest
}

// Folder is where p's documents go: the office's folder, or beside the original when that was chosen and it is
// still there. Where a draft that cannot be read had its original nobody will know later either, and its documents are
// not to wait for that.
func (r *Service) Folder(s office.Settings, p office.Package) (string, error) {
	if !s.BesideOriginal || p.DraftID == "" {
		return s.SaveTo, nil
	}
	d, err := data.Read(r.Data, "a package's draft", func(tx *store.Tx) (office.Draft, error) {
		d, _, err := tx.Draft(p.DraftID)
		return d, err
	})
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
	names := s.FileTemplate()
	add := func(d office.Document, kind office.FileKind) error {
		j := office.Job{
			PackageID: p.ID, DocumentID: d.ID, Kind: kind, Folder: folder,
			State: office.JobPending, Planned: r.Now(), NextTry: r.Now(),
		}
		if _, known, err := tx.Job(j.Key()); err != nil || known {
			return err
		}
		j.Wanted = names.Name(p.FileFields(d, kind, r.KindWord(s, kind)))
		var err error
		if j.Target, err = freeTarget(tx, folder, j.Wanted); err != nil {
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
		if err := add(d, office.FileSigned); err != nil {
			return planned, err
		}
		if s.SaveCAC {
			if err := add(d, office.FileCertificate); err != nil {
				return planned, err
			}
		}
	}
	if s.SaveMaster {
		if err := add(office.Document{}, office.FileMaster); err != nil {
			return planned, err
		}
	}
	return planned, nil
}
