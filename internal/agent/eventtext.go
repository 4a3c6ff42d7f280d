package agent

import (
	"cmp"
	"fmt"

	"countersign/internal/esign"
	"countersign/internal/office"
)

// eventSentence is an event as the activity list tells it.
func eventSentence(p office.Package, e esign.Event) string {
	name, signer := office.Quote(p.DisplayName()), cmp.Or(p.SignerName(e.SignerID), "Someone")
	switch e.Action {
	case esign.DocumentSigned:
		if d := p.DocumentName(e.DocumentID); d != "" && len(p.Documents) > 1 {
			return fmt.Sprintf("%s signed %s in %s.", signer, office.Quote(d), name)
		}
		return fmt.Sprintf("%s signed %s.", signer, name)
	case esign.DocumentExecuted:
		if d := p.DocumentName(e.DocumentID); d != "" {
			return fmt.Sprintf("Everyone has signed %s in %s.", office.Quote(d), name)
		}
		return fmt.Sprintf("Everyone has signed a document in %s.", name)
	case esign.PackageExecuted:
		return "Everyone has signed " + name + "."
	case esign.PackageAdd:
		return name + " was created."
	case esign.PackageSent:
		return name + " was sent."
	default:
		return fmt.Sprintf("The service reported %s for %s.", office.Quote(e.Action), name)
	}
}
