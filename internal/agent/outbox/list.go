package outbox

import (
	"slices"

	"countersign/internal/agent/data"
	"countersign/internal/office"
	"countersign/internal/store"
)

// waiting are the states of drafts that are not packages yet.
var waiting = []office.DraftState{office.DraftHeld, office.DraftQueued, office.DraftAdding, office.DraftUnknown, office.DraftFailed}

// Drafts returns the drafts that are not packages yet, oldest first.
func (r *Service) Drafts() ([]office.Draft, error) {
	return data.Read(r.Data, "the drafts", func(tx *store.Tx) ([]office.Draft, error) {
		list, err := tx.Drafts(waiting...)
		slices.Reverse(list)
		return list, err
	})
}

// DraftOf returns the draft that a package was sent from; known is false when it was not made here.
func (r *Service) DraftOf(packageID string) (d office.Draft, known bool, err error) {
	d, err = data.Read(r.Data, "the draft of package "+packageID, func(tx *store.Tx) (d office.Draft, err error) {
		p, ok, err := tx.Package(packageID)
		if err != nil || !ok || p.DraftID == "" {
			return d, err
		}
		d, known, err = tx.Draft(p.DraftID)
		return d, err
	})
	return d, known && err == nil, err
}

// draft returns one draft; known is false when there is none of that id.
func (r *Service) draft(id string) (d office.Draft, known bool, err error) {
	d, err = data.Read(r.Data, "draft "+id, func(tx *store.Tx) (d office.Draft, err error) {
		d, known, err = tx.Draft(id)
		return d, err
	})
	return d, known, err
}
