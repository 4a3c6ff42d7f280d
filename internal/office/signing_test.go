package office

import (
	"testing"
	"time"
)

func TestASignatureIsNewsOnce(t *testing.T) {
	p := Package{Signers: []Signer{{ID: "a"}}, Documents: []Document{{ExternalID: "x"}}}
	now := time.Now()
	if !p.AddSignature(Signature{"d", "a"}, "x", now) || p.AddSignature(Signature{"d", "a"}, "", now.Add(time.Hour)) {
		t.Error("the same signature is not news once")
	}
	if len(p.Documents) != 1 || p.Documents[0].ID != "d" || len(p.Timeline) != 1 || !p.Timeline[0].Time.Equal(now) {
		t.Errorf("the package: %+v", p)
	}
	if done, total := p.Progress(); done != 1 || total != 1 || !p.EveryoneSigned() {
		t.Errorf("%d of %d have signed", done, total)
	}
}

func TestWhoHasSignedSomeDocumentsHasNotSigned(t *testing.T) {
	p := Package{Signers: []Signer{{ID: "a"}, {ID: "j"}}, Documents: []Document{{ID: "d", SignedBy: []string{"a", "j"}}, {ID: "e", SignedBy: []string{"j"}}}}
	if done, total := p.Progress(); done != 1 || total != 2 || p.EveryoneSigned() || p.SignedAll("a") || !p.SignedAll("j") {
		t.Errorf("%d of %d have signed", done, total)
	}
	p.Execute(time.Now())
	if !p.EveryoneSigned() {
		t.Error("an executed package waits for a signature")
	}
}

func TestASignerIsRecognisedOnlyWhereNobodyElseCanBeMeant(t *testing.T) {
	for name, c := range map[string]struct {
		sequential bool
		signers    []Signer
		next       string
		want, then int // who signed, and who is next
	}{
		"one is left":                       {false, []Signer{{ID: "a"}, {}}, "", 1, -1},
		"two are left":                      {false, []Signer{{}, {}}, "next", -1, -1},
		"two in sequence":                   {true, []Signer{{}, {}}, "next", 0, 1},
		"two in sequence, whom none follow": {true, []Signer{{}, {}}, "", -1, -1},
		"three in sequence":                 {true, []Signer{{}, {}, {}}, "next", 0, 1},
		"before one who is known":           {true, []Signer{{}, {}, {ID: "next"}}, "next", 1, 2},
		"after one who is known":            {true, []Signer{{ID: "a"}, {}, {}}, "next", 1, 2},
		"the last of a sequence":            {true, []Signer{{ID: "a"}, {}}, "", 1, -1},
		"the id is known":                   {true, []Signer{{}, {ID: "new"}}, "", 1, -1},
		"nobody is left":                    {true, []Signer{{ID: "a"}}, "next", -1, -1},
		"nobody is known here":              {false, nil, "next", -1, -1},
	} {
		p := Package{Sequential: c.sequential, Signers: c.signers}
		p.MatchSigners("new", c.next)
		then := -1
		if c.next != "" {
			then = p.SignerIndex(c.next)
		}
		if got := p.SignerIndex("new"); got != c.want || then != c.then {
			t.Errorf("%s: signer %d and %d, want %d and %d", name, got, then, c.want, c.then)
		}
	}
}

func TestWhoseTurnItIsFollowsFromTheOrderWhereTheServiceDoesNotSay(t *testing.T) {
	ana, jan := Signer{ID: "a"}, Signer{ID: "j"}
	p := Package{Signers: []Signer{ana, jan}, Documents: []Document{{ID: "d"}}, Sequential: true}
	if got := p.WaitsFor(); len(got) != 1 || got[0] != "a" {
		t.Errorf("in sequence: %q", got)
	}
	p.Documents[0].SignedBy = []string{"a"}
	if got := p.WaitsFor(); len(got) != 1 || got[0] != "j" {
		t.Errorf("after the first: %q", got)
	}
	p.Sequential, p.Documents[0].SignedBy = false, nil
	p.Signers[1].Declined = time.Now()
	if got := p.WaitsFor(); len(got) != 1 || got[0] != "a" {
		t.Errorf("one declined: %q", got)
	}
}

func TestASignerIsFoundOnlyWhereNobodyElseIsCalledSo(t *testing.T) {
	p := Package{Signers: []Signer{
		{ID: "a", FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"},
		{ID: "b", FirstName: "Jan", LastName: "Weber", Email: "office@example.com"},
		{ID: "c", FirstName: "Ana", LastName: "Ruiz", Email: "office@example.com"},
	}}
	for who, want := range map[string]string{"A": "a", " jan@EXAMPLE.com ": "a", "b": "b", "ana ruiz": "c", "Jan Weber": "", "office@example.com": "", "": "", "nobody": ""} {
		if s, ok := p.Find(who); ok != (want != "") || ok && s.ID != want {
			t.Errorf("%q is %+v, %v", who, s, ok)
		}
	}
}
