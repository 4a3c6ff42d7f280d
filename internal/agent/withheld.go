package agent

import (
	"fmt"
	"sync"
	"time"

	"countersign/internal/agent/health"
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
		since := refusedFor(&p.Refused, now)
		p.NextCheck = now.Add(pause)
		if pause == 0 {
			p.NextCheck = now.Add(min(max(since, 5*a.Pace.Retry), maxMiss))
			p.Gone = since >= withheldAfter
		}
		if since >= withheldAfter && p.State == office.PackageExecuted && !p.Planned {
			p.Problem = refusalProblem(cause)
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

// refusedFor begins to count at now, unless refused is set, and returns how long it has been going on. A time to come
// is that of a clock that was wrong.
func refusedFor(refused *time.Time, now time.Time) time.Duration {
	if refused.IsZero() || refused.After(now) {
		*refused = now
	}
	return now.Sub(*refused)
}

// noteAnswer ends what a refusal began, once the service has told about p. A package that everybody has signed, and whose
// documents it does not list, is still withheld.
func noteAnswer(p *office.Package, now time.Time) {
	p.Gone = false
	if p.State == office.PackageExecuted && !p.Planned {
		if refusedFor(&p.Refused, now) >= withheldAfter {
			p.Problem = "The signing service does not list the documents of this package."
		}
		return
	}
	if !p.Refused.IsZero() {
		p.Refused, p.Problem = time.Time{}, ""
	}
}

// refusalProblem is what keeps a file from being saved, for people.
func refusalProblem(cause *esign.Error) string {
	if cause.Kind == esign.SignedOut { // the sign-in works: others are given
		return "Your account does not have permission to download this document."
	}
	return esign.Sentence(cause)
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
			if j.Kind != string(archive.Executed) || names[j.PackageID] != "" {
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
			a.Health.Set(health.FilesRefused, message.Plain(fmt.Sprintf(
				"Everyone has signed %s, but the signing service does not provide it. Countersign keeps asking. Try again, or sign in with an account that has permission to see it.",
				office.Quote(name))))
		}
	default:
		a.Health.Set(health.FilesRefused, message.Plain(fmt.Sprintf(
			"Everyone has signed %d packages, but the signing service does not provide them. Countersign keeps asking. Try again, or sign in with an account that has permission to see them.",
			len(names))))
	}
	if extras == 0 {
		a.Health.Clear(health.FilesFailed)
		return
	}
	a.Health.Set(health.FilesFailed, message.Plain(fmt.Sprintf(
		"%s could not be saved. The signing service has not provided %s for two weeks. Try again, or download %s from the signing service's website.",
		office.Counted(extras, "document", "documents"), office.OneOrMany(extras, "it", "them"), office.OneOrMany(extras, "it", "them"))))
}

// tellHandedOut is tellWithheld for the moment in which something came that may have been withheld.
func (a *Agent) tellHandedOut() {
	if a.Health.Has(health.FilesRefused) || a.Health.Has(health.FilesFailed) {
		a.tellWithheld()
	}
}

// singled tells the trouble with one thing from the trouble with the service: between two failures of the one, the
// service gave an answer to something else. Safe for concurrent use.
type singled struct {
	mu      sync.Mutex
	answers int
	failed  map[string]int // what failed -> answers by then
}

// answered notes an answer to whatever question.
func (s *singled) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers++
}

// fail notes that key failed and reports whether the trouble is its alone.
func (s *singled) fail(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = map[string]int{}
	}
	before, again := s.failed[key]
	s.failed[key] = s.answers
	return again && s.answers > before
}

// work notes that key does not fail any more.
func (s *singled) work(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failed, key)
}

// refuses reports whether a failure is the service's answer about the thing that is kept under key, rather than the
// trouble of the moment that everything has.
func (a *Agent) refuses(key string, err *esign.Error) bool {
	switch err.Kind {
	case esign.TooMany:
		return false
	case esign.Network:
		return a.singled.fail(key)
	default:
		return true
	}
}
