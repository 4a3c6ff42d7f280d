package agent

import (
	"context"
	"fmt"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/office"
	"countersign/internal/store"
)

// forgetOften is how often the loop looks at the date; it reads nothing from the disk meanwhile.
const forgetOften = time.Hour

// forgetAtOnce is how many events one commit forgets.
const forgetAtOnce = 500

// runForget forgets once a day the contents of events that were handled long ago; of each its id stays. Days are those
// on which the program ran, as the store counts them, so that a wrong clock costs nothing.
func (a *Agent) runForget(ctx context.Context) error {
	for last := ""; ; {
		if today := a.Now().UTC().Format(time.DateOnly); today != last {
			if err := a.forget(ctx); err != nil {
				return err
			}
			last = today
		}
		if !loop.Sleep(ctx, forgetOften) {
			return nil
		}
	}
}

// forget counts the day and forgets what has become old.
func (a *Agent) forget(ctx context.Context) error {
	err := a.Data.Update(func(tx *store.Tx) error {
		_, err := tx.CountDay(a.Now())
		return err
	})
	if err != nil {
		return fmt.Errorf("count the day: %w", err)
	}
	if err := a.outbox.ForgetCopies(); err != nil {
		return fmt.Errorf("let go of copies: %w", err)
	}
	keep, all := a.Settings().KeepEvents, 0
	for n := forgetAtOnce; n == forgetAtOnce && ctx.Err() == nil; all += n {
		err := a.Data.Update(func(tx *store.Tx) (err error) {
			n, err = tx.ForgetEvents(keep, forgetAtOnce)
			return err
		})
		if err != nil {
			return fmt.Errorf("forget old events: %w", err)
		}
	}
	if all > 0 {
		a.Log.Info("forgot the contents of old events", "events", all)
		a.Signal(office.ActivityChanged)
		a.Signal(office.StatusChanged)
	}
	return nil
}
