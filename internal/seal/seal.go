// Package seal judges the digital signatures of a PDF: who sealed it, when, and whether anything has changed since.
//
// It promises:
//   - A file is intact only if a signature covers every byte of it but itself, fits, and is the last word about what people see.
//   - What was added behind the last signature counts as a change, unless it adds nothing but what proves that signature for longer
//     (revocation answers and time stamps, ETSI EN 319 142-1).
//   - It says no more than it knows: a method that it does not know, or that is no longer safe, is not judged.
//   - Files are read in pieces, but for those in which something was added behind the last signature.
//
// A file is taken to be hostile: Examine is for a bounded process (package preview). What it found goes to Judge, which knows whom
// this computer trusts, and the time.
package seal

import (
	"errors"
	"io"
	"time"
)

// Fault is what is wrong with a signature.
type Fault string

const (
	FaultNone       Fault = ""
	FaultDigest     Fault = "digest"     // the file is not the one that was signed
	FaultForged     Fault = "forged"     // it was not made with its certificate
	FaultMethod     Fault = "method"     // its method is not known, or no longer safe
	FaultUnreadable Fault = "unreadable" // it cannot be read
)

func (f Fault) Error() string { return "the signature does not count: " + string(f) }

func faultOf(err error) (f Fault) {
	if err != nil && !errors.As(err, &f) {
		f = FaultUnreadable
	}
	return f
}

// Signature is one of a file's.
type Signature struct {
	Covers       int64     `json:"covers"` // bytes from the beginning of the file
	IsStamp      bool      `json:"is_stamp,omitempty"`
	Fault        Fault     `json:"fault,omitempty"`
	Claimed      time.Time `json:"claimed,omitzero"`       // when the signer says that it was made
	Stamped      time.Time `json:"stamped,omitzero"`       // when an authority says that it was there
	Certificates [][]byte  `json:"certificates,omitempty"` // the signer's first, of a stamp the authority's
	Authority    [][]byte  `json:"authority,omitempty"`    // those of the authority that stamped a signature
	Added        Addition  `json:"added,omitempty"`        // behind it, where it is sound
	Allows       Allowance `json:"allows,omitempty"`       // where something was added
}

// Allowance is what a seal that certifies a document lets others do to it (ISO 32000-1, 12.8.2.2).
type Allowance int

const (
	AllowsUnsaid  Allowance = iota // it certifies nothing
	AllowsNothing                  // but proof
	AllowsFilling                  // of fields
	AllowsNotes                    // too
)

// forbids reports whether something was done to the document that the seal does not allow, so far as that is certain: where it allows
// anything, others put their signatures on the document as notes and new fields, too.
func (s Signature) forbids() bool { return s.Allows != AllowsUnsaid && s.Added == AddedChange }

// Addition is what was added behind a signature.
type Addition string

const (
	AddedNothing  Addition = ""
	AddedProof    Addition = "proof"   // nothing but what proves the signature for longer
	AddedFilled   Addition = "filled"  // that, and what was filled into fields that were there
	AddedNotes    Addition = "notes"   // that, and notes and fields
	AddedChange   Addition = "change"  // something that may change what people see
	AddedUnjudged Addition = "unknown" // something that cannot be read
)

// Found is what a file has of signatures, without a word on whom to trust.
type Found struct {
	Signatures []Signature `json:"signatures,omitempty"` // those that cover less first
	Malformed  int         `json:"malformed,omitempty"`  // dictionaries that say to be signatures, and do not enclose what they should
	Revoked    [][]byte    `json:"revoked,omitempty"`    // what the file carries of authorities' words on that
}

// Examine looks for the signatures of a PDF of so many bytes and checks them against it. The error is about reading the file alone.
func Examine(file io.ReaderAt, size int64) (Found, error) {
	dictionaries, malformed, err := find(file, size)
	if err != nil {
		return Found{}, err
	}
	f := Found{Malformed: malformed}
	for _, d := range dictionaries {
		s, err := d.judge(file)
		if err != nil {
			return Found{}, err
		}
		s.Added = AddedUnjudged
		f.Signatures = append(f.Signatures, s)
	}
	compared, all := 0, wholeOf(file, size)
	for i := len(f.Signatures) - 1; i >= 0 && compared < maxCompare; i-- {
		if s := &f.Signatures[i]; s.Fault == FaultNone {
			compared++
			if s.Added, s.Allows, err = all.added(s.Covers); err != nil {
				return Found{}, err
			}
		}
	}
	if len(f.Signatures) > 0 {
		f.Revoked = all.revocations()
	}
	return f, nil
}

// maxCompare is behind how many signatures of a file what was added is looked at, those that cover most first. Of the others it is not known.
const maxCompare = 8

// last is the signature that speaks for the file: the last sound one of somebody who is trusted, of anybody, or else the last one. A time
// stamp is one only where there is nothing else, since anybody gets a stamp for anything. It is nil when there is none.
func (f Found) last(trusts func(Signature) bool) (last *Signature) {
	best := 0
	for i := range f.Signatures {
		s := &f.Signatures[i]
		rank := 3
		switch {
		case s.IsStamp:
			rank = 0
		case s.Fault != FaultNone:
			rank = 1
		case !trusts(*s):
			rank = 2
		}
		if rank >= best {
			best, last = rank, s
		}
	}
	return last
}
