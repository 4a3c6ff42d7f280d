package office

import "slices"

// Standing is what a package means to a person, whatever the service calls it. Its words are part of what the commands
// print for programs: they stay.
type Standing string

const (
	StandsWaiting   Standing = "waiting"   // somebody still has to sign
	StandsDone      Standing = "done"      // signed by everyone
	StandsDeclined  Standing = "declined"  // a signer declined to sign
	StandsExpired   Standing = "expired"   // the day to sign by went by first
	StandsWithdrawn Standing = "withdrawn" // by the office
	StandsProblem   Standing = "problem"   // the service does not show it, or its files cannot be saved
)

// Standing is where the package of a line stands. It is the one judgement of that, for the window and the commands. The
// words of the service for its states are in service-facts.md, section 5; unknown ones count as waiting.
func (l PackageLine) Standing() Standing {
	switch {
	case l.Problem:
		return StandsProblem
	case l.State == PackageExecuted || !l.Executed.IsZero():
		return StandsDone
	case l.State == PackageRescinded:
		return StandsWithdrawn
	case l.Gone:
		return StandsProblem
	case l.State == PackageExpired:
		return StandsExpired
	case l.Refused():
		return StandsDeclined
	}
	return StandsWaiting
}

// Refused says that a signer declined: as the package is, nobody can complete it.
func (l PackageLine) Refused() bool { return l.Declined || l.State == "declined" }

// Standing is where p stands, as its line tells it.
func (p Package) Standing() Standing { return p.Line().Standing() }

// Part is where one signer of a package stands.
type Part string

const (
	PartSigned   Part = "signed"
	PartDeclined Part = "declined"
	PartMissed   Part = "missed" // the package ended without the signature
	PartNext     Part = "next"   // it is their turn
	PartLater    Part = "later"  // it is not their turn yet
)

// SomeoneDeclined reports whether a signer of p is known to have declined.
func (p Package) SomeoneDeclined() bool {
	return slices.ContainsFunc(p.Signers, func(s Signer) bool { return !s.Declined.IsZero() })
}

// PartOf is where a signer of p stands, and how many documents the person has signed.
func (p Package) PartOf(signer Signer) (part Part, signed int) {
	for _, d := range p.Documents {
		if signer.ID != "" && slices.Contains(d.SignedBy, signer.ID) {
			signed++
		}
	}
	switch {
	case p.State == PackageExecuted, !p.Executed.IsZero(), len(p.Documents) > 0 && signed == len(p.Documents):
		return PartSigned, signed
	case !signer.Declined.IsZero():
		return PartDeclined, signed
	case p.State.Over(), p.Gone, p.State == "declined" && !p.SomeoneDeclined():
		return PartMissed, signed
	case slices.Contains(p.Next(), signer):
		return PartNext, signed
	}
	return PartLater, signed
}

// StillSigns reports whether a signer of p has something to sign, now or when it is their turn.
func (p Package) StillSigns(signer Signer) bool {
	part, _ := p.PartOf(signer)
	return p.Standing() == StandsWaiting && p.State.CanBeWithdrawn() && (part == PartNext || part == PartLater)
}
