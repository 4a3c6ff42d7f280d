package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"countersign/internal/agent/apply"
	"countersign/internal/agent/health"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// putDraft records that d has gone on to state, unless it was decided meanwhile: a person cancelled it or had it sent
// again, or an event told that it was sent. A draft that has its package already is never added.
func (a *Agent) putDraft(d *office.Draft, state office.DraftState) error {
	next := *d
	var sent bool
	err := a.Data.Update(func(tx *store.Tx) error {
		sent = false
		stored, ok, err := tx.Draft(d.ID)
		if err != nil {
			return err
		}
		if !ok || stored.State != d.State {
			return errDecided
		}
		next.State, next.Changed = state, a.Now()
		if stored.Away && state == office.DraftQueued {
			next.Problem = stored.Problem // it waits for its own service now, whatever that answered last
		}
		if state == office.DraftAdding {
			p, known, err := tx.PackageByDraft(d.ID)
			if err != nil {
				return err
			}
			if sent = known; sent {
				next.State, next.PackageID, next.Problem, next.NextTry = office.DraftSent, p.ID, message.Message{}, time.Time{}
			}
		}
		return tx.PutDraft(next)
	})
	if err == nil {
		*d = next
	}
	if err == nil && sent {
		err = errDecided
	}
	a.Signal(office.OutboxChanged)
	return err
}

var errDecided = errors.New("the draft was decided about meanwhile")

// draftSent records that the service has accepted d: the draft and its package in one commit.
func (a *Agent) draftSent(d office.Draft, added esign.Added) error {
	var line office.Activity
	err := a.Data.Update(func(tx *store.Tx) error {
		p, ok, err := tx.Package(added.PackageID)
		if err != nil {
			return err
		}
		if !ok { // its first event may have come before this answer
			p = office.Package{ID: added.PackageID, Created: a.Now(), Service: d.Service}
		}
		fromDraft(&p, d, a.Now())
		p.OrganizationID = cmp.Or(added.OrganizationID, p.OrganizationID)
		p.MemberID = cmp.Or(added.MemberID, p.MemberID)
		if added.Status != nil {
			apply.Status(&p, *added.Status, a.Now())
		}
		if p.NextCheck.IsZero() {
			p.NextCheck = a.Now()
		}
		if err := tx.PutPackage(p); err != nil {
			return err
		}
		d.State, d.PackageID, d.Problem, d.Changed = office.DraftSent, p.ID, message.Message{}, a.Now()
		d.NextTry = time.Time{}
		if err := tx.PutDraft(d); err != nil {
			return err
		}
		if err := rememberPeople(tx, d.Signers); err != nil {
			return err
		}
		line = office.Activity{
			Time: a.Now(), Kind: "sent", PackageID: p.ID,
			Text: message.SentTo(p.DisplayName(), len(d.Signers)),
		}
		return tx.AddActivity(line)
	})
	if err != nil {
		return fmt.Errorf("record the sent package %s: %w", added.PackageID, err)
	}
	a.Tell(line)
	a.tellUnknown()
	loop.Wake(a.rings.reconcile)
	for _, c := range []office.Change{office.OutboxChanged, office.PackagesChanged, office.StatusChanged} {
		a.Signal(c)
	}
	return nil
}

// fromDraft makes p a package that was made here, from d.
func fromDraft(p *office.Package, d office.Draft, now time.Time) {
	p.Origin, p.DraftID = office.MadeHere, d.ID
	p.Name = cmp.Or(d.Name, p.Name)
	p.Sequential = d.Sequential
	if p.Due.IsZero() {
		p.Due = d.Due
	}
	if p.State == "" {
		p.State = office.PackageOpen
	}
	if p.ExternalData == nil {
		p.ExternalData = withCorrelation(d.ExternalData, d.ID)
	}
	if len(p.Signers) == 0 {
		p.Signers = append(p.Signers, d.Signers...)
	}
	known := map[string]int{}
	for i, x := range p.Documents {
		known[x.ExternalID] = i
	}
	for _, f := range d.Files {
		i, ok := known[f.ExternalID]
		if !ok {
			p.Documents = append(p.Documents, office.Document{ExternalID: f.ExternalID})
			i = len(p.Documents) - 1
		}
		p.Documents[i].FileName = cmp.Or(f.Name, p.Documents[i].FileName)
	}
	p.AddMoment(office.Moment{Time: now, What: office.MomentSent})
}

