package office

import (
	"encoding/json"
	"time"

	"countersign/internal/message"
)

// NewPackage is what a person wants to send.
type NewPackage struct {
	Name         string          `json:"name"`
	Message      string          `json:"message,omitempty"`
	Files        []string        `json:"files"`              // paths on this computer; Send takes copies
	Template     *Template       `json:"template,omitempty"` // that it is made from, with what is filled in; its documents come first
	Signers      []Signer        `json:"signers"`
	Recipients   []Recipient     `json:"recipients,omitempty"`  // who get a copy, beside those of the settings
	NoStanding   bool            `json:"no_standing,omitempty"` // those of the settings do not get one: Recipients are all
	Sequential   bool            `json:"sequential,omitempty"`
	Due          time.Time       `json:"due,omitzero"`
	ExternalData json.RawMessage `json:"external_data,omitempty"`

	// Replaces are the ids of refused and held drafts whose place this one takes. Files of held ones go out as they were
	// then.
	Replaces []string `json:"replaces,omitempty"`

	// Corrects is the package that this one takes the place of: it is sent once that one can no longer be signed, and not at
	// all when everybody has signed it.
	Corrects string `json:"corrects,omitempty"`

	// Patience is how long Send waits for a service that does not take the draft; 0 is without limit. The draft goes
	// out later all the same.
	Patience time.Duration `json:"patience,omitempty"`
}

// SendState is how a draft ended, or where it stands.
type SendState struct {
	DraftID   string          `json:"draft_id"`
	State     DraftState      `json:"state"`
	PackageID string          `json:"package_id,omitempty"`
	Problem   message.Message `json:"problem,omitzero"`
	Sent      int64           `json:"sent"`  // bytes uploaded so far
	Total     int64           `json:"total"` // bytes to upload
}
