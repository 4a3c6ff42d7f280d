package office

import (
	"encoding/json"
	"strings"
	"time"

	"countersign/internal/message"
)

// Outcome says what became of a stored event.
type Outcome string

const (
	EventPending       Outcome = ""              // stored, not yet handled
	EventHandled       Outcome = "handled"       // its consequences are recorded
	EventUnprocessable Outcome = "unprocessable" // authentic, but nothing could be done with it: shown under Problems
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
	Signature string          `json:"-"`   // as it came; once it is stored, the record alone has it
	Outcome   Outcome         `json:"outcome,omitempty"`
	Reason    message.Message `json:"reason,omitzero"` // why nothing could be done with it
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

// Fact is something that happened and that people are told of once. Its key is committed together with what it is about,
// and it is pending until it is raised, once. Facts can be compared.
type Fact struct {
	Key         string
	PackageID   string
	ProblemID   string  // of a problem, which has no package
	Subject     Subject // what it is about, when that is neither a package nor a problem
	Kind        FactKind
	Title, Body message.Message
	Called      string // what the package is called
	Files       int    // of a saved package, its signed files
	When        When   // it happened, of what no event tells
	CaughtUp    bool   // found by catching up: told in a summary when there are many
	SignedFact
}

// SignedFact is what a fact says of who signed. Of a saved package it has whoever signed last, where that is certain.
type SignedFact struct {
	Who        string          // the signer's id
	Name       string          // and name
	Document   message.Message // what was signed, where there are several
	DocumentID string          // likewise
	Partial    bool            // the person has other documents of the package left to sign
	Last       bool            // heard of last: after it nobody is left to sign
	Latest     bool            // made last of all, which is certain
	Alone      bool            // nobody else signs the package
	Unasked    bool            // names are missing in it that the service was not asked for yet
	Filed      bool            // the files are saved already
}

// About is what f is about, for whoever wants to look at it.
func (f Fact) About() Subject {
	switch {
	case f.ProblemID != "":
		return ProblemSubject(f.ProblemID)
	case f.PackageID != "":
		return PackageSubject(f.PackageID)
	}
	return f.Subject
}

// FactKind is what a fact is about.
type FactKind int

const (
	FactOther    FactKind = iota
	FactSigned            // one person's signature on one document
	FactDeclined          // one person's refusal
	FactSaved             // a package that everyone has signed, with its files
	FactDeadline          // a package that is due soon, or has expired
	FactProblem           // what keeps the office from its documents
)

// NewFor is how long something is new: a package of which everything is news, or one whose files are.
const NewFor = 10 * time.Minute

// Activity is one line of the activity list: something that happened, for people.
type Activity struct {
	Time      time.Time       `json:"time"`              // when it was noted
	Happened  When            `json:"happened,omitzero"` // as far as that was before; see When
	Kind      string          `json:"kind"`              // event, sent, saved, signed_in, problem, ...
	PackageID string          `json:"package_id,omitempty"`
	Text      message.Message `json:"text"`
}

// When is when it happened.
func (a Activity) When() When {
	if a.Happened.IsZero() {
		return When{Time: a.Time}
	}
	return a.Happened
}

// Notice is a notification in words, and what can be pressed on it.
type Notice struct {
	Title, Body string
	About       Subject
	Buttons     []Button // the first is a press on the notification itself, whose label few desktops show; may be empty
}

// Button is what a press does, and what it is called.
type Button struct {
	Action Action
	Label  string
}

// Action is what a press on a notification does.
type Action string

const (
	ActionShow   Action = "show"   // brings up the window, with what the notification is about
	ActionOpen   Action = "open"   // opens the saved file
	ActionFolder Action = "folder" // shows the saved file in its folder
)

// Click is a press on a notification. It comes from outside: whoever gets it looks up what the subject is, and counts on
// nothing else.
type Click struct {
	About  Subject
	Action Action
	Token  string // lets the program that opens something come to the front (the desktop's activation token); may be empty
}

// Subject is what a notification is about: a package or some, a problem, a draft, a folder that sends, the activity, or, when it
// is empty, none of them alone.
type Subject string

const (
	packageSubject = "package/"
	someSubject    = "packages/"
	problemSubject = "problem/"
	draftSubject   = "draft/"
	folderSubject  = "hot-folder/"
)

// ActivitySubject is what has happened lately, as a subject.
const ActivitySubject Subject = "activity"

func PackageSubject(id string) Subject { return Subject(packageSubject + id) }

func PackagesSubject(ids []string) Subject { return Subject(someSubject + strings.Join(ids, ",")) }

// ProblemSubject is what is wrong, by the id that health has for it, as a subject.
func ProblemSubject(id string) Subject { return Subject(problemSubject + id) }

// DraftSubject is a draft that waits in the outbox for a person, as a subject.
func DraftSubject(id string) Subject { return Subject(draftSubject + id) }

// HotFolderSubject is what a folder that sends could not send, as a subject.
func HotFolderSubject(id string) Subject { return Subject(folderSubject + id) }

// Package is the package's id, when s is about one.
func (s Subject) Package() (id string, ok bool) { return strings.CutPrefix(string(s), packageSubject) }

// Packages are the ids of the packages, when s is about some.
func (s Subject) Packages() (ids []string, ok bool) {
	list, ok := strings.CutPrefix(string(s), someSubject)
	return strings.Split(list, ","), ok
}

// Problem is the problem's id, when s is about one.
func (s Subject) Problem() (id string, ok bool) { return strings.CutPrefix(string(s), problemSubject) }

// Draft is the draft's id, when s is about one.
func (s Subject) Draft() (id string, ok bool) { return strings.CutPrefix(string(s), draftSubject) }

// HotFolder is the id of the folder that sends, when s is about one.
func (s Subject) HotFolder() (id string, ok bool) { return strings.CutPrefix(string(s), folderSubject) }

// Change tells watchers what kind of thing changed; they read the new state from the Agent.
type Change string

const (
	StatusChanged   Change = "status"
	PackagesChanged Change = "packages"
	ActivityChanged Change = "activity"
	OutboxChanged   Change = "outbox"
	SettingsChanged Change = "settings"
	ShowRequested   Change = "show" // a second start asked for the window
)

// ShowSubject asks for the window with something in it.
func ShowSubject(s Subject) Change { return ShowRequested + " " + Change(s) }

// Shows reports whether the window is asked for, and with what; an empty subject leaves it as it is.
func (c Change) Shows() (s Subject, asked bool) {
	if c == ShowRequested {
		return "", true
	}
	rest, asked := strings.CutPrefix(string(c), string(ShowRequested)+" ")
	return Subject(rest), asked
}

// Update is what is known of newer versions of the program.
type Update struct {
	Version string    // that runs
	Offered bool      // newer versions can be asked for: the program was built with an address for that
	Newest  string    // the newest version known; empty while none was heard of
	Newer   bool      // it comes after the one that runs
	Checked time.Time // when that was last heard; zero for never

	Todo     message.Message // what a person does to get it
	Address  string          // of the file, or of a page where people get it by hand; empty where none is known
	Offers   bool            // InstallUpdate fetches and checks the file
	OneClick bool            // and installs it
	Path     string          // of the file that was fetched and checked, for a person to install; empty before

	// Trouble is what a person should know quietly: nothing valid was heard for long, or the last installation failed.
	Trouble message.Message
	File    UpdateFile // for this computer; zero where there is none
}

// UpdateFile is a file of a release.
type UpdateFile struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
}

// UpdateStep is how far an installation is.
type UpdateStep struct {
	Got, Total int64 // bytes; both zero before the download
	Waits      bool  // until what is being sent and saved is done
}

// UpdateSubject is a newer version, as what a notification is about.
const UpdateSubject Subject = "update"
