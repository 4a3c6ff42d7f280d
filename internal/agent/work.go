package agent

import (
	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// moreToCome reports whether something is under way that may end as a fact: an event, a question to the service, a file.
// Whatever ended before has announced its facts.
func (a *Agent) moreToCome() bool {
	now := a.Now()
	_, online := a.account.Online()
	asking := online && a.Breaker.Left(now) == 0
	saving := a.saves.Flowing()
	found, err := data.Read(a.Data, "whether something is under way", func(tx *store.Tx) (found int, err error) {
		events, _, err := tx.PendingEvents("", 1)
		found = len(events)
		if err == nil && asking {
			var packages []office.Package
			packages, err = tx.PackagesDue(a.Due(loop.MaxPackageWait), 1)
			found += len(packages)
		}
		if err == nil && saving {
			var jobs []office.Job
			jobs, err = tx.JobsDue(a.Due(loop.MaxJobWait), 1, nil)
			found += len(jobs)
		}
		return found, err
	})
	// Looked at last: what is recorded is announced a moment later, by whoever is still at work.
	return err == nil && found+a.packages.Backlog()+a.saves.UnderWay() > 0
}

// While more than this many packages or files wait, the agent is catching up.
const catchingUpMany = 5

// catchingUp reports whether more waits than the ordinary work of a moment: packages to be asked about, or files to be
// saved that nothing keeps from it.
func (a *Agent) catchingUp() bool {
	if a.packages.Backlog() > catchingUpMany {
		return true
	}
	if !a.saves.Flowing() {
		return false
	}
	due, err := data.Read(a.Data, "how much is under way", func(tx *store.Tx) ([]office.Job, error) {
		return tx.JobsDue(a.Due(loop.MaxJobWait), catchingUpMany+1, nil)
	})
	return err == nil && len(due) > catchingUpMany
}
