package office

import "testing"

func TestEachMomentIsToldInWords(t *testing.T) {
	p := Package{Signers: []Signer{{ID: "a", FirstName: "Ana"}, {ID: "j", FirstName: "Jan"}}, Documents: []Document{{ID: "d", Name: "Lease"}}}
	for want, m := range map[string]Moment{
		"Sent to 2 people":               {What: MomentSent},
		"Ana signed":                     {What: MomentSigned, Who: "a"},
		"Ana signed Lease":               {What: MomentSigned, Who: "a", Ref: "d"},
		"Someone signed Lease":           {What: MomentSigned, Who: "gone", Ref: "d"},
		"Someone signed":                 {What: MomentSigned},
		"Everyone has signed Lease":      {What: MomentDocument, Ref: "d"},
		"Everyone has signed a document": {What: MomentDocument, Ref: "gone"},
		"Everyone has signed":            {What: MomentExecuted},
		"Jan declined to sign":           {What: MomentDeclined, Who: "j"},
		"Someone declined to sign":       {What: MomentEnded, Ref: "declined"},
		"Saved Lease - signed.pdf":       {What: MomentSaved, Ref: "2026/Lease - signed.pdf"},
		"Expired before everyone signed": {What: MomentEnded, Ref: "expired"},
		"Withdrawn":                      {What: MomentEnded, Ref: "rescinded"},
		"Closed: frozen":                 {What: MomentEnded, Ref: "frozen"},
		"reopened":                       {What: "reopened"},
	} {
		if got := p.Tell(m).String(); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
	if got := (Package{}).Tell(Moment{What: MomentSent}).String(); got != "Sent" {
		t.Errorf("to nobody known: %q", got)
	}
}
