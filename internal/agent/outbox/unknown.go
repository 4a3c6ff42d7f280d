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

// recoverAdding finds drafts whose packages/add was under way when the program ended: nobody knows whether it was
// handled, so nobody may send it again by itself.
func (r *Service) recoverAdding() error {
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
		d.Changed, d.Decision = now, office.Decision{}
		err = tx.PutDraft(d)
	}
	return err
}

// searching tells the search for packages from whatever else can be set aside.
const searching = "the search for the packages of drafts"

// resolveUnknown looks for the packages of all drafts whose outcome is unknown, in one reading of the service's list: many may
// have lost their answers together, and the service is not asked for each. Not finding one proves nothing: only an event, a
// listing or a person decides.
func (r *Service) resolveUnknown(ctx context.Context, client *esign.Client) error {
	unknown, err := r.unknownAt(ctx, client)
	if err != nil || len(unknown) == 0 {
		return err
	}
	s := r.unknown
	if !s.goesOn(client) {
		s = r.search(client, unknown)
	}
	more := false
	err = r.One(ctx, searching, func() (err error) {
		more, err = s.read(ctx, r.deps.Answered)
		return err
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		r.deps.Answered(ctx, err)
	}
	if r.deps.SignedOut(err) {
		return err
	}
	r.noteList(err)
	if r.unknown = nil; more {
		r.unknown = s
	}
	for _, d := range unknown {
		found, looked := s.found[d.ID], s.isFor(d) && (err != nil || !more)
		err := r.one(ctx, d, func() error {
			switch {
			case found != "":
				return r.accepted(d, esign.Added{PackageID: found})
			case looked:
				d.Tries++
				d.NextTry = r.Now().Add(r.Backoff(d.Tries, 2*r.Pace.Retry, maxUnknownPause))
				return r.putDraft(&d, office.DraftUnknown)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// unknownAt are the drafts whose outcome is unknown and that client's list may tell of. Those whose package is known by now,
// by its events, are settled.
func (r *Service) unknownAt(ctx context.Context, client *esign.Client) ([]office.Draft, error) {
	packages := map[string]string{}
	unknown, err := data.Read(r.Data, "the drafts whose outcome is unknown", func(tx *store.Tx) ([]office.Draft, error) {
		unknown, err := tx.Drafts(office.DraftUnknown)
		for _, d := range unknown {
			p, _, err := tx.PackageByDraft(d.ID)
			if err != nil && !store.OfOneRecord(err) { // which holds up no other
				return nil, err
			}
			packages[d.ID] = p.ID
		}
		return unknown, err
	})
	if err != nil {
		return nil, err
	}
	var here []office.Draft
	for _, d := range unknown {
		switch id := packages[d.ID]; {
		case d.Away || d.Service != client.Home() || r.LeftAlone(key(d)):
		case id == "":
			here = append(here, d)
		default:
			if err := r.one(ctx, d, func() error { return r.accepted(d, esign.Added{PackageID: id}) }); err != nil {
				return nil, err
			}
		}
	}
	return here, nil
}

// TellUnknown keeps the health issue about drafts with an unknown outcome in step.
func (r *Service) TellUnknown() {
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
