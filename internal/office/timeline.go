package office

import (
	"path"
	"slices"

	"countersign/internal/message"
)

// Moment is one line of a package's timeline.
type Moment struct {
	Time When   `json:"time"`
	What string `json:"what"`          // sent, signed, document_executed, executed, saved, ...
	Who  string `json:"who,omitempty"` // signerId
	Ref  string `json:"ref,omitempty"` // documentId, file name, ...
}

// What a moment can be.
const (
	MomentSent     = "sent"
	MomentSigned   = "signed"
	MomentDocument = "document_executed"
	MomentExecuted = "executed"
	MomentSaved    = "saved"
	MomentDeclined = "declined"
	MomentEnded    = "ended" // expired, rescinded
)

// AddMoment adds a line to the timeline. Where the same thing is there already, its time alone is made more exact.
func (p *Package) AddMoment(m Moment) {
	i := slices.IndexFunc(p.Timeline, m.same)
	if i < 0 {
		p.Timeline = append(p.Timeline, m)
		return
	}
	if at := p.Timeline[i].Time.Narrowed(m.Time); at != p.Timeline[i].Time {
		p.Timeline = slices.Clone(p.Timeline)
		p.Timeline[i].Time = at
	}
}

// same reports whether x is the same thing, whenever it was.
func (m Moment) same(x Moment) bool { return x.What == m.What && x.Who == m.Who && x.Ref == m.Ref }

// Tell is one line of the timeline in words.
func (p Package) Tell(m Moment) message.Message {
	who, document := p.SignerName(m.Who), p.DocumentName(m.Ref)
	switch m.What {
	case MomentSent, "created":
		if len(p.Signers) == 0 {
			return message.MomentSent()
		}
		return message.MomentSentTo(len(p.Signers))
	case MomentSigned, "document_signed":
		switch {
		case who == "" && document == "":
			return message.MomentSomeone()
		case who == "":
			return message.MomentSomeoneSignedDocument(document)
		case document == "":
			return message.MomentSigned(who)
		}
		return message.MomentSignedDocument(who, document)
	case MomentDocument:
		if document == "" {
			return message.MomentDocument()
		}
		return message.MomentDocumentCalled(document)
	case MomentExecuted, "package_executed":
		return message.MomentExecuted()
	case MomentDeclined:
		if who == "" {
			return message.MomentSomeoneDeclined()
		}
		return message.MomentDeclined(who)
	case MomentSaved:
		return message.MomentSaved(path.Base(m.Ref))
	case MomentEnded:
		return closed(m.Ref)
	}
	return message.MomentOther(m.What)
}

// closed says how a package ended without being signed by everyone; state is the service's word.
func closed(state string) message.Message {
	switch PackageState(state) {
	case PackageExpired:
		return message.MomentExpired()
	case PackageRescinded:
		return message.MomentWithdrawn()
	case "declined":
		return message.MomentSomeoneDeclined()
	}
	return message.MomentClosed(state)
}
