package agent

import (
	"fmt"

	"countersign/internal/store"
)

// Hold keeps a draft that a person can still take back, and returns its id. It is sent by a Send with that id in
// Draft.Replaces, or by Resolve; until then it is one of the Drafts, also after a restart. Its errors are those of Send.
func (a *Agent) Hold(d Draft) (id string, err error) {
	draft, err := a.newDraft(d)
	if err != nil {
		return "", err
	}
	draft.State = store.DraftHeld
	if err := a.st.Update(func(tx *store.Tx) error { return tx.PutDraft(draft) }); err != nil {
		return "", fmt.Errorf("store the draft: %w", err)
	}
	a.watchers.signal(OutboxChanged)
	return draft.ID, nil
}
