package withdraw

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/agent/loop"
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// try brings the withdrawal of p a step further. It returns only errors that concern the service or the disk as a whole.
func (r *Service) try(ctx context.Context, client *esign.Client, p office.Package) error {
	w := *p.Withdrawal
	if w.State != office.WithdrawWanted || w.AskFirst {
		open, err := r.ask(ctx, client, p.ID)
		if err != nil || !open {
			return err
		}
		if w.Damaged { // asked again, it might notify people who were not to be told, in words that nobody chose
			return r.refuse(p.ID, message.WithdrawalLost())
		}
		if w.State == office.WithdrawAccepted { // the service is slow to show it
			return r.putOff(p.ID, office.WithdrawAccepted, message.Message{})
		}
	}
	begun, err := r.step(p.ID, func(now *office.Withdrawal) {
		w = *now // it may be another wish by now
		now.State = office.WithdrawAsked
	})
	if err != nil || !begun {
		return err
	}
	r.deps.Crash("rescinding")
	err = client.Rescind(ctx, p.ID, w.Message, !w.Quiet)
	r.deps.Crash("rescinded")
	if ctx.Err() != nil {
		return nil // what became of it is found out later
	}
	return r.answered(ctx, client, p.ID, w.State, err)
}

// answered goes on after packages/rescind was answered with err, nil for yes. What clearly did nothing leaves the wish as it
// was before: an earlier call, whose answer was lost, may still do it.
func (r *Service) answered(ctx context.Context, client *esign.Client, id string, before office.WithdrawalState, err error) error {
	var e *esign.Error
	errors.As(err, &e)
	switch {
	case err == nil:
		r.deps.Answered(ctx, nil)
		if _, err := r.step(id, func(w *office.Withdrawal) { w.State = office.WithdrawAccepted }); err != nil {
			return err
		}
	case r.deps.SignedOut(err):
		_, kept := r.step(id, func(w *office.Withdrawal) { w.State = before })
		return errors.Join(kept, err)
	case e == nil:
		return err
	case e.Kind != esign.Unknown && e.Temporary():
		r.deps.Answered(ctx, err)
		return r.putOff(id, before, esign.Message(err))
	case notKnown(err):
		r.deps.Answered(ctx, err)
		if _, err := r.step(id, func(w *office.Withdrawal) { w.State = before }); err != nil {
			return err
		}
	default:
		r.deps.Answered(ctx, err)
	}
	open, failed := r.ask(ctx, client, id)
	switch {
	case failed != nil || !open:
		return failed
	case err == nil:
		return r.putOff(id, office.WithdrawAccepted, message.Message{})
	case esign.NotOffered(err):
		r.notOffered.Failed(client.Home(), r.Now(), loop.NotOfferedFor)
		r.Signal(office.StatusChanged)
		return r.refuse(id, message.CannotWithdrawHere())
	case e.Kind == esign.Forbidden, e.Status == http.StatusForbidden:
		return r.refuse(id, message.MayNotWithdraw())
	case e.Kind == esign.Unknown && e.Status/100 == 5:
		return r.putOff(id, office.WithdrawAsked, message.ServiceAiling())
	case e.Kind == esign.Unknown && !saysNo(e.Status):
		return r.putOff(id, office.WithdrawAsked, message.ServiceSilent())
	case e.Kind == esign.Unknown:
		return r.refuse(id, message.ServiceRefused())
	}
	return r.refuse(id, esign.Message(err))
}

// patience is how often in a row the service may say that it does not know a package before its word is taken for it:
// right after it was sent, that may be too early. After an answer that was lost it proves nothing, however often.
const patience = 4

// notKnown reports whether the service itself says that it does not know the package, or shows it to nobody like us.
func notKnown(err error) bool {
	e, ok := errors.AsType[*esign.Error](err)
	return ok && e.Kind == esign.NotFound && e.Code != ""
}

// saysNo reports whether an HTTP status is an answer about what was asked, rather than about the moment.
func saysNo(status int) bool {
	return status/100 == 4 && status != http.StatusRequestTimeout && status != http.StatusTooManyRequests && status != http.StatusUnauthorized
}

