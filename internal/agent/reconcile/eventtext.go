package reconcile

import (
	"countersign/internal/esign"
	"countersign/internal/message"
	"countersign/internal/office"
)

// eventMessage is an event as the activity list tells it.
func eventMessage(p office.Package, e esign.Event) message.Message {
	name, signer, document := p.DisplayName(), p.SignerName(e.SignerID), p.DocumentName(e.DocumentID)
	switch e.Action {
	case esign.DocumentSigned:
		several := document != "" && len(p.Documents) > 1
		switch {
		case several && signer != "":
			return message.SignedDocument(signer, document, name)
		case several:
			return message.SomeoneSignedDocument(document, name)
		case signer != "":
			return message.Signed(signer, name)
		}
		return message.SomeoneSigned(name)
	case esign.DocumentExecuted:
		if document != "" && document != name { // as a document that is sent alone is mostly called
			return message.EveryoneSignedDocument(document, name)
		}
		return message.EveryoneSignedADocument(name)
	case esign.PackageExecuted:
		return message.EveryoneSigned(name)
	case esign.PackageAdd:
		return message.PackageCreated(name)
	case esign.PackageSent:
		return message.PackageSent(name)
	case esign.PackageRescinded:
		return message.Withdrawn(name)
	default:
		return message.Reported(e.Action, name)
	}
}
