package download

import (
	"countersign/internal/agent/health"
	"countersign/internal/archive"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// TellRefused keeps in step what health says of files that the service does not give: of packages that everybody has
// signed, after an hour, whatever its reason; of what goes with them, after weeks, because some documents have none.
func (r *Room) TellRefused() {
	names := map[string]string{} // packageId -> name
	var extras int
	err := r.Data.View(func(tx *store.Tx) error {
		clear(names)
		extras = 0
		since := r.Now().Add(-office.WithheldAfter)
		packages, err := tx.PackagesRefused(since)
		if err != nil {
			return err
		}
		for _, p := range packages {
			names[p.ID] = p.DisplayName()
		}
		jobs, err := tx.JobsRefused(since)
		for _, j := range jobs {
			if _, known := names[j.PackageID]; j.Kind != string(archive.Executed) || known {
				continue
			}
			p, _, err := tx.Package(j.PackageID)
			if err != nil {
				return err
			}
			names[j.PackageID] = p.DisplayName()
		}
		if err != nil {
			return err
		}
		failed, err := tx.FailedJobs()
		for _, j := range failed {
			if j.Kind != string(archive.Executed) {
				extras++
			}
		}
		return err
	})
	if err != nil {
		r.Log.Error("look for what the service withholds", "err", err)
		return
	}
	switch len(names) {
	case 0:
		r.Health.Clear(health.FilesRefused)
	case 1:
		for _, name := range names {
			r.Health.Set(health.FilesRefused, message.PackageWithheld(name))
		}
	default:
		r.Health.Set(health.FilesRefused, message.PackagesWithheld(len(names)))
	}
	if extras == 0 {
		r.Health.Clear(health.FilesFailed)
		return
	}
	r.Health.Set(health.FilesFailed, message.FilesGivenUp(extras))
}

// TellGiven is TellRefused for the moment in which something came that may have been withheld.
func (r *Room) TellGiven() {
	if r.Health.Has(health.FilesRefused) || r.Health.Has(health.FilesFailed) {
		r.TellRefused()
	}
}
