package office

import (
	"time"

	"countersign/internal/message"
)

// Record is where the record of what happened stands; package record says what it is.
type Record struct {
	Size      int64     `json:"size"` // facts
	Line      string    `json:"line"` // stands for all of them, for a letter
	Head      string    `json:"head,omitempty"`
	Stamped   int64     `json:"stamped,omitempty"`    // the first so many facts were there ...
	StampedAt time.Time `json:"stamped_at,omitzero"`  // ... at that time ...
	StampedBy string    `json:"stamped_by,omitempty"` // ... as this authority says
}

// Knowledge is what the record says of a file.
type Knowledge string

const (
	KnownSaved   Knowledge = "saved"   // byte for byte what was saved
	KnownSent    Knowledge = "sent"    // byte for byte what was sent
	KnownDiffers Knowledge = "differs" // it has the name of a saved document, and other bytes
	Unknown      Knowledge = "unknown"
)

// Verified is what is known of any file.
type Verified struct {
	Path      string          `json:"path"`
	Known     Knowledge       `json:"known"`
	PackageID string          `json:"package_id,omitempty"`
	Package   string          `json:"package,omitempty"` // its name
	Also      []string        `json:"also,omitempty"`    // the names of others with which it was sent
	At        time.Time       `json:"at,omitzero"`       // when it was saved or sent
	Seal      Seal            `json:"seal"`
	Match     Match           `json:"match,omitzero"`   // of a saved document
	Problem   message.Message `json:"problem,omitzero"` // why the file could not be read
}

// Wrong reports whether a person should look at the file.
func (v Verified) Wrong() bool {
	return v.Known == KnownDiffers || v.Seal.Wrong() || v.Seal.State == SealUnjudged || v.Match.State == MatchChanged || !v.Problem.IsZero()
}

// Text is what people are told of it.
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
		known = message.Then(known, message.VerifyAlso(v.Also))
	}
	if v.Match.State == MatchChanged {
		known = message.Then(known, v.Match.Text())
	}
	return message.Then(known, v.Seal.Text())
}
