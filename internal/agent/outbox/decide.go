package outbox

import (
	"context"
	"errors"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Hold takes copies of the files and keeps a draft that a person can still take back, and returns its id. Those whose place it
// is to take stay until it is sent. It is sent by a
// Send with that id in Draft.Replaces, with the files as they were, or by Resolve; until then it is one of the drafts, also
// after a restart. Its errors are those of Send.
func (r *Room) Hold(d office.NewPackage) (id string, err error) {
	draft, err := r.newDraft(d)
	if err != nil {
		return "", err
	}
	draft.State, draft.Replaces = office.DraftHeld, d.Replaces
	check := func(tx *store.Tx, draft *office.Draft) (err error) {
		for _, id := range draft.Replaces {
			if _, _, gone := replaceable(tx, id, draft); err == nil {
				err = gone
			}
		}
		return err
	}
	if err := r.storeDraft(context.Background(), &draft, nil, check); err != nil {
		return "", err
	}
	r.Signal(office.OutboxChanged)
	return draft.ID, nil
}

// heldFiles are the files of those of the drafts that are held, by the path they were given under.
func (r *Room) heldFiles(drafts []string) (map[string]office.DraftFile, error) {
	return data.Read(r.Data, "the drafts that are held", func(tx *store.Tx) (map[string]office.DraftFile, error) {
		files := map[string]office.DraftFile{}
		for _, id := range drafts {
			d, ok, err := tx.Draft(id)
			if err != nil {
				return nil, err
			}
			if !ok || d.State != office.DraftHeld {
				continue
			}
			for _, f := range d.Files {
				if f.Copy != "" {
					files[f.Path] = f
				}
			}
		}
		return files, nil
	})
}

// Cancel withdraws a draft that has not been added yet, and forgets it. It reports whether it came in time.
func (r *Room) Cancel(draftID string) (bool, error) {
	return r.withdraw(draftID, office.DraftCancelled)
}

// Stop takes a draft that waits to be sent from the queue, and keeps it as Hold does for a person to decide about. It
// reports whether it came in time.
func (r *Room) Stop(draftID string) (bool, error) { return r.withdraw(draftID, office.DraftHeld) }

func (r *Room) withdraw(draftID string, into office.DraftState) (bool, error) {
	var cancelled bool
	err := r.Data.Update(func(tx *store.Tx) error {
		d, ok, err := tx.Draft(draftID)
		cancelled = err == nil && ok && (d.State == office.DraftHeld || d.State == office.DraftQueued || d.State == office.DraftFailed)
		if !cancelled {
			return err
		}
		d.Was, d.State, d.Changed = d.State, into, r.Now()
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
// (again), or nothing more is done about it.
func (r *Room) Resolve(draftID string, sendAgain bool) error {
	err := r.Data.Update(func(tx *store.Tx) error { return r.resolve(tx, draftID, sendAgain) })
	if sendAgain && err == nil { // whoever sends it may wait for it still
		r.live.cancel(draftID, false)
	}
	r.TellUnknown()
	r.Wake()
	r.Signal(office.OutboxChanged)
	r.Signal(office.StatusChanged)
	return err
}

func (r *Room) resolve(tx *store.Tx, draftID string, sendAgain bool) error {
	d, ok, err := tx.Draft(draftID)
	if err != nil || !ok || d.State != office.DraftUnknown && d.State != office.DraftFailed && d.State != office.DraftHeld {
		return err
	}
	if sendAgain {
		if taken, err := r.takePlaces(tx, &d); err != nil || !taken {
			return errors.Join(err, tx.PutDraft(d))
		}
	}
	was := d.State
	d.State, d.Problem, d.Tries, d.Changed, d.NextTry, d.Day = office.DraftCancelled, message.Message{}, 0, r.Now(), time.Time{}, 0
	d.Stopped, d.Was, d.By, d.LookFirst = false, was, "", false // whoever decides sends it
	if sendAgain {
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
