package outbox

import (
	"errors"
	"slices"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// What a person presses is stored as pressed, with the time until which it can be undone. It is done then, by this run of the
// program or by the next.

// maxUndo is the longest time in which something can be undone. A decision that seems to have more of it left was made by a clock
// that was wrong, and is due.
const maxUndo = time.Minute

// undoable is how a draft of d is stored that can be taken back for a while. Those whose place it is to take stay until then.
func (r *Service) undoable(d office.NewPackage) storing {
	return storing{also: func(tx *store.Tx, draft *office.Draft) error {
		draft.State, draft.Replaces = office.DraftHeld, d.Replaces
		draft.Decision = office.Decision{Send: true, At: r.Now().Add(d.Undo)}
		for _, id := range d.Replaces {
			if _, _, err := replaceable(tx, id, draft); err != nil {
				return err
			}
		}
		return nil
	}}
}

// carryOut does what people have decided and cannot undo any more, and returns how long the next decision can still be undone, 0
// when there is none.
func (r *Service) carryOut() (next time.Duration, err error) {
	drafts, err := data.Read(r.Data, "what was decided about drafts", func(tx *store.Tx) ([]office.Draft, error) {
		return tx.Drafts(office.DraftHeld, office.DraftFailed, office.DraftUnknown)
	})
	if err != nil {
		return 0, err
	}
	left := func(d office.Draft) time.Duration {
		if left := d.Decision.At.Sub(r.Now()); left <= maxUndo {
			return max(0, left)
		}
		return 0
	}
	for _, d := range slices.Backward(drafts) { // oldest first
		if !d.Decision.Pending() || d.Away {
			continue
		}
		if left := left(d); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		err := r.Data.Update(func(tx *store.Tx) error {
			now, ok, err := tx.Draft(d.ID)
			if err != nil || !ok || !now.Decision.Pending() || left(now) > 0 {
				return err
			}
			return r.resolve(tx, now)
		})
		if store.OfOneRecord(err) {
			continue // which holds up no other
		}
		if err != nil {
			return 0, err
		}
		r.decided(d.ID, d.Decision.Send)
		for _, id := range d.Replaces {
			r.live.cancel(id, true)
		}
	}
	return next, nil
}

// Cancel withdraws a draft that has not been added yet, and forgets it. It reports whether it came in time.
func (r *Service) Cancel(draftID string) (bool, error) {
	return r.withdraw(draftID, office.DraftCancelled)
}

// Stop takes a draft that waits to be sent from the queue, and keeps it as Hold does for a person to decide about. It
// reports whether it came in time.
func (r *Service) Stop(draftID string) (bool, error) { return r.withdraw(draftID, office.DraftHeld) }

func (r *Service) withdraw(draftID string, into office.DraftState) (bool, error) {
	var cancelled bool
	err := r.Data.Update(func(tx *store.Tx) error {
		d, ok, err := tx.Draft(draftID)
		cancelled = err == nil && ok && (d.State == office.DraftHeld || d.State == office.DraftQueued || d.State == office.DraftFailed)
		if !cancelled {
			return err
		}
		d.Was, d.State, d.Changed, d.Decision = d.State, into, r.Now(), office.Decision{}
		if into == office.DraftHeld {
			d.Stopped, d.Problem, d.Tries, d.NextTry = true, message.Message{}, 0, time.Time{}
		}
		return tx.PutDraft(d)
	})
	cancelled = cancelled && err == nil // what is not on disk is not cancelled
	if cancelled {
		r.live.cancel(draftID, true)
	}
	r.Wake() // which lets go of the copies
	r.Signal(office.OutboxChanged)
	return cancelled, err
}

// Resolve is a person's decision about a draft whose outcome is unknown, that was refused or that is held: it goes out
// (again), or nothing more is done about it. It is done once undo is over.
func (r *Service) Resolve(draftID string, send bool, undo time.Duration) error {
	err := r.Data.Update(func(tx *store.Tx) error {
		d, ok, err := tx.Draft(draftID)
		if err != nil || !ok || !undecided(d.State) {
			return err
		}
		d.Decision = office.Decision{Send: send, At: r.Now().Add(undo)}
		d.By = "" // whoever decides sends it
		if send {
			d.CopyDefaultRecipients(r.deps.Standing())
		}
		if undo > 0 {
			return tx.PutDraft(d)
		}
		return r.resolve(tx, d)
	})
	if err == nil && undo == 0 {
		r.decided(draftID, send)
	}
	r.Wake()
	r.Signal(office.OutboxChanged)
	return err
}

// undecided reports whether a person decides about a draft of that state.
func undecided(s office.DraftState) bool {
	return s == office.DraftUnknown || s == office.DraftFailed || s == office.DraftHeld
}

// decided follows the commit of what was decided about a draft.
func (r *Service) decided(draftID string, send bool) {
	if send { // whoever sends it may wait for it still
		r.live.cancel(draftID, false)
	}
	r.TellUnknown()
	r.Signal(office.OutboxChanged)
	r.Signal(office.StatusChanged)
}

// Undo takes back what was decided about a draft, which is as it was then. It reports whether it came in time.
func (r *Service) Undo(draftID string) (inTime bool, err error) {
	err = r.Data.Update(func(tx *store.Tx) error {
		d, ok, err := tx.Draft(draftID)
		if inTime = err == nil && ok && d.Decision.Pending() && undecided(d.State); !inTime {
			return err
		}
		d.Decision = office.Decision{}
		return tx.PutDraft(d)
	})
	r.Signal(office.OutboxChanged)
	return inTime && err == nil, err
}

// resolve does what is decided about d.
func (r *Service) resolve(tx *store.Tx, d office.Draft) error {
	if !undecided(d.State) {
		return nil
	}
	send := d.Decision.Send
	d.Decision = office.Decision{}
	if send {
		if taken, err := r.takePlaces(tx, &d); err != nil || !taken {
			return errors.Join(err, tx.PutDraft(d))
		}
	}
	was := d.State
	d.State, d.Problem, d.Tries, d.Changed, d.NextTry, d.Day = office.DraftCancelled, message.Message{}, 0, r.Now(), time.Time{}, 0
	d.Stopped, d.Was = false, was
	if send {
		d.Was = ""
		d.State, d.NextTry = office.DraftQueued, r.Now()
		if was == office.DraftFailed { // which said why not; what is held waits for the withdrawal as ever
			d.Corrects = ""
		}
		for i := range d.Files {
			d.Files[i].FileID = "" // it may be what was refused, or be used up
		}
	}
	return tx.PutDraft(d)
}
