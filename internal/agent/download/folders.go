package download

import (
	"errors"
	"path/filepath"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/disk"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// MoveJobs sends the files that still wait for folder old to folder next, but not those that are named there already: they stay
// the only ones of their documents. The old folder is remembered for its leftovers.
func MoveJobs(tx *store.Tx, old, next string, named map[string]bool, now loop.Clock) error {
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
		if j.Target, err = freeTarget(tx, next, j.WantedName()); err != nil {
			return err
		}
		j.Size, j.Digest = 0, ""
		j.NextTry = now()
		if err := tx.PutJob(j); err != nil {
			return err
		}
	}
	return leaveFolder(tx, old)
}

// Named are the jobs, by their keys, that wait for a folder, and whose files have their names there: all that is left to do is to
// record them. It takes as long as the folder does.
func (r *Service) Named(folder string) (map[string]bool, error) {
	waiting, err := data.Read(r.Data, "the files that wait", (*store.Tx).UnfinishedJobs)
	named := map[string]bool{}
	for _, j := range waiting {
		if j.Folder == folder && wasNamed(j) {
			named[j.Key()] = true
		}
	}
	return named, err
}

// wasNamed reports whether the file of j, which waits, has its name already.
func wasNamed(j office.Job) bool {
	if j.Digest == "" { // whose bytes were never complete
		return false
	}
	folder, err := archive.OpenFolder(j.Folder)
	if err != nil {
		return false
	}
	defer folder.Close()
	return isThere(folder, j)
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
	r.state.block(j.Folder, errors.Is(cause, archive.ErrFull), r.Now(), func(n int) time.Duration { return r.Backoff(n, r.Pace.Folder, maxFolderPause) })
	if current := r.deps.Settings().SaveTo; j.Folder != current && r.state.isBlocked(current, r.Now()) {
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
