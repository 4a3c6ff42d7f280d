package agent

import (
	"countersign/internal/agent/data"
	"countersign/internal/agent/health"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Some of what is said happened once, and nothing brings it up again: it stands until somebody has read it, and is therefore kept
// from one start to the next.

// docUnread names the document with what nobody has read yet, by the id of its state.
const docUnread = "unread"

// keptUnread are the states that are told so.
var keptUnread = []health.State{health.DataRestored}

// tellUntilRead has s, one of keptUnread, stand until somebody has read it.
func (a *Agent) tellUntilRead(s health.State, text message.Message) {
	a.Health.Set(s, text)
	a.changeUnread(func(unread map[string]message.Message) { unread[s.ID] = text })
}

// loadUnread says again what nobody has read before the program ended.
func (a *Agent) loadUnread() {
	unread, _, err := data.Doc[map[string]message.Message](a.Data, docUnread)
	if err != nil { // which health says
		a.Log.Error("read what nobody has read yet", "err", err)
	}
	for _, s := range keptUnread {
		if text := unread[s.ID]; !text.IsZero() {
			a.Health.Set(s, text)
		}
	}
}

// dismiss ends what somebody has read, unless it says something else by now.
func (a *Agent) dismiss(i Issue) {
	if a.Health.Dismiss(i) {
		a.changeUnread(func(unread map[string]message.Message) { delete(unread, i.ID) })
	}
}

// changeUnread changes what is kept, where that is something else then.
func (a *Agent) changeUnread(change func(unread map[string]message.Message)) {
	err := a.Data.Update(func(tx *store.Tx) error {
		unread := map[string]message.Message{}
		if _, err := tx.GetDoc(docUnread, &unread); err != nil {
			return err
		}
		before := len(unread)
		if change(unread); before+len(unread) == 0 {
			return nil
		}
		return tx.PutDoc(docUnread, unread)
	})
	if err != nil { // which health says; it is said once more at the next start, or no more
		a.Log.Warn("note what was read", "err", err)
	}
	a.Signal(office.StatusChanged)
}
