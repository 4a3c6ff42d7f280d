package outbox

import (
	"context"
	"errors"

	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
)

// refused handles a draft that did not become a package: refused for good, to be tried again later, or with an outcome
// nobody knows.
func (r *Service) refused(ctx context.Context, d office.Draft, cause error) error {
	var bad *DraftError
	var e *esign.Error
	var file *esign.FileError
	switch {
	case errors.Is(cause, errDecided) || r.live.cancelled(d.ID):
		return nil
	case errors.As(cause, &bad):
		return r.fail(d, bad.Text)
	case errors.As(cause, &file):
		return r.fail(d, esign.Message(cause))
	case errors.Is(cause, esign.ErrOutcomeUnknown):
		r.Log.Warn("the outcome of packages/add is unknown", "draft", d.ID, "err", cause)
		if errors.As(cause, &e) {
			r.deps.LeaveAlone(e.RetryAfter)
		}
		d.Problem = message.OutcomeUnknown(d.Name)
		d.NextTry = r.Now()
		err := r.putDraft(&d, office.DraftUnknown)
		r.TellUnknown()
		r.Signal(office.StatusChanged)
		return err
	case ctx.Err() != nil:
		// Stopped on the way. Before packages/add nothing is lost; after it began, recoverAdding looks into it.
		return nil
	}
	r.deps.Answered(ctx, cause)
	if r.deps.SignedOut(cause) {
		return errors.Join(r.putDraft(&d, office.DraftQueued), cause)
	}
	if d.Problem = templateProblem(d, cause); d.Problem.IsZero() {
		d.Problem = esign.Message(cause)
	}
	if errors.As(cause, &e) && !loop.ConcernsAll(cause) {
		switch {
		case e.Kind == esign.SignedOut:
			return r.fail(d, message.MayNotSendDocuments())
		case !e.Temporary():
			return r.fail(d, d.Problem)
		}
	}
	d.Tries++
	r.failed()
	// A service that wants to be left alone is left alone by all (Deps.Answered).
	d.NextTry = r.Now().Add(r.Backoff(d.Tries, r.Pace.Retry, maxDraftPause))
	return r.putDraft(&d, office.DraftQueued)
}

func (r *Service) fail(d office.Draft, problem message.Message) error {
	d.Problem = problem
	if err := r.putDraft(&d, office.DraftFailed); err != nil && !errors.Is(err, errDecided) {
		return err
	}
	r.Record(office.Activity{Kind: "problem", Text: message.Then(message.NotSent(d.Name), problem)})
	r.Signal(office.StatusChanged)
	return nil
}
