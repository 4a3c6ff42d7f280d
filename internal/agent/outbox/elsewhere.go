package outbox

import (
	"context"
	"errors"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// LookFirst has the service's list read for every draft that waits to be sent, right before it is sent: another computer, to which the same
// file was brought over, may have sent it a moment ago.
func LookFirst(tx *store.Tx) error {
	drafts, err := tx.Drafts(office.DraftQueued, office.DraftHeld, office.DraftFailed, office.DraftUnknown)
	for _, d := range drafts {
		if err != nil {
			return err
		}
		if d.State != office.DraftQueued && !d.Decision.Send {
			continue
		}
		d.LookFirst = true
		err = tx.PutDraft(d)
	}
	return err
}

// sentElsewhere looks for d's package, which was to be sent now. It is to be sent if goOn. Where the list cannot tell, the outcome
// is unknown, and a person decides.
func (r *Room) sentElsewhere(ctx context.Context, client *esign.Client, d office.Draft) (goOn bool, err error) {
	found, err := r.findPackage(ctx, client, d)
	var e *esign.Error
	switch {
	case ctx.Err() != nil:
		return false, nil
	case found != "":
		return false, r.accepted(d, esign.Added{PackageID: found})
	case err == nil:
		return true, nil
	case loop.ConcernsAll(err), errors.As(err, &e) && (e.Kind == esign.SignedOut || e.Temporary() && e.Kind != esign.BadAnswer):
		return false, r.refused(ctx, d, err)
	}
	r.Log.Warn("the list does not tell whether a draft was sent elsewhere", "draft", d.ID, "err", err)
	d.Problem, d.NextTry = message.DraftOfBefore(), r.Now()
	err = r.putDraft(&d, office.DraftUnknown)
	r.TellUnknown()
	r.Signal(office.StatusChanged)
	return false, err
}

// findPackage looks for d's package here and in the service's list, where a package of that age can be. The list is read from its
// beginning to its end in one go: what another computer sent after the beginning was read is missed, so that this is not to be longer
// ago than it must. For the same reason each draft has a reading of its own.
func (r *Room) findPackage(ctx context.Context, client *esign.Client, d office.Draft) (id string, err error) {
	known, err := data.Read(r.Data, "a draft's package", func(tx *store.Tx) (office.Package, error) {
		p, _, err := tx.PackageByDraft(d.ID)
		return p, err
	})
	if err != nil || known.ID != "" {
		return known.ID, err
	}
	s := r.search(client, []office.Draft{d})
	for more := true; more && err == nil; {
		more, err = s.read(ctx, r.needs.Answered)
	}
	return s.found[d.ID], err
}
