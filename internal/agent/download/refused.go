package download

import (
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// TellRefused keeps in step what health says of files that the service does not give: of packages that everybody has
// signed, after an hour, whatever its reason; of what goes with them, after weeks, because some documents have none.
func (r *Service) TellRefused() {
	packages, extras, err := r.withheld()
	if err != nil {
		return // what is wrong stays as it was said
	}
	switch len(packages) {
	case 0:
		r.Health.Clear(health.FilesRefused)
	case 1:
		for _, name := range packages {
			r.Health.Set(health.FilesRefused, message.PackageWithheld(name))
		}
	default:
		r.Health.Set(health.FilesRefused, message.PackagesWithheld(len(packages)))
	}
	if extras == 0 {
		r.Health.Clear(health.FilesFailed)
		return
	}
	r.Health.Set(health.FilesFailed, message.FilesGivenUp(extras))
}

// withheld are the names of the packages, by their ids, whose signed documents the service does not give, and how many
// other files it does not.
func (r *Service) withheld() (packages map[string]string, extras int, err error) {
	packages, err = data.Read(r.Data, "what the service does not give", func(tx *store.Tx) (map[string]string, error) {
		names := map[string]string{}
		since := r.Now().Add(-office.WithheldAfter)
		packages, err := tx.PackagesRefused(since)
		if err != nil {
			return nil, err
		}
		for _, p := range packages {
			names[p.ID] = p.DisplayName()
		}
		jobs, err := tx.JobsRefused(since)
		if err != nil {
			return nil, err
		}
		for _, j := range jobs {
			if _, known := names[j.PackageID]; j.Kind != office.FileSigned || known {
				continue
			}
			p, _, err := tx.Package(j.PackageID) // without its name when that cannot be read
			if err != nil && !store.OfOneRecord(err) {
				return nil, err
			}
			names[j.PackageID] = p.DisplayName()
		}
		failed, err := tx.FailedJobs()
		for _, j := range failed {
			if j.Kind != office.FileSigned {
				extras++
			}
		}
		return names, err
	})
	return packages, extras, err
}

// TellGiven is TellRefused for the moment in which something came that may have been withheld.
func (r *Service) TellGiven() {
	if r.Health.Has(health.FilesRefused) || r.Health.Has(health.FilesFailed) {
		r.TellRefused()
	}
}
