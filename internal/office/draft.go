package office

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
)

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
	DraftList      DraftState = "list"      // what the packages of a list have in common: never sent itself
)

// DraftsWaiting are the states of drafts that are not packages yet.
var DraftsWaiting = []DraftState{DraftHeld, DraftQueued, DraftAdding, DraftUnknown, DraftFailed}

// DraftsKept are the states of drafts that need the copies of their documents.
var DraftsKept = append(slices.Clone(DraftsWaiting), DraftList)

// Largest is how many bytes the files of one package may have together.
const Largest = 2_000_000_000

// Decision is what a person has pressed about a draft. It is done at a time, also by a later run of the program, unless it is
// undone before. The zero Decision is none.
type Decision struct {
	Send bool      `json:"send,omitempty"` // it is sent; else nothing more is done about it
	At   time.Time `json:"at"`
}

// Pending reports whether there is one.
func (d Decision) Pending() bool { return !d.At.IsZero() }

// Draft is a package on its way to the service.
type Draft struct {
	ID                string          `json:"id"` // also the correlation id in externalData
	Name              string          `json:"name"`
	Message           string          `json:"message,omitempty"`
	Sequential        bool            `json:"sequential,omitempty"`
	Due               time.Time       `json:"due,omitzero"`
	ExternalData      json.RawMessage `json:"external_data,omitempty"` // the caller's, without our correlation id
	Corrects          string          `json:"corrects,omitempty"`      // as NewPackage.Corrects, until a person has it sent all the same
	Files             []DraftFile     `json:"files"`
	Signers           []Signer        `json:"signers"`
	Template          *Template       `json:"template,omitempty"`   // that it is made from; nil for none
	Recipients        []Recipient     `json:"recipients,omitempty"` // all who get a copy, the standing ones of the settings among them
	DefaultRecipients []string        `json:"standing,omitempty"`   // addresses of those of Recipients who are from the settings
	NoCopy            []string        `json:"no_copy,omitempty"`    // as NewPackage.NoCopy
	Folder            string          `json:"folder,omitempty"`     // the hot folder it came from, by HotFolder.ID
	List              string          `json:"list,omitempty"`       // the list it is a line of, by Bulk.ID
	By                string          `json:"by,omitempty"`         // the account that is to send it, as HotFolder.By; empty for whoever is signed in
	State             DraftState      `json:"state"`
	Created           time.Time       `json:"created"`
	Changed           time.Time       `json:"changed"`
	Delivery
	Home
}

// Delivery is what became of a draft so far, beside its state.
type Delivery struct {
	PackageID  string          `json:"package_id,omitempty"`
	Tries      int             `json:"tries,omitempty"`
	NextTry    time.Time       `json:"next_try,omitzero"`
	Problem    message.Message `json:"problem,omitzero"`
	Stopped    bool            `json:"stopped,omitempty"`     // held because a person stopped the sending
	Decision   Decision        `json:"decision,omitzero"`     // what a person has pressed and can still undo, while it is held, refused or unknown
	Replaces   []string        `json:"replaces,omitempty"`    // while it is held, the drafts whose place it takes once it is sent
	ReplacedBy string          `json:"replaced_by,omitempty"` // the draft that was sent in its place
	Was        DraftState      `json:"was,omitempty"`         // where it stood when a person decided that no more is done; DraftUnknown once it was sent again after that
	Day        int             `json:"day,omitempty"`         // the counted day since which it is known to be refused, or its package to have ended; 0 if not
}

// DraftFile is one file of a draft. What goes out is Copy, which was taken before the draft was stored and is this draft's
// alone; Path says where it was found and is never opened again. FileID is set once it is uploaded.
type DraftFile struct {
	Path       string    `json:"path"`
	Copy       string    `json:"copy,omitempty"` // its name in the outbox folder, then in that of what was sent; empty once it is let go of
	Name       string    `json:"name"`
	Size       int64     `json:"size"`             // bytes
	SHA256     string    `json:"sha256,omitempty"` // hex, of the copy
	ExternalID string    `json:"external_id,omitempty"`
	Original   int       `json:"original,omitempty"` // the document of the template whose place it takes, counted from 1; 0 for none
	FileID     string    `json:"file_id,omitempty"`
	Uploaded   time.Time `json:"uploaded,omitzero"`     // a temporary upload lives 24 hours
	UploadedBy string    `json:"uploaded_by,omitempty"` // whose upload it is: nobody else can use it
}

