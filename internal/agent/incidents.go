package agent

import (
	"fmt"
	"sync"
	"time"

	"countersign/internal/agent/loop"
	"countersign/internal/inbox"
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
		e.Outcome, e.Reason, e.Handled = office.EventPending, "", time.Time{}
		return tx.SetEvent(e)
	})
	if err != nil {
		return fmt.Errorf("handle event %s again: %w", eventID, err)
	}
	loop.Wake(a.rings.events)
	return nil
}

// Refusal is a sample of the requests that were refused.
type Refusal struct {
	Time   time.Time
	Reason string // one sentence
	Remote string // who asked, as far as it can be told
	More   int    // further ones that were not sampled
}

// maxRefusals is how many samples are kept, in memory alone: refused requests are no way to fill the disk.
const maxRefusals = 200

// refusals are the samples, oldest first. Safe for concurrent use.
type refusals struct {
	mu   sync.Mutex
	list []Refusal
}

// Refused returns the samples, newest first.
func (a *Agent) Refused() []Refusal {
	a.refusals.mu.Lock()
	defer a.refusals.mu.Unlock()
	out := make([]Refusal, 0, len(a.refusals.list))
	for i := len(a.refusals.list) - 1; i >= 0; i-- {
		out = append(out, a.refusals.list[i])
	}
	return out
}

func (a *Agent) noteRefusal(r inbox.Refusal) {
	a.refusals.mu.Lock()
	a.refusals.list = append(a.refusals.list, Refusal{r.At, refusalSentence(r.Reason), r.Remote, int(r.Suppressed)})
	if over := len(a.refusals.list) - maxRefusals; over > 0 {
		a.refusals.list = append([]Refusal(nil), a.refusals.list[over:]...)
	}
	a.refusals.mu.Unlock()
	a.Signal(office.ActivityChanged)
	a.Signal(office.StatusChanged)
}

func refusalSentence(r inbox.Reason) string {
	switch r {
	case inbox.Unsigned:
		return "A request without an event signature was blocked."
	case inbox.Forged:
		return "A request with a false event signature was blocked."
	case inbox.TooLarge:
		return "A request that was too large was blocked."
	case inbox.WrongMethod:
		return "A request that was not an event was blocked."
	case inbox.NotStored:
		return "An event could not be stored; the service was asked to send it again."
	case inbox.Busy:
		return "Too many requests came at once; the service was asked to send this one again."
	default:
		return "An incomplete request was blocked."
	}
}
