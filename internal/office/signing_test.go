package office

import (
	"fmt"
	"iter"
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
	if len(p.Documents) != 1 || p.Documents[0].ID != "d" || len(p.History) != 1 || !p.History[0].Time.Equal(now) {
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
	if !p.EveryoneSigned() || !p.Documents[0].Executed || !p.Documents[1].Executed {
		t.Error("an executed package waits for a signature, or a document of it does")
	}
	if (Package{}).EveryoneSigned() {
		t.Error("everybody has signed what nobody is known to sign")
	}
}

// Events arrive in any order.
func TestWhoComesBeforeOneWhoHasSignedIsNextNoMoreInSequence(t *testing.T) {
	for sequential, want := range map[bool][]string{true: {"stranger", "c", "d"}, false: {"a", "stranger", "c", "d"}} {
		p := Package{Sequential: sequential, Signers: []Signer{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}}, Documents: []Document{{ID: "x", SignedBy: []string{"b"}}},
			Signing: Signing{NextSigners: []string{"a", "b", "stranger", "c"}}}
		p.PassTurn("x", "b", "d")
		p.PassTurn("x", "b", "d")
		if !slices.Equal(p.NextSigners, want) {
			t.Errorf("sequential %v: next are %q, want %q", sequential, p.NextSigners, want)
		}
		if p.PassTurn("x", "c", "a"); slices.Contains(p.NextSigners, "c") || slices.Contains(p.NextSigners, "a") == sequential {
			t.Errorf("sequential %v: next are %q then", sequential, p.NextSigners)
		}
		p.State = PackageExecuted
		if p.PassTurn("x", "d", "c"); len(p.NextSigners) > 0 {
			t.Errorf("of an executed package: %q", p.NextSigners)
		}
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
		expect(t, p.LastSigner(), c.want, name+": %q, want %q", c.want)
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

func TestASignerIsRecognisedOnlyWhereNobodyElseCanBeMeant(t *testing.T) {
	for name, c := range map[string]struct {
		sequential bool
		signers    []Signer
		next       string
		want, then int // signerIds of who signed and who is next
	}{
		"one is left":                       {false, []Signer{{ID: "a"}, {}}, "", 1, -1},
		"two are left":                      {false, []Signer{{}, {}}, "next", -1, -1},
		"two in sequence":                   {true, []Signer{{}, {}}, "next", 0, 1},
		"two in sequence, whom none follow": {true, []Signer{{}, {}}, "", -1, -1},
		"three in sequence":                 {true, []Signer{{}, {}, {}}, "next", -1, -1},
		"before one who is known":           {true, []Signer{{}, {}, {ID: "next"}}, "next", -1, 2},
		"before the second":                 {true, []Signer{{}, {ID: "next"}, {}}, "next", 0, 1},
		"before the first":                  {true, []Signer{{ID: "next"}, {}, {}}, "next", -1, 0},
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

// TestInWhateverOrderEventsComeNobodyIsTakenForSomebodyElse lets up to five people sign one after the other, and delivers
// their events in every order.
func TestInWhateverOrderEventsComeNobodyIsTakenForSomebodyElse(t *testing.T) {
	for n := 1; n <= 5; n++ {
		everybody := []string{"a", "b", "c", "d", "e"}[:n]
		for order := range permutations(n) {
			p := Package{Sequential: true, Signers: make([]Signer, n)}
			for _, at := range order {
				next := ""
				if at+1 < n {
					next = everybody[at+1]
				}
				p.MatchSigners(everybody[at], next)
				p.MatchSigners(everybody[at], next) // every event arrives twice
				for i, s := range p.Signers {
					if s.ID != "" && s.ID != everybody[i] {
						t.Fatalf("events in the order %v: place %d of %d is taken for %q", order, i, n, s.ID)
					}
				}
			}
			for i, s := range p.Signers {
				if s.ID != everybody[i] {
					t.Errorf("after all events, in the order %v, place %d is %q", order, i, s.ID)
				}
			}
			if len(p.Turns) != 0 {
				t.Errorf("everybody is known, and there is still %v", p.Turns)
			}
		}
	}
}

// permutations are the orders of 0 to n-1.
func permutations(n int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		order := make([]int, 0, n)
		var extend func() bool
		extend = func() bool {
			if len(order) == n {
				return yield(slices.Clone(order))
			}
			for i := range n {
				if slices.Contains(order, i) {
					continue
				}
				order = append(order, i)
				if !extend() {
					return false
				}
				order = order[:len(order)-1]
			}
			return true
		}
		extend()
	}
}

func TestTurnsThatContradictEachOtherNameNobody(t *testing.T) {
	for name, turns := range map[string][]Turn{
		"in a circle":         {{"a", "b"}, {"b", "c"}, {"c", "a"}},
		"more than there are": {{"a", "b"}, {"b", "c"}, {"c", "d"}},
		"there and back":      {{"a", "b"}, {"b", "a"}},
	} {
		p := Package{Sequential: true, Signers: make([]Signer, 3)}
		for _, turn := range turns[len(turns)-1:] {
			p.Turns = turns[:len(turns)-1]
			p.MatchSigners(turn.Signer, turn.Next)
		}
		for _, s := range p.Signers {
			expect(t, s.ID, "", name+": somebody is %q")
		}
	}
}

func TestNobodyIsNextWhoseTurnIsOver(t *testing.T) {
	p := Package{Sequential: true, Signers: []Signer{{ID: "a"}, {ID: "j"}, {ID: "z"}}, Documents: []Document{{ID: "d"}},
		Signing: Signing{NextSigners: []string{"a"}}}
	sign := func(who, next string, want ...string) {
		t.Helper()
		p.AddSignature(Signature{"d", who}, "", When{Time: time.Now()})
		p.PassTurn("d", who, next)
		if !slices.Equal(p.NextSigners, want) {
			t.Errorf("after %s: next is %q, want %q", who, p.NextSigners, want)
		}
	}
	sign("z", "") // the events arrive in reverse
	if !p.Skipped() || p.Next() != nil {
		t.Errorf("%+v are to sign before somebody who has", p.Next())
	}
	sign("j", "z")
	sign("a", "j")
	if p.Skipped() || !p.EveryoneSigned() {
		t.Errorf("everybody has signed: %+v", p)
	}
}

func TestWhoseTurnItIsFollowsFromTheOrderWhereTheServiceDoesNotSay(t *testing.T) {
	const everybody = "a j z"
	for name, c := range map[string]struct {
		state   PackageState
		order   bool
		signers string   // signers in order; "-" has no id
		signed  []string // for each document, who has signed
		named   string   // named as next by the service
		decline string
		want    string
	}{
		"in sequence it is the first":                {"open", true, everybody, []string{""}, "", "", "a"},
		"whom the service did not give an id":        {"open", true, "- - -", []string{""}, "", "", "-"},
		"then the second":                            {"open", true, everybody, []string{"a"}, "", "", "j"},
		"whoever has signed some goes on":            {"open", true, everybody, []string{"a", ""}, "", "", "a"},
		"else it is everybody who has not signed":    {"open", false, everybody, []string{"j"}, "", "", "a z"},
		"but whom the service names":                 {"open", false, everybody, []string{"j"}, "z", "", "z"},
		"and who has begun":                          {"open", false, everybody, []string{"j", ""}, "z", "", "j z"},
		"whoever was named and has signed is not":    {"open", true, everybody, []string{"a j"}, "j", "", "z"},
		"nor who has declined":                       {"open", false, everybody, []string{""}, "a", "a", "j z"},
		"nor, in sequence, anybody behind them":      {"open", true, everybody, []string{"a"}, "j", "j", ""},
		"unless the service says so":                 {"open", true, everybody, []string{"a"}, "z", "j", "z"},
		"not while an event is missing":              {"open", true, everybody, []string{"j"}, "", "", ""},
		"nor where the one who signed is not known":  {"open", false, "a - -", []string{"x"}, "", "", "a"},
		"nobody of what is not sent":                 {"draft", true, everybody, []string{""}, "a", "", ""},
		"nor of what is being made":                  {"select", true, everybody, []string{""}, "a", "", ""},
		"nor of what is over":                        {"rescinded", true, everybody, []string{""}, "a", "", ""},
		"nor of what everybody has signed":           {"executed", true, everybody, []string{""}, "a", "", ""},
		"of a package that nothing is known of, all": {"", false, everybody, nil, "", "", everybody},
	} {
		p := Package{State: c.state, Sequential: c.order, Signing: Signing{NextSigners: strings.Fields(c.named)}}
		for _, id := range strings.Fields(c.signers) {
			s := Signer{ID: strings.Trim(id, "-"), FirstName: id}
			if id == c.decline {
				s.Declined = When{Time: time.Now()}
			}
			p.Signers = append(p.Signers, s)
		}
		for i, by := range c.signed {
			p.Documents = append(p.Documents, Document{ID: fmt.Sprint(i), SignedBy: strings.Fields(by)})
		}
		var names []string
		for _, s := range p.Next() {
			names = append(names, s.FirstName)
			if part, _ := p.StatusOf(s); part != SignerNext {
				t.Errorf("%s: %s is next, and stands as %q", name, s.FirstName, part)
			}
		}
		expect(t, strings.Join(names, " "), c.want, name+": next is %q, want %q", c.want)
		if got, want := p.Line().Next, strings.ReplaceAll(c.want, " ", "\n"); got != want {
			t.Errorf("%s: in the list next is %q, want %q", name, got, want)
		}
	}
}
