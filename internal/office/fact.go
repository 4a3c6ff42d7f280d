package office

import (
	"time"

	"countersign/internal/message"
)

// Fact is something that happened and that people are told of once. Its key is committed together with what it is about,
// and it is owed until it is raised, once. Facts can be compared.
type Fact struct {
	Key         string
	PackageID   string
	ProblemID   string  // of a problem, which has no package
	Subject     Subject // what it is about, when that is neither a package nor a problem
	Kind        FactKind
	Title, Body message.Message
	Document    message.Message // of a signature, what was signed, where there are several
	DocumentID  string          // likewise
	Who         string          // the signer's id, of a signature; of a saved package, whoever signed last, where that is certain
	Name        string          // and name
	Called      string          // and what the package is called
	Partial     bool            // the person has other documents of the package left to sign
	Last        bool            // heard of last: after it nobody is left to sign
	Latest      bool            // made last of all, which is certain
	Alone       bool            // nobody else signs the package
	Unasked     bool            // of a signature, names are missing in it that the service was not asked for yet
	Filed       bool            // of a signature, the files are saved already
	Files       int             // of a saved package, its signed files
	When        When            // it happened, of what no event tells
	CaughtUp    bool            // found by catching up: told in a summary when there are many
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
