package reconcile

import (
	"fmt"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// maxMiss is the longest pause between two questions about a package that the service does not tell about. Nothing is
// final about such an answer: "not found" may mean "no permission at the moment" (service-facts.md, 10), roles are taken
// away and given back, packages move to other members.
const maxMiss = 24 * time.Hour

// missPackage notes that the service answered a question about a package with cause. It is asked again after pause, or
// for none after as long as this has gone on already: seconds at first, a day in the end. asked is the package as it was known
// when the question was put.
func (r *Service) missPackage(asked office.Package, cause *esign.Error, pause time.Duration) error {
	var shown bool // differently from before
	err := r.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(asked.ID)
		if err != nil || !ok {
			return err
		}
		now, before := r.Now(), p
		since := office.RefusedFor(&p.Refused, now)
		p.NextCheck = now.Add(pause)
		if pause == 0 {
			p.NextCheck = now.Add(min(max(since, 5*r.Pace.Retry), maxMiss))
			p.Gone = since >= office.WithheldAfter
		}
		r.afterEvents(&p, asked)
		if since >= office.WithheldAfter && p.State == office.PackageExecuted && !p.Planned {
			p.Problem = loop.RefusalProblem(cause)
		}
		shown = p.Gone != before.Gone || p.Problem != before.Problem
		return tx.PutPackage(p)
	})
	if err != nil {
		return fmt.Errorf("record what was said of package %s: %w", asked.ID, err)
	}
	if shown {
		r.Signal(office.PackagesChanged)
	}
	r.deps.Files.TellRefused()
	return nil
}

// noteAnswer ends what a refusal began, once the service has told about p. A package that everybody has signed, and whose
// documents it does not list, is still withheld.
func noteAnswer(p *office.Package, now time.Time) {
	p.Gone = false
	if p.State == office.PackageExecuted && !p.Planned {
		if office.RefusedFor(&p.Refused, now) >= office.WithheldAfter {
			p.Problem = message.DocumentsNotListed()
		}
		return
	}
	if !p.Refused.IsZero() {
		p.Refused, p.Problem = time.Time{}, message.Message{}
	}
}
