package agent

import (
	"context"

	"countersign/internal/office"
	"countersign/internal/store"
)

// Hold takes copies of the files and keeps a draft that a person can still take back, and returns its id. It is sent by a
// Send with that id in Draft.Replaces, with the files as they were, or by Resolve; until then it is one of the Drafts, also
// after a restart. Its errors are those of Send.
func (a *Agent) Hold(d office.NewPackage) (id string, err error) {
	draft, err := a.newDraft(d)
	if err != nil {
		return "", err
	}
	draft.State = office.DraftHeld
	if err := a.storeDraft(context.Background(), &draft, nil); err != nil {
		return "", err
	}
	a.Signal(office.OutboxChanged)
	return draft.ID, nil
}

// heldFiles are the files of those of the drafts that are held, by the path they were given under.
func (a *Agent) heldFiles(drafts []string) (files map[string]office.DraftFile, err error) {
	err = a.Data.View(func(tx *store.Tx) error {
		files = map[string]office.DraftFile{}
		for _, id := range drafts {
			d, ok, err := tx.Draft(id)
			if err != nil {
				return err
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
		return nil
	})
	return files, err
}
