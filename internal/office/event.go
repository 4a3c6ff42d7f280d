package office

import (
	"strings"
	"time"

	"countersign/internal/message"
)

// Outcome is the result of processing a stored event.
type Outcome string

const (
	EventPending       Outcome = ""              // stored, not yet handled
	EventHandled       Outcome = "handled"       // its consequences are recorded
	EventUnprocessable Outcome = "unprocessable" // authentic, but it could not be processed: shown under Problems
)

// Event is one authentic notification, exactly as it arrived.
type Event struct {
	ID        string          `json:"id"`               // eventId, or "sha256:" + hex of the body when there was none, or it was another event's
	Action    string          `json:"action,omitempty"` // empty when the body could not be parsed
	PackageID string          `json:"package_id,omitempty"`
	Time      time.Time       `json:"time,omitzero"` // eventTime, zero when absent or unreadable
	Received  time.Time       `json:"received"`
	Body      []byte          `json:"body"`
	URL       string          `json:"url"` // the registered URL it was verified against
	Signature string          `json:"-"`   // as received; once stored, only the record has it
	Outcome   Outcome         `json:"outcome,omitempty"`
	Reason    message.Message `json:"reason,omitzero"` // why it could not be processed
	Handled   time.Time       `json:"handled,omitzero"`
	Day       int             `json:"day,omitempty"`     // when it was handled, in days as counted by Tx.CountDay
	Copies    int             `json:"copies,omitempty"`  // how often it arrived again
	Service   string          `json:"service,omitempty"` // whose it is, as Package.Service
}

// EventLine is an event as shown to people and other programs: what arrived about which package and what became of it,
// without its body and signature.
type EventLine struct {
	ID         string
	Action     string
	PackageID  string
	Package    string // its name
	DocumentID string
	SignerID   string
	Signer     string    // that signer's name
	Time       time.Time // when it happened, zero if the service did not say
	Received   time.Time
	Outcome    Outcome
	Text       message.Message // what it says, or why it could not be processed
	Copies     int
}

// EventRow is an event with its line.
type EventRow struct {
	Event
	Line EventLine
}

type EventQuery struct {
	PackageID string    `json:"package_id,omitempty"` // "" for all
	Since     time.Time `json:"since,omitzero"`       // received then or later
	Limit     int       `json:"limit,omitempty"`      // the last ones; 0 for all
}

// Fact is something that happened and is announced to people once. Its key is committed together with its cause, and it
// stays pending until it is announced. Facts can be compared.
type Fact struct {
	Key         string
	PackageID   string
	ProblemID   string  // for a problem, which has no package
	Subject     Subject // what it is about, if neither a package nor a problem
	Kind        FactKind
	Title, Body message.Message
	Called      string // the package's name
	Files       int    // for a saved package, the number of its signed files
	When        When   // when it happened, if no event says so
	CaughtUp    bool   // found by catching up: many of these are announced in a summary
	Again       bool   // it happened before the data was restored, so people may know: likewise, already of two packages
	SignedFact
}

// SignedFact describes a signature. For a saved package it is the last signer's, if that is certain.
type SignedFact struct {
	Who        string          // the signer's name
	Name       string          // and name
	Document   message.Message // what was signed, if there are several documents
	DocumentID string          // likewise
	Partial    bool            // the person still has other documents of the package to sign
	Last       bool            // the last one to arrive: nobody is left to sign
	Latest     bool            // certainly the last one made
	Alone      bool            // nobody else signs the package
	Unasked    bool            // it lacks names that the service was not asked for yet
	Filed      bool            // the files are already saved
}

// About is what to show when somebody opens the notification.
func (f Fact) About() Subject {
	switch {
	case f.ProblemID != "":
		return ProblemSubject(f.ProblemID)
	case f.PackageID != "":
		return PackageSubject(f.PackageID)
	}
	return f.Subject
}

type FactKind int

// The kinds of facts. A summary names the latter of two about one package.
const (
	FactOther    FactKind = iota
	FactSigned            // one person's signature on one document
	FactSaved             // a package that everyone has signed, with its files
	FactDeadline          // a package that is due soon, or has expired
	FactDeclined          // one person's refusal
	FactProblem           // something that keeps the office from its documents, or from withdrawing a package
)

// NewFor is how long a package or its files count as new.
const NewFor = 10 * time.Minute

// ActivityKind is what happened, roughly.
type ActivityKind string

const (
	ActivityEvent     ActivityKind = "event"    // the service reported something about a package
	ActivityExecuted  ActivityKind = "executed" // it reported that everyone has signed a package
	ActivitySent      ActivityKind = "sent"
	ActivityDue       ActivityKind = "due"
	ActivityWithdrawn ActivityKind = "withdrawn"
	ActivitySaved     ActivityKind = "saved"
	ActivityRenamed   ActivityKind = "renamed" // a saved file was found under another name
	ActivitySignedIn  ActivityKind = "signed_in"
	ActivitySignedOut ActivityKind = "signed_out"
	ActivityEndpoint  ActivityKind = "endpoint" // events are delivered to this computer
	ActivityDesk      ActivityKind = "desk"     // a desk was invited or removed
	ActivityMoved     ActivityKind = "moved"    // the office moved to another computer, or back
	ActivityProblem   ActivityKind = "problem"
)

// Activity is one line of the activity list.
type Activity struct {
	Time      time.Time       `json:"time"`              // when it was noted
	Happened  When            `json:"happened,omitzero"` // if it happened earlier; see When
	Kind      ActivityKind    `json:"kind"`
	PackageID string          `json:"package_id,omitempty"`
	List      string          `json:"list,omitempty"` // the list whose sending it is about, by Bulk.ID
	Text      message.Message `json:"text"`
}

