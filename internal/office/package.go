package office

import (
	"encoding/json"
	"strings"
	"time"

	"countersign/internal/message"
)

// Origin says who made a package.
type Origin string

const (
	MadeHere      Origin = "here"
	MadeElsewhere Origin = "elsewhere"
)

// Signer is one person who signs a package.
type Signer struct {
	ID        string `json:"id,omitempty"` // signerId, empty until the service told it
	FirstName string `json:"first_name,omitempty"`
	LastName  string `json:"last_name,omitempty"`
	Email     string `json:"email,omitempty"`
	Locale    string `json:"locale,omitempty"` // "de", "fr-CA"; empty while the service did not say

	Declined      When   `json:"declined,omitzero"` // when the person refused to sign
	DeclineReason string `json:"decline_reason,omitempty"`

	// Role and RoleID are of the template that a draft is made from: what the template calls this person, and its id for it.
	Role   string `json:"role,omitempty"`
	RoleID string `json:"role_id,omitempty"`
}

// Document is one document of a package.
type Document struct {
	ID         string   `json:"id,omitempty"` // documentId
	Name       string   `json:"name,omitempty"`
	FileName   string   `json:"file_name,omitempty"`
	ExternalID string   `json:"external_id,omitempty"`
	Executed   bool     `json:"executed,omitempty"`
	SignedBy   []string `json:"signed_by,omitempty"` // signerIds, in the order they signed
}

// PackageState is where a package stands, in the service's word (service-facts.md, 5). New words may appear; they are
// in lower case and without space around them, whatever was written.
type PackageState string

const (
	PackageDraft     PackageState = "draft"
	PackageOpen      PackageState = "open"
	PackageExecuted  PackageState = "executed" // signed by everyone
	PackageExpired   PackageState = "expired"
	PackageRescinded PackageState = "rescinded"
)

// Normal returns the state in the one form in which it is kept and compared.
func (s PackageState) Normal() PackageState {
	return PackageState(strings.ToLower(strings.TrimSpace(string(s))))
}

// UnmarshalJSON brings a word that an earlier version stored as the service wrote it to its one form.
func (s *PackageState) UnmarshalJSON(b []byte) error {
	var word string
	err := json.Unmarshal(b, &word)
	*s = PackageState(word).Normal()
	return err
}

// Package is what is known about one package of the organization.
type Package struct {
	ID             string          `json:"id"`
	Name           string          `json:"name,omitempty"`
	Origin         Origin          `json:"origin"`
	DraftID        string          `json:"draft_id,omitempty"` // the draft it was sent from, when made here
	Folder         string          `json:"folder,omitempty"`   // the folder that sends that it came from, by HotFolder.ID or its tag at the service
	OrganizationID string          `json:"organization_id,omitempty"`
	MemberID       string          `json:"member_id,omitempty"`
	State          PackageState    `json:"state,omitempty"`
	Sequential     bool            `json:"sequential,omitempty"`
	Signers        []Signer        `json:"signers,omitempty"`
	Recipients     []Recipient     `json:"recipients,omitempty"` // who get a copy
	Documents      []Document      `json:"documents,omitempty"`
	NextSigners    []string        `json:"next_signers,omitempty"` // signerIds whose turn it is, as far as the service said so last; see Next
	Turns          []Turn          `json:"turns,omitempty"`        // who signs after whom, until everybody is known by id
	ExternalData   json.RawMessage `json:"external_data,omitempty"`
	Created        time.Time       `json:"created"`       // when it was made; see Made
	Met            bool            `json:"met,omitempty"` // Created is when it was first known here: the service did not say when it was made
	Due            time.Time       `json:"due,omitzero"`
	Executed       When            `json:"executed,omitzero"`
	Checked        time.Time       `json:"checked,omitzero"`     // last status answer
	NextCheck      time.Time       `json:"next_check,omitzero"`  // when to ask again
	Events         int             `json:"events,omitempty"`     // that were handled: an answer asked for before the last of them may be older
	Planned        bool            `json:"planned,omitempty"`    // save jobs exist for all of its documents
	Saved          bool            `json:"saved,omitempty"`      // every wanted file is on disk
	RecordOwed     time.Time       `json:"record_owed,omitzero"` // since when its full record is to be asked for, which may tell more
	Refused        time.Time       `json:"refused,omitzero"`     // since when the service does not tell what its files need
	Gone           bool            `json:"gone,omitempty"`       // the service has not shown it for a while; it is asked all the same
	Reference      string          `json:"reference,omitempty"`  // the caller's own word for it, from ExternalData
	SignersDone    int             `json:"signers_done,omitempty"`
	SignersTotal   int             `json:"signers_total,omitempty"` // 0 while unknown
	Problem        message.Message `json:"problem,omitzero"`        // what keeps its files from being saved
	Timeline       []Moment        `json:"timeline,omitempty"`
	Archived       *Archived       `json:"archived,omitempty"` // taken out of the list; nil for one that is in it
	Withdrawal     *Withdrawal     `json:"withdrawal,omitempty"`
	Restored       time.Time       `json:"restored,omitzero"` // when it came back from a backup, until the service has told what happened since
	Service        string          `json:"service,omitempty"` // the service it is at, as UseService names it
	Away           bool            `json:"away,omitempty"`    // that is not the one in use; set by the store
}

// AtOnce is the NextCheck of a package that people wait for: it is due before those that have been due for long.
var AtOnce = time.Unix(1, 0).UTC()

// Over reports that nobody signs it any more (service-facts.md, 5), unless it is opened again.
func (s PackageState) Over() bool {
	return s == PackageExpired || s == PackageRescinded
}

// Unsent reports that it is not sent yet: somebody still completes it in the service's own editor.
func (s PackageState) Unsent() bool { return s == PackageDraft || s == "add" || s == "select" }

// Final reports that the service need not be asked about p again: it is executed and its files are planned, or nobody
// signs it any more and its record tells nothing else. That the service does not tell about it is never final.
func (p Package) Final() bool {
	if p.State == PackageExecuted {
		return p.Planned
	}
	return p.State.Over() && p.RecordOwed.IsZero()
}

// Derived is p as it is to be stored: with the fields that follow from others, and with texts that can be shown anywhere.
func (p Package) Derived() Package {
	p.SignersDone, p.SignersTotal = p.Progress()
	p.Reference = p.reference()
	p.Archived = p.stillArchived()
	p.cleanNames()
	p.Timeline = p.narrowed()
	return p
}

// NamesToCome reports that the service is about to be asked for what p and its people are called.
func (p Package) NamesToCome() bool {
	return p.Checked.IsZero() || !p.Final() && (p.NextCheck.Equal(AtOnce) || !p.RecordOwed.IsZero() && !p.State.Over())
}

// WithheldAfter is how long the service may keep to itself what everybody has signed before people are told.
const WithheldAfter = time.Hour

// RefusedFor is how long something has been refused. It sets refused, since when, to now where it is not set, or lies ahead
// because a clock was wrong.
func RefusedFor(refused *time.Time, now time.Time) time.Duration {
	if refused.IsZero() || refused.After(now) {
		*refused = now
	}
	return now.Sub(*refused)
}
