package reconcile

import (
	"context"
	"fmt"
	"time"

	"countersign/internal/agent/data"
	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/store"
)

// Events returns authentic events, newest first, from before on ("" for the newest), and where the next page begins.
func (r *Service) Events(before office.Cursor, limit int) (list []office.Event, next office.Cursor, err error) {
	list, err = data.Read(r.Data, "the events", func(tx *store.Tx) (list []office.Event, err error) {
		list, next, err = tx.Events(before, limit)
		return list, err
	})
	return list, next, err
}

// RetryEvent handles an event once more: one that could not be understood, by a newer version perhaps, or one whose
// package deserves another look.
func (r *Service) RetryEvent(eventID string) error {
	err := r.Data.Update(func(tx *store.Tx) error {
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
	r.WakeEvents()
	return nil
}

// forgetAtOnce is how many events one commit forgets.
const forgetAtOnce = 500

// ForgetEvents forgets the contents of events that were handled as many days ago as the settings say, as the store counts
// days; the id of each stays.
func (r *Service) ForgetEvents(ctx context.Context) error {
	keep, all := r.deps.Settings().KeepEvents, 0
	for n := forgetAtOnce; n == forgetAtOnce && ctx.Err() == nil; all += n {
		err := r.Data.Update(func(tx *store.Tx) (err error) {
			n, err = tx.ForgetEvents(keep, forgetAtOnce)
			return err
		})
		if err != nil {
			return err
		}
	}
	if all > 0 {
		r.Log.Info("forgot the contents of old events", "events", all)
		r.Signal(office.ActivityChanged)
		r.Signal(office.StatusChanged)
	}
	return nil
}
