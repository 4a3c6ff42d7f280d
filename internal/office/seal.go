package office

import (
	"time"

	"countersign/internal/message"
)

// SealState is what may be said of a document's digital seal in one line; package seal judges.
type SealState string

const (
	SealNone     SealState = "none"     // it has none
	SealIntact   SealState = "intact"   // by somebody known, and the document is unchanged since
	SealStranger SealState = "stranger" // by somebody this computer does not know, and the document is unchanged since
	SealFilled   SealState = "filled"   // by somebody known, who allowed that fields are filled in, and nothing else has changed
	SealRevoked  SealState = "revoked"  // as intact, but the certificate had been revoked
	SealStamped  SealState = "stamped"  // by an authority for time alone, and unchanged since
	SealChanged  SealState = "changed"  // something was added after it was sealed
	SealBroken   SealState = "broken"   // it is not what was sealed, or the seal is not a real one
	SealUnjudged SealState = "unjudged" // it cannot be judged
)

// Seal is what is known of a document's digital seal. The zero value is nothing: the document has not been examined.
type Seal struct {
	State   SealState `json:"state,omitempty"`
	Signer  string    `json:"signer,omitempty"`  // whom its certificate names
	Issuer  string    `json:"issuer,omitempty"`  // who vouches for that
	At      time.Time `json:"at,omitzero"`       // when it was sealed
	Stamped string    `json:"stamped,omitempty"` // the authority that says so; without one it is what the signer's clock said
	Vouched bool      `json:"vouched,omitempty"` // the document carries its authority's word that the certificate was not revoked
	SHA256  string    `json:"sha256,omitempty"`  // of the document, in hex
	Doubted bool      `json:"doubted,omitempty"` // whom the office trusts has changed since: it is to be judged anew
	Read    bool      `json:"read,omitempty"`    // somebody has read that the document is not to be relied on, see SavedFile.Wrong
}

// Due reports whether the document is to be examined.
func (s Seal) Due() bool { return s.State == "" || s.Doubted }

// Wrong reports whether the document is not what was sealed.
func (s Seal) Wrong() bool {
	return s.State == SealChanged || s.State == SealBroken || s.State == SealRevoked
}

// AllSealed reports whether the seals of a package's files are intact, of which those that come without one count for nothing, and none is other than it was sent.
func AllSealed(jobs []Job) (all bool) {
	for _, j := range jobs {
		if j.Wrong() || j.Seal.Due() || j.Seal.State != SealIntact && j.Seal.State != SealNone {
			return false
		}
		all = all || j.Seal.State == SealIntact
	}
	return all
}

// Text is the one line; nothing for a document that has not been examined.
func (s Seal) Text() message.Message {
	date := s.At.Local().Format(time.DateOnly)
	switch s.State {
	case SealNone:
		return message.SealNone()
	case SealIntact:
		if s.At.IsZero() {
			return message.SealIntactUndated(s.Signer)
		}
		return message.SealIntact(s.Signer, date)
	case SealStranger:
		if s.At.IsZero() {
			return message.SealStrangerUndated(s.Signer)
		}
		return message.SealStranger(s.Signer, date)
	case SealFilled:
		return message.SealFilled(s.Signer)
	case SealRevoked:
		return message.SealRevoked(s.Signer)
	case SealStamped:
		return message.SealStamped(s.Signer, date)
	case SealChanged:
		return message.SealChanged(s.Signer)
	case SealBroken:
		return message.SealBroken()
	case SealUnjudged:
		return message.SealUnjudged()
	}
	return message.Message{}
}

// Revocation says what is known of whether the certificate had been revoked, where that matters.
func (s Seal) Revocation() message.Message {
	switch {
	case s.Vouched:
		return message.CertificateNotRevoked()
	case s.State == SealIntact || s.State == SealFilled || s.State == SealStranger:
		return message.RevocationUnknown()
	}
	return message.Message{}
}
