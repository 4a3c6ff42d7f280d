// Package seal verifies the digital signatures of a PDF: who sealed it, when, and whether anything has changed since.
//
// It promises:
//   - A file is intact only if a valid signature covers every byte except itself, and nothing that people see was added
//     after it.
//   - What was added after the last signature counts as a change, unless it only extends that signature's validity
//     (revocation information and time stamps, ETSI EN 319 142-1).
//   - It claims no more than it knows: it does not judge a method that is unknown or no longer safe.
//   - Files are read in pieces, except those with additions after the last signature.
//
// A file may be hostile: Examine must run in a restricted process (package preview). Its findings go to Judge, which knows
// whom this computer trusts, and the time.
package seal

import (
	"errors"
	"io"
	"slices"
	"time"
)

// Fault is what is wrong with a signature.
type Fault string

const (
	FaultNone       Fault = ""
	FaultDigest     Fault = "digest"     // the file differs from what was signed
	FaultForged     Fault = "forged"     // it was not made with its certificate's key
	FaultMethod     Fault = "method"     // its method is unknown or no longer safe
	FaultUnreadable Fault = "unreadable" // it cannot be read
)

func (f Fault) Error() string { return "the signature does not count: " + string(f) }

func faultOf(err error) (f Fault) {
	if err != nil && !errors.As(err, &f) {
		f = FaultUnreadable
	}
	return f
}

type Signature struct {
	Covers       int64     `json:"covers"` // bytes from the beginning of the file
	IsStamp      bool      `json:"is_stamp,omitempty"`
	Fault        Fault     `json:"fault,omitempty"`
	Claimed      time.Time `json:"claimed,omitzero"`       // signing time according to the signer
	Stamped      time.Time `json:"stamped,omitzero"`       // time by which it existed, according to an authority
	Certificates [][]byte  `json:"certificates,omitempty"` // the signer's first; for a stamp the authority's
	Authority    [][]byte  `json:"authority,omitempty"`    // certificates of the authority that stamped a signature
	Added        Addition  `json:"added,omitempty"`        // after it, if it is sound
	Allows       Allowance `json:"allows,omitempty"`       // if something was added

	revoked [][]byte // revocation information in it
}

// Allowance is what a certifying seal allows others to do to the document (ISO 32000-1, 12.8.2.2).
type Allowance int

const (
	AllowsUnsaid  Allowance = iota // it is not a certifying seal
	AllowsNothing                  // except adding proof
	AllowsFilling                  // also filling in fields
	AllowsNotes                    // also adding notes
)

// forbids reports whether the document was certainly changed in a way that the seal does not allow. It is not certain if the
// seal allows anything at all: then others may also add their signatures, as notes and new fields.
func (s Signature) forbids() bool { return s.Allows != AllowsUnsaid && s.Added == AddedChange }

// Addition classifies what was added after a signature.
type Addition string

const (
	AddedNothing  Addition = ""
	AddedProof    Addition = "proof"   // only what extends the signature's validity
	AddedSigned   Addition = "signed"  // also signatures that draw nothing
	AddedFilled   Addition = "filled"  // also values of existing fields
	AddedNotes    Addition = "notes"   // also notes and fields
	AddedChange   Addition = "change"  // something that may change what people see
	AddedUnjudged Addition = "unknown" // something unreadable
)

// Found describes a file's signatures, regardless of trust.
type Found struct {
	Signatures []Signature `json:"signatures,omitempty"` // those that cover less first
	Malformed  int         `json:"malformed,omitempty"`  // dictionaries that claim to be signatures but cover the wrong bytes
	Revoked    [][]byte    `json:"revoked,omitempty"`    // revocation information in the file
}

// Examine finds the signatures of a PDF of that size and verifies them. Its error only concerns reading the file.
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
	for _, s := range slices.Backward(f.Signatures) { // the last one counts
		for _, word := range s.revoked {
			f.keep(word)
		}
	}
	if len(f.Signatures) > 0 {
		all.revocations(f.keep)
	}
	return f, nil
}

// keep keeps revocation information, up to a limit.
func (f *Found) keep(word []byte) {
	const most, mostBytes = 64, 4 << 20
	size := len(word)
	for _, kept := range f.Revoked {
		size += len(kept)
	}
	if len(f.Revoked) < most && size <= mostBytes {
		f.Revoked = append(f.Revoked, word)
	}
}

// maxCompare is the number of signatures, beginning with those that cover most, for which additions are examined. For the
// others they are unknown.
const maxCompare = 8

// last is the signature that counts for the file: the last sound one of a trusted signer, otherwise the last sound one,
// otherwise the last one. A time stamp counts only if there is nothing else, because anybody can get one for anything. It is
// nil if there is no signature.
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
