package office

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
)

func TestAPackageIsCalledByWhatPeopleKnow(t *testing.T) {
	for want, p := range map[string]Package{
		"Offer": {Name: "Offer", Documents: []Document{{Name: "Lease"}}},
		"Lease": {Documents: []Document{{}, {Name: "Lease", FileName: "a.pdf"}}},
		"a.pdf": {Documents: []Document{{FileName: "a.pdf"}}},
		"":      {ID: "p"},
	} {
		expect(t, p.DisplayName(), want, "%q, want %q", want)
	}
	p := Package{Signers: []Signer{{ID: "a", FirstName: " Ana ", LastName: "Ruiz", Email: "ana@example.com"}, {ID: "j", Email: "jan@example.com"}, {Email: "x@example.com"}}}
	for id, want := range map[string]string{"a": "Ana  Ruiz", "j": "jan@example.com", "": "", "who": ""} {
		if got := p.SignerName(id); got != want {
			t.Errorf("signer %q: %q, want %q", id, got, want)
		}
	}
}

func TestNamesAreStoredAsTheyCanBeShown(t *testing.T) {
	signers := []Signer{{FirstName: "A\nb", Email: strings.Repeat("x", 3*MaxName)}}
	p := Package{Name: "evil\u202egnp.exe", Signers: signers, Documents: []Document{{FileName: "a\x00b"}},
		Source: Source{ExternalData: json.RawMessage(`{"reference":"2024\n17"}`)}}.Derived()
	if p.Name != "evilgnp.exe" || p.Signers[0].FirstName != "A b" || len([]rune(p.Signers[0].Email)) > MaxName || p.Reference != "2024 17" {
		t.Errorf("stored as %+v", p)
	}
	if signers[0].FirstName != "A\nb" {
		t.Error("the draft's own text was changed")
	}
}

func TestAnArchivedPackageComesBackForWhatIsNewlyWrong(t *testing.T) {
	p := Package{Saving: Saving{Problem: message.DiskFull("Signed")}}
	p.Archive(true)
	p.Problem = message.WaitForRoom("Signed", 2)
	if p = p.Derived(); p.Archived == nil {
		t.Error("the same trouble in other words brought it back")
	}
	p.Gone = true
	if again := p.Derived(); again.Archived != nil {
		t.Error("what is newly wrong beside it does not bring it back")
	}
	p.Gone, p.Problem = false, message.Message{}
	p = p.Derived()
	p.Signers = []Signer{{ID: "a", Declined: When{Time: time.Now()}}}
	if p = p.Derived(); p.Archived != nil {
		t.Error("what is newly wrong does not bring it back")
	}
	p.Archive(true)
	if p.Archive(false); p.Archived != nil {
		t.Error("nobody can put it back")
	}
}
