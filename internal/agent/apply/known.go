package apply

import (
	"slices"
	"strings"

	"countersign/internal/esign"
	"countersign/internal/office"

	"github.com/google/uuid"
)

// Cases are the ways to write id: as it is and, of a UUID, those that differ in the case of its letters alone and name the same
// (RFC 9562, 4).
func Cases(id string) []string {
	if len(id) != 36 || uuid.Validate(id) != nil {
		return []string{id}
	}
	return []string{id, strings.ToLower(id), strings.ToUpper(id)}
}

// SameAs reports whether p is what the service calls id, which is p's own or the same in another case. It is not where the service
// does not tell about p: then p goes by an event that wrote it in a case the service does not know.
func SameAs(p office.Package, id string) bool { return p.ID == id || p.Refused.IsZero() }

// AsKnown is e with the ids as p has them, which is how the service is asked for them; the zero p is not known. Where an event
// writes its package in another case than the service does, or may do, what p does not know by now is left for the status to
// name: it would be known twice.
func AsKnown(p office.Package, e esign.Event) esign.Event {
	var documents, signers []string
	for _, d := range p.Documents {
		documents = append(documents, d.ID)
	}
	for _, s := range p.Signers {
		signers = append(signers, s.ID)
	}
	otherCase := e.PackageID != p.ID
	if p.ID == "" {
		otherCase = slices.Index(Cases(e.PackageID), strings.ToLower(e.PackageID)) > 0
	} else {
		e.PackageID = p.ID
	}
	e.DocumentID = asKnown(documents, e.DocumentID, otherCase)
	e.SignerID = asKnown(signers, e.SignerID, otherCase)
	e.NextSignerID = asKnown(signers, e.NextSignerID, otherCase)
	return e
}

// asKnown is id as it is among known. One that is not is as it was, or none.
func asKnown(known []string, id string, none bool) string {
	for _, written := range Cases(id) {
		if slices.Contains(known, written) {
			return written
		}
	}
	if none {
		return ""
	}
	return id
}
