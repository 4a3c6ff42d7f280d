package download

import (
	"fmt"
	"maps"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Recent returns the files saved last, newest first.
func (r *Service) Recent(limit int) ([]office.Job, error) {
	return data.Read(r.Data, "the saved files", func(tx *store.Tx) ([]office.Job, error) { return tx.RecentSaved(limit) })
}

// SaveAgain fetches the files of an executed package once more. One that is missing gets its name back; one that is there
// as it was stays; beside one that was changed the next free name is taken.
func (r *Service) SaveAgain(packageID string) error {
	s := r.deps.Settings()
	inUse, err := r.namesInUse(packageID, s.SaveTo)
	if err != nil {
		return fmt.Errorf("save package %s again: %w", packageID, err)
	}
	err = r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(packageID)
		if err != nil || !ok || p.State != office.PackageExecuted {
			return err
		}
		jobs, err := tx.JobsOf(packageID)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			target, folder := j.Target, j.Folder
			j.State, j.Planned, j.NextTry = office.JobPending, r.Now(), r.Now()
			j.Tries, j.Problem, j.Size, j.Digest = 0, message.Message{}, 0, ""
			j.Unproven, j.UnprovenAt = "", time.Time{}
			if j.Folder != s.SaveTo && !s.BesideOriginal {
				j.Folder = s.SaveTo
			}
			if err := nameAgain(tx, &j, inUse[j.Folder]); err != nil {
				return err
			}
			if j.Target != target || j.Folder != folder {
				j.Listed = "" // another file for the index
			}
			if err := tx.PutJob(j); err != nil {
				return err
			}
		}
		p.Saved, p.Planned = false, p.Planned && len(jobs) > 0
		p.NextCheck = r.Now() // where nothing is planned, the service is asked once more
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("save package %s again: %w", packageID, err)
	}
	loop.Wake(r.work)
	r.deps.Ask()
	r.Signal(office.PackagesChanged)
	return nil
}

// namesInUse are the names that are in use, of those that the files of a package may get, by the folders in which they may lie. Of a
// folder that is out of reach only the names of other jobs are known; the save itself never overwrites.
func (r *Service) namesInUse(packageID, saveTo string) (map[string]map[string]bool, error) {
	jobs, err := data.Read(r.Data, "the files of a package", func(tx *store.Tx) ([]office.Job, error) { return tx.JobsOf(packageID) })
	inUse := map[string]map[string]bool{}
	for _, j := range jobs {
		for _, at := range []string{j.Folder, saveTo} {
			folder, err := archive.OpenFolder(at)
			if err != nil {
				continue
			}
			if inUse[at] == nil {
				inUse[at] = map[string]bool{}
			}
			for _, name := range []string{j.Target, j.WantedName()} {
				there, err := namesThere(folder, name)
				if err != nil {
					folder.Close()
					return nil, err
				}
				maps.Copy(inUse[at], there)
			}
			folder.Close()
		}
	}
	return inUse, err
}

// nameAgain keeps j's name when no file and no other job has it, and chooses the next free one otherwise.
func nameAgain(tx *store.Tx, j *office.Job, inUse map[string]bool) error {
	other, taken, err := tx.JobAt(j.Folder, j.Target)
	if err != nil || !(taken && other.Key() != j.Key()) && !inUse[j.Target] {
		return err
	}
	j.Target, err = freeName(tx, j.Folder, j.WantedName(), inUse)
	return err
}

// RetryFailed asks for the files now that the service did not give for weeks, and as often as for new ones.
func (r *Service) RetryFailed() error {
	err := r.Data.Update(func(tx *store.Tx) error {
		failed, err := tx.FailedJobs()
		if err != nil {
			return err
		}
		for _, j := range failed {
			j.State, j.Planned, j.NextTry, j.Tries, j.Problem = office.JobPending, r.Now(), r.Now(), 0, message.Message{}
			if err := tx.PutJob(j); err != nil {
				return err
			}
		}
		return nil
	})
	r.TellRefused()
	if err != nil {
		return fmt.Errorf("try the failed files again: %w", err)
	}
	return nil
}
