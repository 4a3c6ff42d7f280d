package sandbox

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// Package states (service-facts.md section 5).
const (
	stateDraft     = "draft"
	stateOpen      = "open"
	stateExecuted  = "executed"
	stateExpired   = "expired"
	stateRescinded = "rescinded"
)

// Signer states (service-facts.md section 5).
const (
	signerActive   = "active"
	signerDeclined = "declined"
)

const typeSequential = "Sequential"

// pack is a package as stored.
type pack struct {
	PackageID      string          `json:"package_id"`
	OrganizationID string          `json:"organization_id"`
	MemberID       string          `json:"member_id"`
	Name           string          `json:"name"`
	Type           string          `json:"type"`
	State          string          `json:"state"`
	Message        string          `json:"message,omitempty"`
	Description    string          `json:"description,omitempty"`
	RescindMessage string          `json:"rescind_message,omitempty"`
	Notified       []string        `json:"notified,omitempty"` // for each notification of its people, the state at the time
	ExternalData   json.RawMessage `json:"external_data,omitempty"`
	TemplateID     string          `json:"template_id,omitempty"`
	Documents      []document      `json:"documents"`
	Signers        []signer        `json:"signers"`
	Recipients     []recipient     `json:"recipients"`
	times

	said map[string]any // cache of its answers, see tell
}

type times struct {
	TimeCreated   time.Time  `json:"time_created"`
	TimeModified  time.Time  `json:"time_modified"`
	TimeSignBy    *time.Time `json:"time_sign_by,omitempty"`
	TimeSent      *time.Time `json:"time_sent,omitempty"`
	TimeExecuted  *time.Time `json:"time_executed,omitempty"`
	TimeRescinded *time.Time `json:"time_rescinded,omitempty"`
}

type document struct {
	DocumentID   string          `json:"document_id"`
	FileID       string          `json:"file_id"`
	Name         string          `json:"name"`
	FileName     string          `json:"file_name"`
	ExternalID   json.RawMessage `json:"external_id,omitempty"`
	Size         int64           `json:"size"`
	Pages        int             `json:"pages"`
	TimeUploaded time.Time       `json:"time_uploaded"`
	TimeExecuted *time.Time      `json:"time_executed,omitempty"`
	Revisions    []revision      `json:"revisions"` // one per signer, in signer order
	Filled       []filledField   `json:"filled,omitempty"`
}

// filledField is a text field with the value it got when the package was made.
type filledField struct {
	DataID string `json:"data_id"`
	Label  string `json:"label"`
	Value  string `json:"value"`
}

// revision is one signer's turn on one document.
type revision struct {
	RevisionID string     `json:"revision_id"`
	SignerID   string     `json:"signer_id"`
	TimeSigned *time.Time `json:"time_signed,omitempty"`
	Signature  *signature `json:"signature,omitempty"`
}

// signature is what a signer supplied: a typed name, a drawn picture, or both.
type signature struct {
	Typed string `json:"typed,omitempty"`
	PNG   []byte `json:"png,omitempty"`
}

type signer struct {
	SignerID      string     `json:"signer_id"`
	FirstName     string     `json:"first_name"`
	LastName      string     `json:"last_name"`
	Email         string     `json:"email"`
	State         string     `json:"state"`
	LinkToken     string     `json:"link_token"`
	DeclineReason string     `json:"decline_reason,omitempty"`
	TimeDeclined  *time.Time `json:"time_declined,omitempty"`
}

// Recipient types: the words of the web pages (service-facts.md section 4.1), because the API's are not known.
const (
	recipientOpen  = "CC"
	recipientBlind = "BCC"
)

type recipient struct {
	FirstName string `json:"firstName"`
	LastName  string `json:"lastName"`
	Email     string `json:"email"`
	Type      string `json:"type"`
}

// link is what the token of a signing link stands for.
type link struct {
	PackageID string `json:"package_id"`
	SignerID  string `json:"signer_id"`
}