// Again is d as a new package, without the documents that were given for it.
func (d Draft) Again() NewPackage {
	t := d.Template.Clone()
	if t != nil {
		for i := range t.Documents {
			t.Documents[i].File = ""
		}
	}
	return NewPackage{Name: d.Name, Message: d.Message, Sequential: d.Sequential, Due: d.Due, Signers: slices.Clone(d.Signers), ExternalData: d.ExternalData,
		Recipients: d.OwnRecipients(), NoCopy: slices.Clone(d.NoCopy), Corrects: d.Corrects, Template: t}
}

// DocumentCount is how many documents the package will have, as far as it is known.
func (d Draft) DocumentCount() int {
	n := len(d.Files)
	if d.Template != nil {
		for _, own := range d.Template.Documents {
			if own.File == "" {
				n++
			}
		}
	}
	return n
}

// Form is what is typed into the form for a new package, complete or not. It is not checked, and its files are not copied.
type Form struct {
	Files      []FormFile  `json:"files,omitempty"`
	Signers    []Signer    `json:"signers,omitempty"`
	Template   *Template   `json:"template,omitempty"`   // with what is filled in
	Recipients []Recipient `json:"recipients,omitempty"` // as typed, beside the standing ones
	NoCopy     []string    `json:"no_copy,omitempty"`    // addresses of standing recipients who do not get this one
	Name       string      `json:"name,omitempty"`
	Message    string      `json:"message,omitempty"`
	Due        string      `json:"due,omitempty"` // as 2026-12-31, or what is typed where that is no day
	Reference  string      `json:"reference,omitempty"`
	Sequential bool        `json:"sequential,omitempty"`
	Separate   bool        `json:"separate,omitempty"` // a package for each document
	Corrects   string      `json:"corrects,omitempty"` // as NewPackage.Corrects
	Replaces   string      `json:"replaces,omitempty"` // id of the draft that is changed here, whose place the new one takes
}

// FormFile is a file that was added to a form.
type FormFile struct {
	Path string `json:"path"`           // of its bytes
	From string `json:"from,omitempty"` // where it was found, if that is elsewhere
}

// Empty says whether anything was typed or added.
func (f Form) Empty() bool {
	return f.Template == nil && len(f.Files)+len(f.Signers)+len(f.Recipients)+len(f.NoCopy) == 0 && f.Name+f.Message+f.Due+f.Reference == ""
}

// FormPreset is a form without documents that is kept under a name, to be filled in again. One with nothing but signers is a group
// of people. Its due date is as "+14", days from when it is filled in.
type FormPreset struct {
	Name string `json:"name"`
	Form Form   `json:"form"`
}

