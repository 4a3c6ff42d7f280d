package outbox

import (
	"context"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// pagesAtOnce is how many pages of the service's list are read in one go; the rest is owed to the next.
const pagesAtOnce = 20

// search is how far the list was read for a draft's package.
type search struct {
	client *esign.Client // whose list it is: another one's has other packages at other places
	list   List
}

// recoverAdding finds drafts whose packages/add was under way when the program ended: nobody knows whether it was
// handled, so nobody may send it again by itself.
func (r *Room) recoverAdding() error {
	err := r.Data.Update(func(tx *store.Tx) error {
		drafts, err := tx.Drafts(office.DraftAdding)
		if err != nil {
			return err
		}
		for _, d := range drafts {
			d.State, d.Changed, d.NextTry = office.DraftUnknown, r.Now(), r.Now()
			d.Problem = message.OutcomeUnknown(d.Name)
			if err := tx.PutDraft(d); err != nil {
				return err
			}
		}
		return nil
	})
	r.TellUnknown()
	return err
}

// Doubt has nothing sent by itself that may have been sent in a time of which the state knows nothing: what became of a draft
// that was to be sent is unknown, and one that waits for a person says why to look first.
func Doubt(tx *store.Tx, now time.Time) error {
	drafts, err := tx.Drafts(office.DraftHeld, office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftFailed)
	for _, d := range drafts {
		if err != nil {
			return err
		}
		switch d.State {
		case office.DraftQueued, office.DraftAdding:
			d.State, d.NextTry = office.DraftUnknown, now
			d.Problem = message.DraftOfBefore()
		case office.DraftFailed:
			d.Problem = message.Then(message.DraftOfBefore(), d.Problem)
		default:
			d.Problem = message.DraftOfBefore()
		}
		d.Changed = now
		err = tx.PutDraft(d)
	}
	return err
}

// resolveUnknown looks for d's package in the service's list. Not finding it proves nothing: only an event, a listing
// or a person decides.
func (r *Room) resolveUnknown(ctx context.Context, client *esign.Client, d office.Draft) error {
	found, more, err := r.findPackage(ctx, client, d)
	if ctx.Err() != nil {
		return nil
	}
	if err == nil && found != "" {
		return r.accepted(d, esign.Added{PackageID: found})
	}
	if err != nil {
		r.needs.Answered(ctx, err)
	}
	if r.needs.SignedOut(err) {
		return err
	}
	d.NextTry = r.Now()
	if !more {
		d.Tries++
		d.NextTry = r.Now().Add(r.Backoff(d.Tries, 2*r.Pace.Retry, maxUnknownPause))
	}
	return r.putDraft(&d, office.DraftUnknown)
}

// findPackage looks for d's package here and in the service's list, where a package of that age can be. more is set when
// there is more to read, which the next call does. It is called by one goroutine.
func (r *Room) findPackage(ctx context.Context, client *esign.Client, d office.Draft) (id string, more bool, err error) {
	known, err := data.Read(r.Data, "a draft's package", func(tx *store.Tx) (office.Package, error) {
		p, _, err := tx.PackageByDraft(d.ID)
		return p, err
	})
	s := r.searches[d.ID]
	delete(r.searches, d.ID)
	if err != nil || known.ID != "" {
		return known.ID, false, err
	}
	if s.client != client {
		s = search{client, r.needs.List(client, d)}
	}
	for range pagesAtOnce {
		page, more, err := s.list.Next(ctx)
		if err != nil {
			r.searches[d.ID] = s
			return "", false, err
		}
		r.needs.Answered(ctx, nil)
		for _, x := range page {
			if correlation(x.ExternalData) == d.ID {
				return x.PackageID, false, nil
			}
		}
		if !more {
			return "", false, nil
		}
	}
	r.searches[d.ID] = s
	return "", true, nil
}

// TellUnknown keeps the health issue about drafts with an unknown outcome in step.
func (r *Room) TellUnknown() {
	unknown, err := data.Read(r.Data, "the drafts whose outcome is unknown", func(tx *store.Tx) ([]office.Draft, error) {
		return tx.Drafts(office.DraftUnknown)
	})
	if err != nil {
		return
	}
	here := slices.DeleteFunc(slices.Clone(unknown), func(d office.Draft) bool { return d.Away })
	switch {
	case len(here) > 1:
		r.Health.Set(health.OutcomeUnknown, message.OutcomesUnknown(len(here)))
	case len(here) == 1:
		r.Health.Set(health.OutcomeUnknown, message.OutcomeUnknown(here[0].Name))
	case len(unknown) > 0: // nobody asks the service that could tell
		r.Health.Set(health.OutcomeUnknown, message.OutcomeUnknownElsewhere(unknown[0].Name))
	default:
		r.Health.Clear(health.OutcomeUnknown)
	}
}
