package office

import (
	"time"

	"countersign/internal/message"
)

// Activity is one line of the activity list: something that happened, for people.
type Activity struct {
	Time      time.Time       `json:"time"`
	Kind      string          `json:"kind"` // event, sent, saved, signed_in, problem, ...
	PackageID string          `json:"package_id,omitempty"`
	EventID   string          `json:"event_id,omitempty"`
	Text      message.Message `json:"text"`
}
