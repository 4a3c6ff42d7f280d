package office

import (
	"time"

	"countersign/internal/message"
)

// SealState is the state of a document's digital seal; package seal determines it.
type SealState string

const (
	SealNone     SealState = "none"     // it has none
	SealIntact   SealState = "intact"   // by a trusted signer, unchanged since
	SealStranger SealState = "stranger" // by a signer unknown to this computer, unchanged since
	SealFilled   SealState = "filled"   // by a trusted signer who allowed filling in fields, and nothing else has changed
	SealRevoked  SealState = "revoked"  // like intact, but the certificate had been revoked
	SealStamped  SealState = "stamped"  // only by a time-stamping authority, unchanged since
	SealChanged  SealState = "changed"  // something was added after sealing
	SealBroken   SealState = "broken"   // it differs from what was sealed, or the seal is not genuine
	SealUnjudged SealState = "unjudged" // it cannot be checked
)

// Seal is what is known about a document's digital seal. The zero value means that the document has not been examined.
type Seal struct {
	State   SealState `json:"state,omitempty"`
	Signer  string    `json:"signer,omitempty"`  // the name in the signer's certificate
	Issuer  string    `json:"issuer,omitempty"`  // who issued that certificate
	At      time.Time `json:"at,omitzero"`       // when it was sealed
	Stamped string    `json:"stamped,omitempty"` // the authority that confirms the time; without one the time is from the signer's clock
	Vouched bool      `json:"vouched,omitempty"` // the document contains the issuer's statement that the certificate was not revoked
	SHA256  string    `json:"sha256,omitempty"`  // of the document, in hex
	Doubted bool      `json:"doubted,omitempty"` // the office's trusted authorities have changed since: it must be examined again
	Read    bool      `json:"read,omitempty"`    // somebody has seen the warning not to rely on the document, see SavedFile.Wrong
}

// Due reports whether the document must be examined.
func (s Seal) Due() bool { return s.State == "" || s.Doubted }

// Wrong reports whether the document differs from what was sealed.
func (s Seal) Wrong() bool {
	return s.State == SealChanged || s.State == SealBroken || s.State == SealRevoked
}

// AllSealed reports whether all seals of a package's files are intact and no file differs from what was sent. Files that
// come without a seal are ignored.
func AllSealed(jobs []Job) (all bool) {
	for _, j := range jobs {
		if j.Wrong() || j.Seal.Due() || j.Seal.State != SealIntact && j.Seal.State != SealNone {
			return false
		}
		all = all || j.Seal.State == SealIntact
	}
	return all
}

// Text is the state in one line; empty for a document that has not been examined.
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

// Revocation says what is known about a revocation of the certificate, where that matters.
func (s Seal) Revocation() message.Message {
	switch {
	case s.Vouched:
		return message.CertificateNotRevoked()
	case s.State == SealIntact || s.State == SealFilled || s.State == SealStranger:
		return message.RevocationUnknown()
	}
	return message.Message{}
}
