package office

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestASignatureIsNewsOnce(t *testing.T) {
	p := Package{Signers: []Signer{{ID: "a"}}, Documents: []Document{{ExternalID: "x"}}}
	now := time.Now()
	if !p.AddSignature(Signature{"d", "a"}, "x", When{now, true}) || p.AddSignature(Signature{"d", "a"}, "", When{now.Add(time.Hour), true}) {
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
	p.Execute(When{Time: time.Now()})
	if !p.EveryoneSigned() {
		t.Error("an executed package waits for a signature")
	}
}

func TestWhoSignedLastIsSaidOnlyWhereItIsCertain(t *testing.T) {
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	type heard struct {
		who  string
		when int // minutes after noon
		told bool
	}
	for name, c := range map[string]struct {
		sequential bool
		heard      []heard
		want       string
	}{
		"alone, whatever was heard":      {false, []heard{{"a", 0, false}}, "a"},
		"as it was heard":                {false, []heard{{"a", 0, true}, {"j", 1, true}}, "j"},
		"heard the other way round":      {false, []heard{{"j", 1, true}, {"a", 0, true}}, "j"},
		"at the same time":               {false, []heard{{"a", 1, true}, {"j", 1, true}}, ""},
		"one was found in a status":      {false, []heard{{"a", 0, true}, {"j", 1, false}}, ""},
		"and its event came later":       {false, []heard{{"j", 5, false}, {"a", 1, true}, {"j", 0, true}}, "a"},
		"in sequence it is the last":     {true, []heard{{"j", 0, true}, {"a", 1, false}}, "j"},
		"not while somebody has to sign": {true, []heard{{"a", 0, true}, {"", 0, false}}, ""},
	} {
		p := Package{Sequential: c.sequential, Documents: []Document{{ID: "0"}}}
		for _, h := range c.heard {
			if p.SignerIndex(h.who) < 0 {
				p.Signers = append(p.Signers, Signer{ID: h.who})
			}
		}
		slices.SortFunc(p.Signers, func(a, b Signer) int { return strings.Compare(a.ID, b.ID) })
		for _, h := range c.heard {
			if h.who == "" {
				continue
			}
			p.AddSignature(Signature{"0", h.who}, "", When{noon.Add(time.Duration(h.when) * time.Minute), !h.told})
		}
		if got := p.LastSigner(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
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

func TestOnlyWhoMaySignStillSigns(t *testing.T) {
	ana, jan := Signer{ID: "a", Email: "ana@example.com"}, Signer{ID: "j", Email: "jan@example.com"}
	for state, want := range map[PackageState]bool{"sent": true, "": true, PackageDraft: false, "add": false, PackageExecuted: false, PackageExpired: false, PackageRescinded: false, "declined": false} {
		p := Package{State: state, Signers: []Signer{ana, jan}, Documents: []Document{{ID: "d", SignedBy: []string{"a"}}}}
		if got := p.StillSigns(jan); got != want {
			t.Errorf("%q: %v", state, got)
		}
		if p.StillSigns(ana) {
			t.Errorf("%q: who has signed everything signs on", state)
		}
	}
}
