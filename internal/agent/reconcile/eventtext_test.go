package reconcile

import (
	"testing"

	"countersign/internal/esign"
	"countersign/internal/office"
)

func TestADocumentThatIsCalledLikeItsPackageIsNotNamedTwice(t *testing.T) {
	p := office.Package{Name: "Offer", Documents: []office.Document{{ID: "o", Name: "Offer"}, {ID: "l", Name: "Lease"}}}
	for id, want := range map[string]string{
		"o": "Everyone has signed a document in “Offer”.",
		"l": "Everyone has signed “Lease” in “Offer”.",
	} {
		if got := eventMessage(p, esign.Event{Action: esign.DocumentExecuted, DocumentID: id}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
