package office

import "strings"

// Notice is a notification in words, and what can be pressed on it.
type Notice struct {
	Title, Body string
	About       Subject
	Buttons     []Button // the first is a press on the notification itself, whose label few desktops show; may be empty
}

// Button is what a press does, and what it is called.
type Button struct {
	Deed  Deed
	Label string
}

// Deed is what a press on a notification does.
type Deed string

const (
	DeedShow   Deed = "show"   // brings up the window, with what the notification is about
	DeedOpen   Deed = "open"   // opens the saved file
	DeedFolder Deed = "folder" // shows the saved file in its folder
)

// Press is a press on a notification. It comes from outside: whoever gets it looks up what the subject is, and counts on
// nothing else.
type Press struct {
	About Subject
	Deed  Deed
	Token string // lets the program that opens something come to the front (the desktop's activation token); may be empty
}

// Subject is what a notification is about: a package, a problem, a draft, a folder that sends, the activity, or, when it is
// empty, several of them.
type Subject string

const (
	packageSubject = "package/"
	problemSubject = "problem/"
	draftSubject   = "draft/"
	folderSubject  = "hot-folder/"
)

// ActivitySubject is what has happened lately, as a subject.
const ActivitySubject Subject = "activity"

// PackageSubject is a package as a subject.
func PackageSubject(id string) Subject { return Subject(packageSubject + id) }

// ProblemSubject is what is wrong, by the id that health has for it, as a subject.
func ProblemSubject(id string) Subject { return Subject(problemSubject + id) }

// DraftSubject is a draft that waits in the outbox for a person, as a subject.
func DraftSubject(id string) Subject { return Subject(draftSubject + id) }

// HotFolderSubject is what a folder that sends could not send, as a subject.
func HotFolderSubject(id string) Subject { return Subject(folderSubject + id) }

// Package is the package's id, when s is about one.
func (s Subject) Package() (id string, ok bool) { return strings.CutPrefix(string(s), packageSubject) }

// Problem is the problem's id, when s is about one.
func (s Subject) Problem() (id string, ok bool) { return strings.CutPrefix(string(s), problemSubject) }

// Draft is the draft's id, when s is about one.
func (s Subject) Draft() (id string, ok bool) { return strings.CutPrefix(string(s), draftSubject) }

// HotFolder is the id of the folder that sends, when s is about one.
func (s Subject) HotFolder() (id string, ok bool) { return strings.CutPrefix(string(s), folderSubject) }
