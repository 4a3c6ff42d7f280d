package office

import (
	"encoding/json"
	"time"

	"countersign/internal/message"
)

// Outcome says what became of a stored event.
type Outcome string

const (
	EventPending Outcome = ""        // stored, not yet handled
	EventHandled Outcome = "handled" // its consequences are recorded
	EventOdd     Outcome = "odd"     // authentic, but nothing could be done with it: shown under Problems
)

// Event is one authentic notification, exactly as it arrived.
type Event struct {
	ID        string          `json:"id"`               // eventId, or "sha256:" + hex of the body when there was none
	Action    string          `json:"action,omitempty"` // empty when the body could not be parsed
	PackageID string          `json:"package_id,omitempty"`
	Time      time.Time       `json:"time,omitzero"` // eventTime, zero when absent or unreadable
	Received  time.Time       `json:"received"`
	Body      []byte          `json:"body"`
	URL       string          `json:"url"` // the registered URL it was verified against
	Outcome   Outcome         `json:"outcome,omitempty"`
	Reason    message.Message `json:"reason,omitzero"` // why it is odd
	Handled   time.Time       `json:"handled,omitzero"`
	Day       int             `json:"day,omitempty"`     // when it was handled, in days counted by Tx.CountDay
	Copies    int             `json:"copies,omitempty"`  // how often it came again
	Service   string          `json:"service,omitempty"` // whose it is, as Package.Service
	Extra     json.RawMessage `json:"extra,omitempty"`
}
