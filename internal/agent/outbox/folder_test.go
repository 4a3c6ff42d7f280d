package outbox

import (
	"errors"
	"testing"

	"countersign/internal/archive"
	"countersign/internal/office"
)

func TestADocumentOfAFolderIsNotRefusedForTheShareThatItLiesOn(t *testing.T) {
	r := newService(t, accept)
	for _, moment := range []error{archive.ErrUnread, archive.ErrChanged, archive.ErrFull, errors.New("what else the system says")} {
		if err := r.copyError(office.DraftFile{Name: "Lease.pdf"}, moment); !Passes(err) {
			t.Errorf("%v: it is refused, for %v", moment, err)
		}
	}
}
