package officetest

import (
	"slices"

	"countersign/internal/agent"
	"countersign/internal/message"
	"countersign/internal/office"
)

// Events is env.Office's. Its cursor is the id of the last event of the page before.
func (o *Office) Events(before office.Cursor, limit int) ([]office.Event, office.Cursor, error) {
	if err := o.unread(); err != nil {
		return nil, "", err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	from := 1 + slices.IndexFunc(o.Arrived, func(e office.Event) bool { return e.ID == string(before) })
	to := min(from+limit, len(o.Arrived))
	next := office.Cursor("")
	if from < to && to < len(o.Arrived) {
		next = office.Cursor(o.Arrived[to-1].ID)
	}
	return append([]office.Event{}, o.Arrived[from:to]...), next, nil
}

// Refused is env.Office's.
func (o *Office) Refused() []agent.Refusal {
	return read(o, func() []agent.Refusal { return append([]agent.Refusal{}, o.Turned...) })
}

// RetryEvent is env.Office's: the event waits again.
func (o *Office) RetryEvent(eventID string) error {
	err := message.Error(message.EventUnreadable(), nil)
	o.Change(office.ActivityChanged, func(o *Office) {
		for i := range o.Arrived {
			if o.Arrived[i].ID == eventID {
				o.Arrived[i].Outcome, o.Arrived[i].Reason, err = office.EventPending, message.Message{}, nil
			}
		}
	})
	return err
}