func (a Activity) When() When {
	if a.Happened.IsZero() {
		return When{Time: a.Time}
	}
	return a.Happened
}

// Notice is a notification in words, with its buttons.
type Notice struct {
	Title, Body string
	About       Subject
	Buttons     []Button // the first is a press on the notification itself, whose label few desktops show; may be empty
}

// Button is an action with its label.
type Button struct {
	Action Action
	Label  string
}

// Action is what a press on a notification does.
type Action string

const (
	ActionShow   Action = "show"   // brings up the window and shows what the notification is about
	ActionOpen   Action = "open"   // opens the saved file
	ActionFolder Action = "folder" // shows the saved file in its folder
)

// Click is a press on a notification. It comes from outside: the receiver checks that the subject exists, and relies on
// nothing else.
type Click struct {
	About  Subject
	Action Action
	Token  string // the desktop's activation token, which lets the program come to the front; may be empty
}

// Subject is what a notification is about: one or several packages, a problem, a draft, a watched folder or the activity
// list. The empty Subject is nothing in particular.
type Subject string

const (
	packageSubject = "package/"
	someSubject    = "packages/"
	problemSubject = "problem/"
	draftSubject   = "draft/"
	folderSubject  = "hot-folder/"
)

// ActivitySubject is the activity list.
const ActivitySubject Subject = "activity"

func PackageSubject(id string) Subject { return Subject(packageSubject + id) }

func PackagesSubject(ids []string) Subject { return Subject(someSubject + strings.Join(ids, ",")) }

func ProblemSubject(id string) Subject { return Subject(problemSubject + id) }

func DraftSubject(id string) Subject { return Subject(draftSubject + id) }

// HotFolderSubject is what a watched folder could not send.
func HotFolderSubject(id string) Subject { return Subject(folderSubject + id) }

func (s Subject) Package() (id string, ok bool) { return strings.CutPrefix(string(s), packageSubject) }

func (s Subject) Packages() (ids []string, ok bool) {
	list, ok := strings.CutPrefix(string(s), someSubject)
	return strings.Split(list, ","), ok
}

func (s Subject) Problem() (id string, ok bool) { return strings.CutPrefix(string(s), problemSubject) }

func (s Subject) Draft() (id string, ok bool) { return strings.CutPrefix(string(s), draftSubject) }

func (s Subject) HotFolder() (id string, ok bool) { return strings.CutPrefix(string(s), folderSubject) }

// Change tells watchers what kind of thing changed; they get the new state from the Agent.
type Change string

const (
	StatusChanged   Change = "status"
	PackagesChanged Change = "packages"
	ActivityChanged Change = "activity"
	OutboxChanged   Change = "outbox"
	SettingsChanged Change = "settings"
	ShowRequested   Change = "show" // a second start asked for the window
)

func ShowSubject(s Subject) Change { return ShowRequested + " " + Change(s) }

// Shows reports whether the window was asked for, and what to show; an empty subject changes nothing in it.
func (c Change) Shows() (s Subject, asked bool) {
	if c == ShowRequested {
		return "", true
	}
	rest, asked := strings.CutPrefix(string(c), string(ShowRequested)+" ")
	return Subject(rest), asked
}

// Update is what is known about newer versions of the program.
type Update struct {
	Version string    // the running version
	Offered bool      // the program can check for newer versions: it was built with an address for that
	Newest  string    // the newest known version; empty if none is known
	Newer   bool      // it is newer than the running version
	Checked time.Time // when that was last confirmed; zero for never

	Todo     message.Message // what a person does to get it
	Address  string          // of the file, or of a page for a manual download; empty if none is known
	Offers   bool            // InstallUpdate downloads and checks the file
	OneClick bool            // and also installs it
	Path     string          // of the downloaded and checked file, for a person to install; empty before

	// Trouble is shown without alarm: there was no valid announcement for a long time, or the last installation failed.
	Trouble message.Message
	File    UpdateFile // for this computer; zero if there is none
}

// UpdateFile is a file of a release.
type UpdateFile struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Size    int64  `json:"size"`
	SHA256  string `json:"sha256"`
}

// UpdateStep is the progress of an installation.
type UpdateStep struct {
	Got, Total int64 // bytes; both zero before the download
	Waits      bool  // waits until current sending and saving is finished
}

// UpdateSubject is a newer version of the program.
const UpdateSubject Subject = "update"

// Desk is another computer of the office to which this one passes events on.
type Desk struct {
	Name   string    `json:"name"`
	Key    string    `json:"key"` // public
	Made   time.Time `json:"made"`
	Person string    `json:"person,omitempty"` // who works there, according to its last message
}

// DeskInvite is a request for the invitation of a desk.
type DeskInvite struct {
	Name       string
	Servers    string // where the desk reaches the hub; empty for all addresses of this computer
	WithSecret bool   // the invitation contains the client secret
	Again      bool   // the desk may exist already; its former key then stops working
}

// DeskRow is a desk as shown to people.
type DeskRow struct {
	Desk
	Connected bool      `json:"connected"`
	Seen      time.Time `json:"seen,omitzero"` // last; zero for never
	Waiting   int       `json:"waiting"`       // events
}

// HubPort is the port to which other desks connect, unless the office chooses otherwise.
const HubPort = "7422"

// MaxDeskName is the maximum length of a desk's name, in characters.
const MaxDeskName = 60
