package office

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"countersign/internal/message"
)

type DraftState string

const (
	DraftHeld      DraftState = "held"      // not to be sent yet: a person can still undo it
	DraftQueued    DraftState = "queued"    // stored, nothing sent yet, or uploads in progress
	DraftAdding    DraftState = "adding"    // packages/add may have been sent
	DraftUnknown   DraftState = "unknown"   // the answer to packages/add was lost
	DraftSent      DraftState = "sent"      // accepted; PackageID is set
	DraftFailed    DraftState = "failed"    // refused, Problem says why
	DraftCancelled DraftState = "cancelled" // by the user, before packages/add
	DraftList      DraftState = "list"      // what the packages of a list share; never sent itself
)

// DraftsWaiting are the states of drafts that have not become packages yet.
var DraftsWaiting = []DraftState{DraftHeld, DraftQueued, DraftAdding, DraftUnknown, DraftFailed}

// DraftsKept are the states of drafts whose documents' copies are still needed.
var DraftsKept = append(slices.Clone(DraftsWaiting), DraftList)

// Largest is the maximum total size of the files of one package, in bytes.
const Largest = 2_000_000_000

// Decision is what a person decided about a draft. It takes effect at At, even in a later run of the program, unless it is
// undone first. The zero Decision is none.
type Decision struct {
	Send bool      `json:"send,omitempty"` // send it; otherwise take no further action
	By   string    `json:"by,omitempty"`   // who decided, as Draft.By, and becomes the sender
	At   time.Time `json:"at"`
}

func (d Decision) Pending() bool { return !d.At.IsZero() }

// Draft is a package on its way to the service.
type Draft struct {
	ID           string          `json:"id"` // also the correlation id in externalData
	Name         string          `json:"name"`
	Message      string          `json:"message,omitempty"`
	Sequential   bool            `json:"sequential,omitempty"`
	Due          time.Time       `json:"due,omitzero"`
	ExternalData json.RawMessage `json:"external_data,omitempty"` // the caller's, without our correlation id
	Corrects     string          `json:"corrects,omitempty"`      // as NewPackage.Corrects, until a person decides to send it anyway
	Files        []DraftFile     `json:"files"`
	Signers      []Signer        `json:"signers"`
	Template     *Template       `json:"template,omitempty"`   // the template it is made from; nil if there is none
	Recipients   []Recipient     `json:"recipients,omitempty"` // everyone who gets a copy, including the default recipients
	Folder       string          `json:"folder,omitempty"`     // the hot folder it came from, by HotFolder.ID
	List         string          `json:"list,omitempty"`       // the list whose line it is, by Bulk.ID
	By           string          `json:"by,omitempty"`         // the account that must send it, as HotFolder.By; empty for whoever is signed in
	Repeat       bool            `json:"repeat,omitempty"`     // as NewPackage.Repeat
	State        DraftState      `json:"state"`
	Created      time.Time       `json:"created"`
	Changed      time.Time       `json:"changed"`
	CopyDefaults
	Delivery
	Home
}

// AsksOK reports whether d comes from a hot folder and waits for a person to have it sent.
func (d Draft) AsksOK() bool {
	return d.State == DraftHeld && d.Folder != "" && !d.Decision.Pending()
}

// CopyDefaults are the default recipients of the settings, by their addresses.
type CopyDefaults struct {
	DefaultRecipients []string `json:"standing,omitempty"` // those of Recipients who are from there
	NoCopy            []string `json:"no_copy,omitempty"`  // as NewPackage.NoCopy
}

// Delivery is what has become of a draft so far, besides its state.
type Delivery struct {
	PackageID  string          `json:"package_id,omitempty"`
	Tries      int             `json:"tries,omitempty"`
	NextTry    time.Time       `json:"next_try,omitzero"`
	Problem    message.Message `json:"problem,omitzero"`
	Stopped    bool            `json:"stopped,omitempty"`     // held because a person stopped the sending
	Astray     bool            `json:"astray,omitempty"`      // a person was asked about its file, which was changed in its watched folder, or removed
	Decision   Decision        `json:"decision,omitzero"`     // what a person decided and can still undo, while it is held, refused or unknown
	Replaces   []string        `json:"replaces,omitempty"`    // while it is held, the drafts that it replaces once it is sent
	ReplacedBy string          `json:"replaced_by,omitempty"` // the draft that was sent in its place
	Was        DraftState      `json:"was,omitempty"`         // its state before a person decided to take no further action; DraftUnknown if it was sent again after that
	Day        int             `json:"day,omitempty"`         // the counted day since which it is known to be refused, or its package to have ended; 0 if neither
}

