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
	Recipients   []Recipient     `json:"recipients,omitempty"` // who get a copy, beside those of the settings
	NoCopy       []string        `json:"no_copy,omitempty"`    // addresses of those of the settings who do not get one
	Sequential   bool            `json:"sequential,omitempty"`
	Due          time.Time       `json:"due,omitzero"`
	ExternalData json.RawMessage `json:"external_data,omitempty"`

	// Replaces are the ids of refused and held drafts whose place this one takes once it is sent.
	Replaces []string `json:"replaces,omitempty"`

	// Corrects is the package that this one takes the place of: it is sent once that one can no longer be signed, and not at
	// all when everybody has signed it.
	Corrects string `json:"corrects,omitempty"`

	// EmptyFields says that a person has agreed to text fields of the template that are empty.
	EmptyFields bool `json:"empty_fields,omitempty"`

	// Undo is for how long it can be taken back before anything is sent. It is stored as to be sent from the start.
	Undo time.Duration `json:"undo,omitempty"`

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
	Undo      bool            `json:"undo,omitempty"` // a person can still take it back: nothing is sent before
	Sent      int64           `json:"sent"`           // bytes uploaded so far
	Total     int64           `json:"total"`          // bytes to upload
}