// file is an uploaded file; its content is a PDF in files/<file id>.pdf.
type file struct {
	FileID      string          `json:"file_id"`
	FileName    string          `json:"file_name"`
	ExternalID  json.RawMessage `json:"external_id,omitempty"`
	MemberID    string          `json:"member_id"`
	Size        int64           `json:"size"`
	Pages       int             `json:"pages"`
	Converted   bool            `json:"converted,omitempty"`
	Used        bool            `json:"used,omitempty"` // part of a package, so no longer temporary
	TimeCreated time.Time       `json:"time_created"`
}

// fileLifetime is how long a file is kept without a package (service-facts.md section 3).
const fileLifetime = 24 * time.Hour

func (f file) expired(now time.Time) bool { return !f.Used && now.Sub(f.TimeCreated) > fileLifetime }

// endpoint is a registered webhook endpoint. An organization has at most one per client.
type endpoint struct {
	EventEndpointID string `json:"event_endpoint_id"`
	OrganizationID  string `json:"organization_id"`
	ClientID        string `json:"client_id"`
	Name            string `json:"name"`
	URL             string `json:"url"`
	Secret          string `json:"secret"`
}

func endpointKey(organizationID, clientID string) string { return organizationID + "|" + clientID }

// stateAt is the state at now: an open package past its due date is expired without anyone acting.
func (p *pack) stateAt(now time.Time) string {
	if p.State == stateOpen && p.TimeSignBy != nil && now.After(*p.TimeSignBy) {
		return stateExpired
	}
	return p.State
}

func (p *pack) document(id string) (*document, bool) {
	for i := range p.Documents {
		if p.Documents[i].DocumentID == id {
			return &p.Documents[i], true
		}
	}
	return nil, false
}

func (p *pack) signer(id string) (*signer, bool) {
	for i := range p.Signers {
		if p.Signers[i].SignerID == id {
			return &p.Signers[i], true
		}
	}
	return nil, false
}

// isTurn reports whether the i-th revision of d may be signed at now. Signers of a concurrent package sign in any order; in
// a Sequential one, each waits on each document until everyone before has signed it.
func (p *pack) isTurn(d *document, i int, now time.Time) bool {
	r := d.Revisions[i]
	s, ok := p.signer(r.SignerID)
	if p.stateAt(now) != stateOpen || r.TimeSigned != nil || !ok || s.State != signerActive {
		return false
	}
	if p.Type != typeSequential {
		return true
	}
	return !slices.ContainsFunc(d.Revisions[:i], func(before revision) bool { return before.TimeSigned == nil })
}

// hasTurn reports whether it is the signer's turn on any document.
func (p *pack) hasTurn(signerID string, now time.Time) bool {
	for i := range p.Documents {
		for j, r := range p.Documents[i].Revisions {
			if r.SignerID == signerID && p.isTurn(&p.Documents[i], j, now) {
				return true
			}
		}
	}
	return false
}

// signedBy reports whether the signer has signed every document.
func (p *pack) signedBy(signerID string) bool {
	for _, d := range p.Documents {
		for _, r := range d.Revisions {
			if r.SignerID == signerID && r.TimeSigned == nil {
				return false
			}
		}
	}
	return len(p.Documents) > 0
}

func (d *document) signed() int {
	n := 0
	for _, r := range d.Revisions {
		if r.TimeSigned != nil {
			n++
		}
	}
	return n
}

// nextSigner is the signer who follows the i-th revision, "" if everyone else has signed.
func (d *document) nextSigner(i int) string {
	for _, r := range d.Revisions[i+1:] {
		if r.TimeSigned == nil {
			return r.SignerID
		}
	}
	for _, r := range d.Revisions[:i] {
		if r.TimeSigned == nil {
			return r.SignerID
		}
	}
	return ""
}

func (s *signer) fullName() string {
	return cmp.Or(strings.TrimSpace(s.FirstName+" "+s.LastName), s.Email)
}

// turns are the signers who can sign something now.
func (p *pack) turns(now time.Time) []string {
	var ids []string
	for _, sg := range p.Signers {
		if p.hasTurn(sg.SignerID, now) {
			ids = append(ids, sg.SignerID)
		}
	}
	return ids
}