// DraftFile is one file of a draft. Copy is what is sent: it was made before the draft was stored and belongs to this draft
// alone. Path only says where the file was found and is never opened again. FileID is set once it is uploaded.
type DraftFile struct {
	Path       string    `json:"path"`
	Copy       string    `json:"copy,omitempty"` // its name in the outbox folder, later in the folder of sent files; empty once it is no longer needed
	Name       string    `json:"name"`
	Size       int64     `json:"size"`             // bytes
	SHA256     string    `json:"sha256,omitempty"` // hex, of the copy
	ExternalID string    `json:"external_id,omitempty"`
	Original   int       `json:"original,omitempty"` // the template's document that it replaces, counted from 1; 0 for none
	FileID     string    `json:"file_id,omitempty"`
	Uploaded   time.Time `json:"uploaded,omitzero"`     // a temporary upload expires after 24 hours
	UploadedBy string    `json:"uploaded_by,omitempty"` // the account that uploaded it: nobody else can use the upload
}

// OfBefore reports whether only a person can tell if d was sent: the data was restored or moved since.
func (d Draft) OfBefore() bool {
	return d.State == DraftUnknown && d.Problem == message.DraftOfBefore()
}

// Again is d as a new package, without the documents added to it.
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

// DocumentCount is the number of documents in the package, as far as it is known.
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

// Form is the content of the form for a new package, complete or not. It is not checked, and its files are not copied.
type Form struct {
	Files      []FormFile      `json:"files,omitempty"`
	List       FormFile        `json:"list,omitzero"` // with a package for each of its lines
	Signers    []Signer        `json:"signers,omitempty"`
	Template   *Template       `json:"template,omitempty"`   // with the values filled in
	Recipients []Recipient     `json:"recipients,omitempty"` // as typed, besides the default ones
	NoCopy     []string        `json:"no_copy,omitempty"`    // addresses of default recipients who do not get this package
	Name       string          `json:"name,omitempty"`
	Message    string          `json:"message,omitempty"`
	Due        string          `json:"due,omitempty"` // as 2026-12-31, or as typed if that is no date
	Reference  string          `json:"reference,omitempty"`
	External   json.RawMessage `json:"external,omitempty"` // as NewPackage.ExternalData, for Reference to be put in
	Sequential bool            `json:"sequential,omitempty"`
	Separate   bool            `json:"separate,omitempty"` // make a package of each document
	Corrects   string          `json:"corrects,omitempty"` // as NewPackage.Corrects
	Replaces   string          `json:"replaces,omitempty"` // id of the draft being edited, which the new one replaces
}

// FormFile is a file that was added to a form.
type FormFile struct {
	Path string `json:"path,omitempty"` // of the content to send
	From string `json:"from,omitempty"` // where the file was found, if elsewhere
}

// Empty reports whether nothing was typed or added.
func (f Form) Empty() bool {
	return f.Template == nil && len(f.Files)+len(f.Signers)+len(f.Recipients)+len(f.NoCopy) == 0 && f.List.Path+f.Name+f.Message+f.Due+f.Reference == ""
}

// FormPreset is a form without documents that is saved under a name, to be filled in again. One that has only signers is a
// group of people. Its due date is relative, such as "+14" days.
type FormPreset struct {
	Name string `json:"name"`
	Form Form   `json:"form"`
}

// WithPreset is list, sorted by name, with x in place of the preset of that name; if x has an empty form, that preset is
// removed.
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
	Files        []string        `json:"files"`              // paths on this computer; Send copies them
	Template     *Template       `json:"template,omitempty"` // the template it is made from, with the values filled in; its documents come first
	Signers      []Signer        `json:"signers"`
	Recipients   []Recipient     `json:"recipients,omitempty"` // who gets a copy, besides the default recipients
	NoCopy       []string        `json:"no_copy,omitempty"`    // addresses of default recipients who do not get one
	Sequential   bool            `json:"sequential,omitempty"`
	Due          time.Time       `json:"due,omitzero"`
	ExternalData json.RawMessage `json:"external_data,omitempty"`

	// Replaces are the ids of refused and held drafts that this one replaces once it is sent.
	Replaces []string `json:"replaces,omitempty"`

	// Corrects is the package that this one replaces: it is sent once that package can no longer be signed, and never if
	// everybody has signed that package.
	Corrects string `json:"corrects,omitempty"`

	// EmptyFields says that a person has agreed to leave text fields of the template empty.
	EmptyFields bool `json:"empty_fields,omitempty"`

	// Repeat says that a person sends it although it was sent before.
	Repeat bool `json:"repeat,omitempty"`

	// Undo is how long it can be undone before anything is sent. The draft is stored right away, with its sending decided.
	Undo time.Duration `json:"undo,omitempty"`

	// Patience is how long Send waits for a service that does not accept the draft; 0 means no limit. The draft is still
	// sent later.
	Patience time.Duration `json:"patience,omitempty"`
}