// ask finds out from the status what became of a wish, and reports whether the package may still be signed by what that
// says. A wish that the status could not be had for is put off.
func (r *Service) ask(ctx context.Context, client *esign.Client, id string) (open bool, err error) {
	if err := r.deps.Question(ctx); err != nil {
		return false, nil // ctx has ended
	}
	before, known, lost := r.stored(id)
	if lost != nil || !known {
		return false, lost
	}
	status, err := client.Status(ctx, id)
	if ctx.Err() != nil {
		return false, nil
	}
	r.deps.Answered(ctx, err)
	if err == nil {
		if noted, err := r.deps.Note(before, status); err != nil {
			return false, err
		} else if !noted { // somebody else had an answer meanwhile
			return r.ask(ctx, client, id)
		}
		return r.pending(id)
	}
	if r.deps.SignedOut(err) {
		return false, err
	}
	p, known, lost := r.stored(id)
	if lost != nil || !known || !p.Withdrawal.Pending() {
		return false, lost
	}
	if notKnown(err) {
		switch w := p.Withdrawal; {
		case w.Problem == esign.Message(err) && w.Tries >= patience && w.State == office.WithdrawAccepted:
			// It said that it withdrew it, which is its word, and shows it no more.
			if err := r.deps.NoteGone(p); err != nil {
				return false, err
			}
			return r.pending(id)
		case w.Problem == esign.Message(err) && w.Tries >= patience && w.State == office.WithdrawWanted:
			return false, r.refuse(id, w.Problem) // nor did packages/rescind know it
		case w.Problem != esign.Message(err):
			if _, err := r.step(id, func(w *office.Withdrawal) { w.Tries = 0 }); err != nil {
				return false, err
			}
		}
	}
	return false, r.putOff(id, p.Withdrawal.State, esign.Message(err))
}

// pending reports whether the wish is still to be done.
func (r *Service) pending(id string) (open bool, err error) {
	p, known, err := r.stored(id)
	if err != nil || !known {
		return false, err
	}
	if !p.Withdrawal.Pending() {
		r.deps.Ended()
		return false, nil
	}
	return true, nil
}

// step changes a wish that is still to be done, and reports whether it is.
func (r *Service) step(id string, change func(*office.Withdrawal)) (pending bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		p, known, err := tx.Package(id)
		if pending = err == nil && known && p.Withdrawal.Pending(); !pending {
			return err
		}
		w := *p.Withdrawal
		change(&w)
		p.Withdrawal = &w
		return tx.PutPackage(p)
	})
	if err != nil {
		return false, fmt.Errorf("record the withdrawal of package %s: %w", id, err)
	}
	r.Signal(office.PackagesChanged)
	return pending, nil
}

// putOff tries again after a pause that grows; problem is what keeps it from being done.
func (r *Service) putOff(id string, state office.WithdrawalState, problem message.Message) error {
	_, err := r.step(id, func(w *office.Withdrawal) {
		w.State, w.Problem = state, problem
		w.Tries++
		w.NextTry = r.Now().Add(r.Backoff(w.Tries, r.Pace.Retry, maxPause))
	})
	return err
}

// refuse ends a wish that the service does not fulfil.
func (r *Service) refuse(id string, problem message.Message) error {
	return r.end(id, office.WithdrawRefused, problem)
}

// end ends a wish without its being done, as far as anybody knows. People are notified unless they ended it themselves.
func (r *Service) end(id string, state office.WithdrawalState, problem message.Message) error {
	var line office.Activity
	var facts []office.Fact
	err := r.Data.Update(func(tx *store.Tx) error {
		line, facts = office.Activity{}, nil
		p, known, err := tx.Package(id)
		if err != nil || !known || !p.Withdrawal.Pending() {
			return err
		}
		w := *p.Withdrawal
		w.State, w.Problem, w.NextTry = state, problem, time.Time{}
		p.Withdrawal = &w
		if err := tx.PutPackage(p); err != nil {
			return err
		}
		text := message.Then(message.NotWithdrawn(p.DisplayName()), problem)
		if state == office.WithdrawUnknown {
			text = message.WithdrawalLeft(p.DisplayName())
		} else if facts, err = r.deps.NotDone(tx, p); err != nil {
			return err
		}
		line = office.Activity{Time: r.Now(), Kind: "problem", PackageID: id, Text: text}
		return tx.AddActivity(line)
	})
	if err != nil {
		return fmt.Errorf("record that package %s was not withdrawn: %w", id, err)
	}
	if !line.Text.IsZero() {
		r.Tell(line)
	}
	r.deps.Announce(facts...)
	r.Signal(office.PackagesChanged)
	r.deps.Ended()
	return nil
}

// stored returns a package as it is stored.
func (r *Service) stored(id string) (p office.Package, known bool, err error) {
	p, err = data.Read(r.Data, "package "+id, func(tx *store.Tx) (p office.Package, err error) {
		p, known, err = tx.Package(id)
		return p, err
	})
	return p, known && err == nil, err
}
