package agent

import (
	"fmt"
	"time"

	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/archive"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// withheldAfter is how long the service may keep to itself what everybody has signed before people are told.
const withheldAfter = time.Hour

// maxMiss is the longest pause between two questions about a package that the service does not tell about. Nothing is
// final about such an answer: "not found" may mean "no permission at the moment" (service-facts.md, 10), roles are taken
// away and given back, packages move to other members.
const maxMiss = 24 * time.Hour

// missPackage notes that the service answered a question about a package with cause. It is asked again after pause, or
// for none after as long as this has gone on already: seconds at first, a day in the end.
func (a *Agent) missPackage(id string, cause *esign.Error, pause time.Duration) error {
	var shown bool // differently from before
	err := a.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(id)
		if err != nil || !ok {
			return err
		}
		now, before := a.Now(), p
		since := office.RefusedFor(&p.Refused, now)
		p.NextCheck = now.Add(pause)
		if pause == 0 {
			p.NextCheck = now.Add(min(max(since, 5*a.Pace.Retry), maxMiss))
			p.Gone = since >= withheldAfter
		}
		if since >= withheldAfter && p.State == office.PackageExecuted && !p.Planned {
			p.Problem = loop.RefusalProblem(cause)
		}
		shown = p.Gone != before.Gone || p.Problem != before.Problem
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("record what was said of package %s: %w", id, err)
	}
	if shown {
		a.Signal(office.PackagesChanged)
	}
	a.tellWithheld()
	return nil
}

// noteAnswer ends what a refusal began, once the service has told about p. A package that everybody has signed, and whose
// documents it does not list, is still withheld.
func noteAnswer(p *office.Package, now time.Time) {
	p.Gone = false
	if p.State == office.PackageExecuted && !p.Planned {
		if office.RefusedFor(&p.Refused, now) >= withheldAfter {
			p.Problem = message.DocumentsNotListed()
		}
		return
	}
	if !p.Refused.IsZero() {
		p.Refused, p.Problem = time.Time{}, message.Message{}
	}
}

// tellWithheld keeps in step what health says of files that the service does not give: of packages that everybody has
// signed, after an hour, whatever its reason; of what goes with them, after weeks, because some documents have none.
func (a *Agent) tellWithheld() {
	names := map[string]string{} // packageId -> name
	var extras int
	err := a.Data.View(func(tx *store.Tx) error {
		clear(names)
		extras = 0
		since := a.Now().Add(-withheldAfter)
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
		a.Log.Error("look for what the service withholds", "err", err)
		return
	}
	switch len(names) {
	case 0:
		a.Health.Clear(health.FilesRefused)
	case 1:
		for _, name := range names {
			a.Health.Set(health.FilesRefused, message.PackageWithheld(name))
		}
	default:
		a.Health.Set(health.FilesRefused, message.PackagesWithheld(len(names)))
	}
	if extras == 0 {
		a.Health.Clear(health.FilesFailed)
		return
	}
	a.Health.Set(health.FilesFailed, message.FilesGivenUp(extras))
}

// tellHandedOut is tellWithheld for the moment in which something came that may have been withheld.
func (a *Agent) tellHandedOut() {
	if a.Health.Has(health.FilesRefused) || a.Health.Has(health.FilesFailed) {
		a.tellWithheld()
	}
}