// Titles are what its documents are called: the template, and the names of the files without their endings.
func (d NewPackage) Titles() (list []string) {
	if d.Template != nil {
		list = append(list, d.Template.Name)
	}
	for _, path := range d.Files {
		list = append(list, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)))
	}
	return list
}

// SendState is the current or final state of a draft being sent.
type SendState struct {
	DraftID   string          `json:"draft_id"`
	State     DraftState      `json:"state"`
	PackageID string          `json:"package_id,omitempty"`
	Problem   message.Message `json:"problem,omitzero"`
	Undo      bool            `json:"undo,omitempty"` // a person can still undo it: nothing is sent before
	Sent      int64           `json:"sent"`           // bytes uploaded so far
	Total     int64           `json:"total"`          // bytes to upload
}

// WithdrawalState is the state of a request to withdraw a package.
type WithdrawalState string

const (
	WithdrawWanted   WithdrawalState = "wanted"   // stored; the service was not asked yet, or clearly did not do it
	WithdrawAsked    WithdrawalState = "asked"    // packages/rescind may have been sent: the status will tell
	WithdrawAccepted WithdrawalState = "accepted" // the service confirmed it, but its status does not show it yet
	WithdrawDone     WithdrawalState = "done"     // the status shows it
	WithdrawLate     WithdrawalState = "late"     // it was completed, or had expired, first; Problem says which
	WithdrawRefused  WithdrawalState = "refused"  // Problem says why
	WithdrawUnknown  WithdrawalState = "unknown"  // a person stopped waiting for the service, which may have done it; Problem says so
)

// Withdrawal is a request to withdraw a package, and what became of it. For a package that was withdrawn elsewhere it has
// what the service says.
type Withdrawal struct {
	State   WithdrawalState `json:"state"`
	Message string          `json:"message,omitempty"` // to the signers
	Quiet   bool            `json:"quiet,omitempty"`   // the service must not notify them
	By      string          `json:"by,omitempty"`      // the account that requested it; empty if it was not requested here
	Asked   time.Time       `json:"asked,omitzero"`    // when it was requested
	Tries   int             `json:"tries,omitempty"`
	NextTry time.Time       `json:"next_try,omitzero"`
	Problem message.Message `json:"problem,omitzero"` // what prevents or prevented it ...
	Alike   int             `json:"alike,omitempty"`  // ... and how often in a row

	// AskFirst says that an earlier request may have succeeded: ask for the status before asking the service to withdraw.
	AskFirst bool `json:"ask_first,omitempty"`

	// Damaged says that its record was damaged, so the message and its recipients are lost. It may turn out to be done, and
	// is never requested again.
	Damaged bool `json:"damaged,omitempty"`
}

// Pending reports whether the request is unfinished.
func (w *Withdrawal) Pending() bool {
	return w != nil && (w.State == WithdrawWanted || w.State == WithdrawAsked || w.State == WithdrawAccepted)
}

// Undoable reports whether the request can still be undone, because the service was not asked yet.
func (w *Withdrawal) Undoable() bool { return w != nil && w.State == WithdrawWanted && w.Tries == 0 }

// Wished reports whether the withdrawal was requested here.
func (w *Withdrawal) Wished() bool { return w != nil && !w.Asked.IsZero() }

// Settle ends a request according to the package's state, and reports whether it did. It leaves a request for a package that
// may still be signed.
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

// CanBeWithdrawn reports whether a package was sent and has not ended, so that signing it can still be prevented.
func (s PackageState) CanBeWithdrawn() bool {
	return s != PackageExecuted && !s.Over() && !s.Unsent()
}

// NewWithdrawal is a person's request to withdraw packages.
type NewWithdrawal struct {
	Packages []string `json:"packages"` // ids
	Message  string   `json:"message,omitempty"`
	Quiet    bool     `json:"quiet,omitempty"`

	// Undo is how long it can be undone before the service is asked.
	Undo time.Duration `json:"undo,omitempty"`

	// Stored, unless nil, is called once the requests are stored, unless there was nothing to request.
	Stored func() `json:"-"`

	// Patience is how long Withdraw waits for a service that does not answer; 0 means no limit. The withdrawal is still done
	// later.
	Patience time.Duration `json:"patience,omitempty"`
}

// Withdrawn is the result of the request for one package, or why nothing was requested.
type Withdrawn struct {
	PackageID string          `json:"package_id"`
	Name      string          `json:"name"`
	State     WithdrawalState `json:"state"`
	Problem   message.Message `json:"problem"`
}

// Pending is Withdrawal.Pending: the service may have withdrawn it, or will.
func (x Withdrawn) Pending() bool { return (&Withdrawal{State: x.State}).Pending() }
