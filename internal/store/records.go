package store

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
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
	Reason    string          `json:"reason,omitempty"` // why it is odd, one sentence
	Handled   time.Time       `json:"handled,omitzero"`
	Day       int             `json:"day,omitempty"`     // when it was handled, in days counted by Tx.CountDay
	Copies    int             `json:"copies,omitempty"`  // how often it came again
	Service   string          `json:"service,omitempty"` // whose it is, as Package.Service
	Extra     json.RawMessage `json:"extra,omitempty"`
}

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

	Declined      time.Time `json:"declined,omitzero"` // when the person refused to sign
	DeclineReason string    `json:"decline_reason,omitempty"`
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

func (s PackageState) normal() PackageState {
	return PackageState(strings.ToLower(strings.TrimSpace(string(s))))
}

// UnmarshalJSON brings a word that an earlier version stored as the service wrote it to its one form.
func (s *PackageState) UnmarshalJSON(b []byte) error {
	var word string
	err := json.Unmarshal(b, &word)
	*s = PackageState(word).normal()
	return err
}

// Package is what is known about one package of the organization.
type Package struct {
	ID             string          `json:"id"`
	Name           string          `json:"name,omitempty"`
	Origin         Origin          `json:"origin"`
	DraftID        string          `json:"draft_id,omitempty"` // the draft it was sent from, when made here
	OrganizationID string          `json:"organization_id,omitempty"`
	MemberID       string          `json:"member_id,omitempty"`
	State          PackageState    `json:"state,omitempty"`
	Sequential     bool            `json:"sequential,omitempty"`
	Signers        []Signer        `json:"signers,omitempty"`
	Documents      []Document      `json:"documents,omitempty"`
	NextSigners    []string        `json:"next_signers,omitempty"` // signerIds whose turn it is
	ExternalData   json.RawMessage `json:"external_data,omitempty"`
	Created        time.Time       `json:"created"` // when it was first known here
	Due            time.Time       `json:"due,omitzero"`
	Executed       time.Time       `json:"executed,omitzero"`
	Checked        time.Time       `json:"checked,omitzero"`    // last status answer
	NextCheck      time.Time       `json:"next_check,omitzero"` // when to ask again
	Planned        bool            `json:"planned,omitempty"`   // save jobs exist for all of its documents
	Saved          bool            `json:"saved,omitempty"`     // every wanted file is on disk
	Refused        time.Time       `json:"refused,omitzero"`    // since when the service does not tell what its files need
	Gone           bool            `json:"gone,omitempty"`      // the service has not shown it for a while; it is asked all the same
	Reference      string          `json:"reference,omitempty"` // the caller's own word for it, from ExternalData
	SignersDone    int             `json:"signers_done,omitempty"`
	SignersTotal   int             `json:"signers_total,omitempty"` // 0 while unknown
	Problem        string          `json:"problem,omitempty"`       // what keeps its files from being saved, one sentence
	Timeline       []Moment        `json:"timeline,omitempty"`
	Archived       *Archived       `json:"archived,omitempty"` // taken out of the list; nil for one that is in it
	Service        string          `json:"service,omitempty"`  // the service it is at, as UseService names it
	Away           bool            `json:"away,omitempty"`     // that is not the one in use; set by the store
}

// Archived is a package that people have taken out of their list.
type Archived struct {
	With []string `json:"with,omitempty"` // what was wrong with it then: it comes back for anything else
}

// Moment is one line of a package's timeline.
type Moment struct {
	Time time.Time `json:"time"`
	What string    `json:"what"`          // sent, signed, document_executed, executed, saved, ...
	Who  string    `json:"who,omitempty"` // signerId
	Ref  string    `json:"ref,omitempty"` // documentId, file name, ...
}

// JobState is where a save job stands.
type JobState string

const (
	JobPending JobState = "pending"
	JobDone    JobState = "done"
	JobFailed  JobState = "failed" // the service did not give it for weeks; it is asked rarely, and a person can ask now
)