// claimDraft makes p a package of ours when its external data carries the id of one of our drafts. A draft whose
// outcome was unknown is thereby known to be sent.
func (a *Agent) claimDraft(tx *store.Tx, p *office.Package, data json.RawMessage) error {
	id := correlation(data)
	if id == "" {
		return nil
	}
	d, ok, err := tx.Draft(id)
	if err != nil || !ok {
		return err
	}
	if other, taken, err := tx.PackageByDraft(id); err != nil || taken && other.ID != p.ID {
		return err
	}
	fromDraft(p, d, a.Now())
	// A queued draft has its answer still to come, or was sent by a life that ended before the answer was kept.
	if d.State == office.DraftUnknown || d.State == office.DraftQueued || d.State == office.DraftFailed {
		d.State, d.PackageID, d.Problem, d.Changed = office.DraftSent, p.ID, message.Message{}, a.Now()
		d.NextTry = time.Time{}
		return tx.PutDraft(d)
	}
	return nil
}

// draftRefused handles a draft that did not become a package: refused for good, to be tried again later, or with an
// outcome nobody knows.
func (a *Agent) draftRefused(ctx context.Context, d office.Draft, cause error) error {
	var bad *DraftError
	var e *esign.Error
	var file *esign.FileError
	switch {
	case errors.Is(cause, errDecided) || a.cancelled(d.ID):
		return nil
	case errors.As(cause, &bad):
		return a.failDraft(d, bad.Text)
	case errors.As(cause, &file):
		return a.failDraft(d, esign.Message(cause))
	case errors.Is(cause, esign.ErrOutcomeUnknown):
		a.Log.Warn("the outcome of packages/add is unknown", "draft", d.ID, "err", cause)
		if errors.As(cause, &e) {
			a.rest.Open(a.Now(), e.RetryAfter)
		}
		d.Problem = message.OutcomeUnknown(d.Name)
		d.NextTry = a.Now()
		err := a.putDraft(&d, office.DraftUnknown)
		a.tellUnknown()
		a.Signal(office.StatusChanged)
		return err
	case ctx.Err() != nil:
		// Stopped on the way. Before packages/add nothing is lost; after it began, recoverAdding looks into it.
		return nil
	}
	a.noteServiceError(ctx, cause)
	if a.signedOut(cause) {
		return errors.Join(a.putDraft(&d, office.DraftQueued), cause)
	}
	d.Problem = esign.Message(cause)
	if errors.As(cause, &e) && !loop.ConcernsAll(cause) {
		switch {
		case e.Kind == esign.SignedOut:
			return a.failDraft(d, message.MayNotSendDocuments())
		case !e.Temporary():
			return a.failDraft(d, d.Problem)
		}
	}
	d.Tries++
	// A service that wants to be left alone is left alone by all (noteServiceError).
	d.NextTry = a.Now().Add(a.Backoff(d.Tries, a.Pace.Retry, loop.MaxDraftPause))
	return a.putDraft(&d, office.DraftQueued)
}

func (a *Agent) failDraft(d office.Draft, problem message.Message) error {
	d.Problem = problem
	if err := a.putDraft(&d, office.DraftFailed); err != nil && !errors.Is(err, errDecided) {
		return err
	}
	a.Record(office.Activity{Kind: "problem", Text: message.Then(message.NotSent(d.Name), problem)})
	a.Signal(office.StatusChanged)
	return nil
}

