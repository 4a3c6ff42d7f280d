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

// Subject is what a notification is about: a package, a problem, the outbox, or, when it is empty, several of them.
type Subject string

const (
	packageSubject = "package/"
	problemSubject = "problem/"
)

// OutboxSubject is what waits in the outbox for a person, as a subject.
const OutboxSubject Subject = "outbox"

// PackageSubject is a package as a subject.
func PackageSubject(id string) Subject { return Subject(packageSubject + id) }

// ProblemSubject is what is wrong, by the id that health has for it, as a subject.
func ProblemSubject(id string) Subject { return Subject(problemSubject + id) }

// Package is the package's id, when s is about one.
func (s Subject) Package() (id string, ok bool) { return strings.CutPrefix(string(s), packageSubject) }

// Problem is the problem's id, when s is about one.
func (s Subject) Problem() (id string, ok bool) { return strings.CutPrefix(string(s), problemSubject) }
