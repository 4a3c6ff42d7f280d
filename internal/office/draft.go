package office

import (
	"encoding/json"
	"slices"
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
)

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
	ID           string          `json:"id"` // also the correlation id in externalData
	Name         string          `json:"name"`
	Message      string          `json:"message,omitempty"`
	Sequential   bool            `json:"sequential,omitempty"`
	Due          time.Time       `json:"due,omitzero"`
	ExternalData json.RawMessage `json:"external_data,omitempty"` // the caller's, without our correlation id
	Corrects     string          `json:"corrects,omitempty"`      // as NewPackage.Corrects, until a person has it sent all the same
	Files        []DraftFile     `json:"files"`
	Signers      []Signer        `json:"signers"`
	Template     *Template       `json:"template,omitempty"`   // that it is made from; nil for none
	Recipients   []Recipient     `json:"recipients,omitempty"` // all who get a copy, the standing ones of the settings among them
	Standing     []string        `json:"standing,omitempty"`   // addresses of those of Recipients who are from the settings
	NoCopy       []string        `json:"no_copy,omitempty"`    // as NewPackage.NoCopy
	State        DraftState      `json:"state"`
	Created      time.Time       `json:"created"`
	Changed      time.Time       `json:"changed"`
	Tries        int             `json:"tries,omitempty"`
	NextTry      time.Time       `json:"next_try,omitzero"`
	Problem      message.Message `json:"problem,omitzero"`
	Stopped      bool            `json:"stopped,omitempty"` // held because a person stopped the sending
	Decision     Decision        `json:"decision,omitzero"` // what a person has pressed and can still undo, while it is held, refused or unknown
	PackageID    string          `json:"package_id,omitempty"`
	Service      string          `json:"service,omitempty"`     // the service it is for, as Package.Service
	Away         bool            `json:"away,omitempty"`        // that is not the one in use; set by the store
	Folder       string          `json:"folder,omitempty"`      // the hot folder it came from, by HotFolder.ID
	By           string          `json:"by,omitempty"`          // the account that is to send it, as HotFolder.By; empty for whoever is signed in
	Replaces     []string        `json:"replaces,omitempty"`    // while it is held, the drafts whose place it takes once it is sent
	ReplacedBy   string          `json:"replaced_by,omitempty"` // the draft that was sent in its place
	Was          DraftState      `json:"was,omitempty"`         // where it stood when a person decided that no more is done
	Day          int             `json:"day,omitempty"`         // the counted day since which it is known to be refused; 0 if not
}

// DraftFile is one file of a draft. What goes out is Copy, which was taken before the draft was stored and is this draft's
// alone; Path says where it was found and is never opened again. FileID is set once it is uploaded.
type DraftFile struct {
	Path       string    `json:"path"`
	Copy       string    `json:"copy,omitempty"` // its name in the outbox folder; empty once it is let go of, see outbox.Room.ForgetCopies
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