// resolveUnknown looks for d's package in the service's list. Not finding it proves nothing: only an event, a listing
// or a person decides.
func (a *Agent) resolveUnknown(ctx context.Context, client *esign.Client, d office.Draft) error {
	found, more, err := a.findPackage(ctx, client, d)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil && found != "" {
		return a.draftSent(d, esign.Added{PackageID: found})
	}
	if err != nil {
		a.noteServiceError(ctx, err)
	}
	if a.signedOut(err) {
		return err
	}
	d.NextTry = a.Now()
	if !more {
		d.Tries++
		d.NextTry = a.Now().Add(a.Backoff(d.Tries, 2*a.Pace.Retry, loop.MaxUnknownPause))
	}
	return a.putDraft(&d, office.DraftUnknown)
}

// findPackage looks for d's package here and in the service's list, where a package of that age can be. more is set when
// there is more to read, which the next call does. It is called by one goroutine.
func (a *Agent) findPackage(ctx context.Context, client *esign.Client, d office.Draft) (id string, more bool, err error) {
	var known office.Package
	var ok bool
	err = a.Data.View(func(tx *store.Tx) error {
		var err error
		known, ok, err = tx.PackageByDraft(d.ID)
		return err
	})
	r := a.finding[d.ID]
	delete(a.finding, d.ID)
	if err != nil || ok {
		return known.ID, false, err
	}
	if !r.goesOn(client) {
		r = newReading(client, a.Now(), d.Created.Add(-listedMargin))
	}
	for range listRound {
		if err := a.budget.Wait(ctx); err != nil {
			return "", false, err
		}
		items, end, err := r.next(ctx)
		if err != nil {
			a.finding[d.ID] = r
			return "", false, err
		}
		for _, s := range items {
			if correlation(s.ExternalData) == d.ID {
				return s.PackageID, false, nil
			}
		}
		if end != listMore {
			return "", false, nil
		}
	}
	a.finding[d.ID] = r
	return "", true, nil
}

// Resolve is a person's decision about a draft whose outcome is unknown, that was refused or that is held: it goes out
// (again), or nothing more is done about it.
func (a *Agent) Resolve(draftID string, sendAgain bool) error {
	err := a.Data.Update(func(tx *store.Tx) error { return a.resolveDraft(tx, draftID, sendAgain) })
	a.tellUnknown()
	loop.Wake(a.rings.outbox)
	a.Signal(office.OutboxChanged)
	a.Signal(office.StatusChanged)
	return err
}

func (a *Agent) resolveDraft(tx *store.Tx, draftID string, sendAgain bool) error {
	d, ok, err := tx.Draft(draftID)
	if err != nil || !ok || d.State != office.DraftUnknown && d.State != office.DraftFailed && d.State != office.DraftHeld {
		return err
	}
	d.State, d.Problem, d.Tries, d.Changed, d.NextTry, d.Day = office.DraftCancelled, message.Message{}, 0, a.Now(), time.Time{}, 0
	if sendAgain {
		d.State, d.NextTry = office.DraftQueued, a.Now()
		for i := range d.Files {
			d.Files[i].FileID = "" // it may be what was refused, or be used up
		}
	}
	return tx.PutDraft(d)
}

// tellUnknown keeps the health issue about drafts with an unknown outcome in step.
func (a *Agent) tellUnknown() {
	var unknown []office.Draft
	err := a.Data.View(func(tx *store.Tx) error {
		var err error
		unknown, err = tx.Drafts(office.DraftUnknown)
		return err
	})
	if err != nil || len(unknown) == 0 {
		a.Health.Clear(health.OutcomeUnknown)
		return
	}
	text := message.OutcomeUnknown(unknown[0].Name)
	if len(unknown) > 1 {
		text = message.OutcomesUnknown(len(unknown))
	}
	a.Health.Set(health.OutcomeUnknown, text)
}
