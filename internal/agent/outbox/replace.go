package outbox

import (
	"errors"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// A draft can be changed and sent in the place of an earlier one, while that one can be sent, too: from the outbox, from a
// form, from another window. Whichever is first has it; of both together never two packages come.

// replace has d take the place of an earlier draft, and of whatever has taken that one's place already. A *DraftError says that
// the service has it, or may have.
func (r *Service) replace(tx *store.Tx, draftID string, d *office.Draft) error {
	old, known, err := replaceable(tx, draftID, d)
	if err != nil || !known {
		return err
	}
	if old.State != office.DraftCancelled {
		old.Was, old.State, old.Changed = old.State, office.DraftCancelled, r.Now()
		old.Problem, old.Stopped = message.Message{}, false
	}
	if old.ReplacedBy = d.ID; d.Folder == "" {
		d.Folder = old.Folder
	}
	return tx.PutDraft(old)
}

// replaceable is the draft whose place d takes where it is to take that of draftID; known is false when there is none.
func replaceable(tx *store.Tx, draftID string, d *office.Draft) (old office.Draft, known bool, err error) {
	for id := draftID; id != "" && id != d.ID; id = old.ReplacedBy {
		next, ok, err := tx.Draft(id)
		if err != nil {
			return old, false, err
		}
		if !ok {
			break
		}
		old, known = next, true
	}
	if !known {
		return old, false, nil
	}
	sent := old.State == office.DraftAdding || old.State == office.DraftSent || old.State == office.DraftUnknown
	if sent || old.State == office.DraftCancelled && old.Was == office.DraftUnknown {
		return old, false, &DraftError{message.EarlierVersionSent(old.Name)}
	}
	return old, true, nil
}

// takePlaces has a held draft that is to be sent take the place of those that it was made from. Where one of them was sent
// meanwhile, that is said in d, which stays held: a person may send it all the same.
func (r *Service) takePlaces(tx *store.Tx, d *office.Draft) (taken bool, err error) {
	var sent *DraftError
	for _, id := range d.Replaces {
		if _, _, err := replaceable(tx, id, d); errors.As(err, &sent) {
			d.Problem, d.Replaces = sent.Text, nil
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
	for _, id := range d.Replaces {
		if err := r.replace(tx, id, d); err != nil {
			return false, err
		}
	}
	return true, nil
}
