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

// EventLine is an event as people and other programs are told of it: what arrived about which package and what became of
// it, without its body and without what it was verified with.
type EventLine struct {
	ID         string
	Action     string
	PackageID  string
	Package    string // its name
	DocumentID string
	SignerID   string
	Time       time.Time // when it happened, zero when the service did not say
	Received   time.Time
	Outcome    Outcome
	Text       message.Message // what it says, or why nothing could be done with it
	Copies     int
}

// EventQuery says which events somebody wants to see.
type EventQuery struct {
	PackageID string    `json:"package_id,omitempty"` // "" for all
	Since     time.Time `json:"since,omitzero"`       // received then or later
	Limit     int       `json:"limit,omitempty"`      // the last ones; 0 for all
}
