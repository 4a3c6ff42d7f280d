package officetest

import (
	"errors"
	"strconv"

	"countersign/internal/agent"
	"countersign/internal/store"
)

// Events is desk.Office's. Its cursor is the number of events that came before.
func (o *Office) Events(before store.Cursor, limit int) ([]store.Event, store.Cursor) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from, err := strconv.Atoi(string(before))
	if err != nil {
		from = 0
	}
	from = min(from, len(o.Arrived))
	to := min(from+limit, len(o.Arrived))
	next := store.Cursor("")
	if to < len(o.Arrived) {
		next = store.Cursor(strconv.Itoa(to))
	}
	return append([]store.Event{}, o.Arrived[from:to]...), next
}

// Refused is desk.Office's.
func (o *Office) Refused() []agent.Refusal {
	return read(o, func() []agent.Refusal { return append([]agent.Refusal{}, o.Turned...) })
}

// RetryEvent is desk.Office's: the event waits again.
func (o *Office) RetryEvent(eventID string) error {
	err := errors.New("this event is no longer kept")
	o.Change(agent.ActivityChanged, func(o *Office) {
		for i := range o.Arrived {
			if o.Arrived[i].ID == eventID {
				o.Arrived[i].Outcome, o.Arrived[i].Reason, err = store.EventPending, "", nil
			}
		}
	})
	return err
}
