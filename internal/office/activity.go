package office

import (
	"time"

	"countersign/internal/message"
)

// Activity is one line of the activity list: something that happened, for people.
type Activity struct {
	Time      time.Time       `json:"time"`              // when it was noted
	Happened  When            `json:"happened,omitzero"` // as far as that was before; see When
	Kind      string          `json:"kind"`              // event, sent, saved, signed_in, problem, ...
	PackageID string          `json:"package_id,omitempty"`
	EventID   string          `json:"event_id,omitempty"`
	Text      message.Message `json:"text"`
}

// When is when it happened.
func (a Activity) When() When {
	if a.Happened.IsZero() {
		return When{Time: a.Time}
	}
	return a.Happened
}