// Job is one file to be saved. Its key is PackageID/DocumentID/Kind, so planning twice is harmless.
type Job struct {
	PackageID  string    `json:"package_id"`
	DocumentID string    `json:"document_id,omitempty"` // empty for a master file
	Kind       string    `json:"kind"`                  // executed, cac, masterfile
	Folder     string    `json:"folder"`                // absolute
	Target     string    `json:"target"`                // relative to Folder, slash-separated, chosen once
	Wanted     string    `json:"wanted,omitempty"`      // Target as it would be were every name free
	State      JobState  `json:"state"`
	Planned    time.Time `json:"planned"`
	Tries      int       `json:"tries,omitempty"`
	NextTry    time.Time `json:"next_try,omitzero"`
	Refused    time.Time `json:"refused,omitzero"`  // since when the service does not give it
	Problem    string    `json:"problem,omitempty"` // one sentence for people
	Size       int64     `json:"size,omitempty"`    // bytes, when done
	SHA256     string    `json:"sha256,omitempty"`  // hex, when done
	Done       time.Time `json:"done,omitzero"`
	Service    string    `json:"service,omitempty"` // its package's
	Away       bool      `json:"away,omitempty"`    // likewise

	// What a try received that could not prove to be the whole document, and when it came first.
	Unproven   string    `json:"unproven,omitempty"` // SHA-256, hex
	UnprovenAt time.Time `json:"unproven_at,omitzero"`
}

// Key is the job's identity in the store: its three parts, of which none has a slash in it.
func (j Job) Key() string {
	return keyPart(j.PackageID) + "/" + keyPart(j.DocumentID) + "/" + keyPart(j.Kind)
}

// keyPart is an identifier of whatever form as a part of a key: itself, or its hash after a percent sign, which none that
// is kept as it is holds.
func keyPart(id string) string {
	if len(id) <= maxID && !strings.ContainsAny(id, "/%") {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "%" + hex.EncodeToString(sum[:])
}

// DraftState is where a draft stands on its way out.
type DraftState string

const (
	DraftHeld      DraftState = "held"      // not to be sent yet: a person can still take it back
	DraftQueued    DraftState = "queued"    // stored, nothing sent yet, or uploads in progress
	DraftAdding    DraftState = "adding"    // packages/add may have been sent
	DraftUnknown   DraftState = "unknown"   // its answer was lost
	DraftSent      DraftState = "sent"      // accepted; PackageID is set
	DraftFailed    DraftState = "failed"    // refused, Problem says why
	DraftCancelled DraftState = "cancelled" // by the user, before packages/add
)

// Draft is a package on its way to the service.
type Draft struct {
	ID           string          `json:"id"` // also the correlation id in externalData
	Name         string          `json:"name"`
	Message      string          `json:"message,omitempty"`
	Sequential   bool            `json:"sequential,omitempty"`
	Due          time.Time       `json:"due,omitzero"`
	ExternalData json.RawMessage `json:"external_data,omitempty"` // the caller's, without our correlation id
	Files        []DraftFile     `json:"files"`
	Signers      []Signer        `json:"signers"`
	State        DraftState      `json:"state"`
	Created      time.Time       `json:"created"`
	Changed      time.Time       `json:"changed"`
	Tries        int             `json:"tries,omitempty"`
	NextTry      time.Time       `json:"next_try,omitzero"`
	Problem      string          `json:"problem,omitempty"`
	PackageID    string          `json:"package_id,omitempty"`
	Service      string          `json:"service,omitempty"` // the service it is for, as Package.Service
	Away         bool            `json:"away,omitempty"`    // that is not the one in use; set by the store
	Day          int             `json:"day,omitempty"`     // the counted day since which it is known to be refused; 0 if not
}

// DraftFile is one file of a draft. Path is where it was found on this computer, Copy what was taken of it there and then,
// and what goes out; FileID is set once it is uploaded.
type DraftFile struct {
	Path       string    `json:"path"`
	Copy       string    `json:"copy,omitempty"` // the copy's name in the outbox folder; empty in drafts of earlier versions
	Name       string    `json:"name"`
	Size       int64     `json:"size"`             // bytes
	SHA256     string    `json:"sha256,omitempty"` // hex, of the copy
	ExternalID string    `json:"external_id,omitempty"`
	FileID     string    `json:"file_id,omitempty"`
	Uploaded   time.Time `json:"uploaded,omitzero"`     // a temporary upload lives 24 hours
	UploadedBy string    `json:"uploaded_by,omitempty"` // whose upload it is: nobody else can use it
}

// Activity is one line of the activity list: something that happened, for people.
type Activity struct {
	Time      time.Time `json:"time"`
	Kind      string    `json:"kind"` // event, sent, saved, signed_in, problem, ...
	PackageID string    `json:"package_id,omitempty"`
	EventID   string    `json:"event_id,omitempty"`
	Text      string    `json:"text"` // one sentence
}