// WithPreset is a list of presets, by name, with x in place of the one called like it; without that one when x has an empty form.
func WithPreset(list []FormPreset, x FormPreset) []FormPreset {
	list = slices.DeleteFunc(slices.Clone(list), func(old FormPreset) bool { return strings.EqualFold(old.Name, x.Name) })
	if x.Form.Empty() {
		return list
	}
	at, _ := slices.BinarySearchFunc(list, x, func(a, b FormPreset) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return slices.Insert(list, at, x)
}

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

// WithdrawalState is where the wish to withdraw a package stands.
type WithdrawalState string

const (
	WithdrawWanted   WithdrawalState = "wanted"   // stored; the service was not asked, or clearly did not do it
	WithdrawAsked    WithdrawalState = "asked"    // packages/rescind may have been sent: the status tells what became of it
	WithdrawAccepted WithdrawalState = "accepted" // the service said yes, and its status does not show it yet
	WithdrawDone     WithdrawalState = "done"     // the status says so
	WithdrawLate     WithdrawalState = "late"     // it was signed by everyone, or expired, first; Problem says which
	WithdrawRefused  WithdrawalState = "refused"  // Problem says why
	WithdrawUnknown  WithdrawalState = "unknown"  // a person waits for the service no more, which may have done it; Problem says so
)

// Withdrawal is the wish to withdraw a package, and what became of it. Of a package that was withdrawn elsewhere it is what
// the service tells.
type Withdrawal struct {
	State   WithdrawalState `json:"state"`
	Message string          `json:"message,omitempty"` // to the people
	Quiet   bool            `json:"quiet,omitempty"`   // the service is not to notify them
	By      string          `json:"by,omitempty"`      // whose account it was wished for with; empty when it was not wished for here
	Asked   time.Time       `json:"asked,omitzero"`    // when it was wished for
	Tries   int             `json:"tries,omitempty"`
	NextTry time.Time       `json:"next_try,omitzero"`
	Problem message.Message `json:"problem,omitzero"` // what keeps it from being done, or kept it ...
	Alike   int             `json:"alike,omitempty"`  // ... and how often in a row it did

	// AskFirst says that an earlier wish may have been fulfilled: the status is asked before the service is.
	AskFirst bool `json:"ask_first,omitempty"`

	// Damaged says that its record was damaged: what was to be said, and to whom, is lost. It may be found done, and is never
	// asked for again.
	Damaged bool `json:"damaged,omitempty"`
}

// Pending reports that something is still to be done about it.
func (w *Withdrawal) Pending() bool {
	return w != nil && (w.State == WithdrawWanted || w.State == WithdrawAsked || w.State == WithdrawAccepted)
}

// Undoable reports that the service was not asked yet, because a person may still take it back.
func (w *Withdrawal) Undoable() bool { return w != nil && w.State == WithdrawWanted && w.Tries == 0 }

// Wished reports that somebody wished for it here.
func (w *Withdrawal) Wished() bool { return w != nil && !w.Asked.IsZero() }

// Settle ends a wish with what the package's state tells, and reports whether it did. A wish for a package that may still
// be signed stays.
func (p *Package) Settle() (ended bool) {
	if !p.Withdrawal.Pending() {
		return false
	}
	w := *p.Withdrawal
	switch {
	case p.State == PackageExecuted:
		w.State, w.Problem = WithdrawLate, message.SignedBeforeWithdrawn()
	case p.State == PackageRescinded:
		w.State, w.Problem = WithdrawDone, message.Message{}
	case p.State == PackageExpired:
		w.State, w.Problem = WithdrawLate, message.ExpiredBeforeWithdrawn()
	default:
		return false
	}
	w.NextTry = time.Time{}
	p.Withdrawal = &w
	return true
}

// CanBeWithdrawn reports whether people may still be kept from signing p: it was sent, and nothing has ended it.
func (s PackageState) CanBeWithdrawn() bool {
	return s != PackageExecuted && !s.Over() && !s.Unsent()
}

// NewWithdrawal is what a person wants withdrawn.
type NewWithdrawal struct {
	Packages []string `json:"packages"` // ids
	Message  string   `json:"message,omitempty"`
	Quiet    bool     `json:"quiet,omitempty"`

	// Undo is for how long it can be taken back before the service is asked.
	Undo time.Duration `json:"undo,omitempty"`

	// Stored is called once a wish is stored, unless it is nil or there was nothing to wish for.
	Stored func() `json:"-"`

	// Patience is how long Withdraw waits for a service that does not answer; 0 is without limit. What is wished for is
	// done later all the same.
	Patience time.Duration `json:"patience,omitempty"`
}

// Withdrawn is what became of the wish for one package, or why there was nothing to wish for.
type Withdrawn struct {
	PackageID string          `json:"package_id"`
	Name      string          `json:"name"`
	State     WithdrawalState `json:"state"`
	Problem   message.Message `json:"problem"`
}
