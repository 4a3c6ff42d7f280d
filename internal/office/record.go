package office

import (
	"fmt"
	"slices"
	"time"

	"countersign/internal/message"
)

// Record describes the current end of the record; see package record.
type Record struct {
	Size      int64     `json:"size"` // number of facts
	Line      string    `json:"line"` // short code for all of them, for use in a letter
	Head      string    `json:"head,omitempty"`
	Stamped   int64     `json:"stamped,omitempty"`    // the first so many facts existed ...
	StampedAt time.Time `json:"stamped_at,omitzero"`  // ... at that time ...
	StampedBy string    `json:"stamped_by,omitempty"` // ... according to this authority
}

// Knowledge is what the record knows about a file.
type Knowledge string

const (
	KnownSaved   Knowledge = "saved"   // byte for byte what was saved
	KnownSent    Knowledge = "sent"    // byte for byte what was sent
	KnownDiffers Knowledge = "differs" // it has the name of a saved document, but other bytes
	Unknown      Knowledge = "unknown"
)

// Verified is what is known about any file.
type Verified struct {
	Path      string          `json:"path"`
	Known     Knowledge       `json:"known"`
	PackageID string          `json:"package_id,omitempty"`
	Package   string          `json:"package,omitempty"` // the package's name
	Also      []string        `json:"also,omitempty"`    // names of other packages with which it was sent
	At        time.Time       `json:"at,omitzero"`       // when it was saved or sent
	Seal      Seal            `json:"seal"`
	Match     Match           `json:"match,omitzero"`   // for a saved document
	Problem   message.Message `json:"problem,omitzero"` // why the file could not be read
}

// Wrong reports whether a person should look at the file.
func (v Verified) Wrong() bool {
	return v.Known == KnownDiffers || v.Seal.Wrong() || v.Seal.State == SealUnjudged || v.Match.State == MatchChanged || !v.Problem.IsZero()
}

// Text is the message for people.
func (v Verified) Text() message.Message {
	if !v.Problem.IsZero() {
		return v.Problem
	}
	date := v.At.Local().Format(time.DateOnly)
	known := message.VerifyForeign()
	switch v.Known {
	case KnownSaved:
		known = message.VerifySaved(v.Package, date)
	case KnownSent:
		known = message.VerifySent(v.Package, date)
	case KnownDiffers:
		known = message.VerifyDiffers(v.Package)
	}
	if len(v.Also) > 0 {
		known = message.Then(known, message.VerifyAlso(counted(v.Also)))
	}
	if v.Match.State == MatchChanged {
		known = message.Then(known, v.Match.Text())
	}
	return message.Then(known, v.Seal.Text())
}

// counted are names with how often each is there.
func counted(names []string) (list []string) {
	times := map[string]int{}
	for _, name := range names {
		times[name]++
	}
	for _, name := range names {
		if n := times[name]; n > 1 {
			name = fmt.Sprintf("%s (%d)", name, n)
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
