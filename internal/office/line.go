package office

import (
	"cmp"
	"strings"
	"time"
)

// PackageLine is what a long list of packages shows and searches. It is kept beside the package in a form that reads
// at a fraction of the cost of its JSON.
type PackageLine struct {
	ID           string
	Name         string
	State        PackageState
	Origin       Origin
	People       string // names and addresses of the signers, separated by ", "
	Next         string // names of those whose turn it is, separated by ", "
	Words        string // names of documents and files, who gets a copy, and the reference, for the search
	Decliners    string // names of those who declined to sign, as in Next; one that is not known is empty
	Reason       string // the first of them who gave one
	Declined     bool   // somebody did
	SignersDone  int
	SignersTotal int // 0 while unknown
	Gone         bool
	Planned      bool // its files are planned
	Saved        bool // its files are on disk
	Archived     bool // taken out of the list
	Problem      bool // its files cannot be saved for now
	Withdrawing  bool // it is to be withdrawn, and is not yet
	Created      time.Time
	Due          time.Time
	Executed     time.Time
}

// Lines are the lines of all packages, newest first, or of those that are new or changed since a version.
type Lines struct {
	Version uint64 // to ask with for what has changed since; it is none before the first reading, 0
	All     bool   // they are those of all packages
	Lines   []PackedLine
}

// Line is p in a list.
func (p Package) Line() PackageLine {
	var people, next, declined, words []string
	reason := ""
	for _, s := range p.Next() {
		if name := s.DisplayName(); name != "" {
			next = append(next, name)
		}
	}
	for _, s := range p.Signers {
		name := s.DisplayName()
		if !s.Declined.IsZero() {
			declined, reason = append(declined, name), cmp.Or(reason, s.DeclineReason)
		}
		if s.Email != "" && s.Email != name {
			name += " <" + s.Email + ">"
		}
		if name != "" {
			people = append(people, name)
		}
	}
	for _, d := range p.Documents {
		words = append(words, d.Name, d.FileName)
	}
	for _, r := range p.Recipients {
		words = append(words, r.Address())
	}
	words = append(words, p.Reference)
	return PackageLine{
		ID: p.ID, Name: p.DisplayName(), State: p.State, Origin: p.Origin, People: strings.Join(people, ", "),
		Next: strings.Join(next, ", "), Words: strings.Join(words, "\n"), Declined: len(declined) > 0, Decliners: strings.Join(declined, ", "), Reason: reason,
		SignersDone: p.SignersDone, SignersTotal: p.SignersTotal,
		Gone: p.Gone, Planned: p.Planned, Saved: p.Saved, Problem: !p.Problem.IsZero(), Archived: p.Archived != nil, Withdrawing: p.Withdrawal.Pending(),
		Created: p.Created, Due: p.Due, Executed: p.Executed.Time,
	}
}
