package agent

import (
	"fmt"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Events returns authentic events, newest first, from before on ("" for the newest), and where the next page begins.
func (a *Agent) Events(before office.Cursor, limit int) (list []office.Event, next office.Cursor) {
	err := a.Data.View(func(tx *store.Tx) error {
		var err error
		list, next, err = tx.Events(before, limit)
		return err
	})
	if err != nil {
		a.Log.Error("read the events", "err", err)
	}
	return list, next
}

// RetryEvent handles an event once more: one that could not be understood, by a newer version perhaps, or one whose
// package deserves another look.
func (a *Agent) RetryEvent(eventID string) error {
	err := a.Data.Update(func(tx *store.Tx) error {
		e, ok, err := tx.Event(eventID)
		if err != nil || !ok {
			return err
		}
		e.Outcome, e.Reason, e.Handled = office.EventPending, message.Message{}, time.Time{}
		return tx.SetEvent(e)
	})
	if err != nil {
		return fmt.Errorf("handle event %s again: %w", eventID, err)
	}
	a.packages.WakeEvents()
	return nil
}
