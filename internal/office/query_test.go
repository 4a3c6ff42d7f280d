package office

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
)

// day is noon of a day in March.
func day(n int) time.Time { return time.Date(2026, 3, n, 12, 0, 0, 0, time.UTC) }

// some are packages of every status, newest first.
func some() (lines []PackageLine) {
	ana, jan := Signer{ID: "a", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com"}, Signer{ID: "j", FirstName: "Jan", LastName: "Wéber", Email: "jan@example.com"}
	no := jan
	no.Declined = When{Time: day(3)}
	for _, p := range []Package{
		{ID: "61", Name: "Offer", State: "open", Origin: MadeHere, Created: day(9), Due: day(20), Signers: []Signer{ana}},
		{ID: "62", Name: "lease", State: PackageExecuted, Origin: MadeElsewhere, Created: day(8), Executed: When{Time: day(9)}, Signers: []Signer{ana, jan}},
		{ID: "73", Name: "Contract", State: "open", Created: day(7), Due: day(10), Signers: []Signer{no}},
		{ID: "74", Name: "Offer", State: PackageExpired, Created: day(6), Due: day(8)},
		{ID: "75", Name: "Rules", State: PackageRescinded, Created: day(5), Documents: []Document{{FileName: "Straße.pdf"}}},
		{ID: "76", Name: "Minutes", State: PackageExecuted, Executed: When{Time: day(7)}, Created: day(4),
			Saving: Saving{Problem: message.FolderMissing("/x")}},
		{ID: "77", Name: "Old", State: "something new", Created: day(3), Archived: &Archived{}},
	} {
		lines = append(lines, p.Line())
	}
	return lines
}

func ids(lines []PackageLine) string {
	var list []string
	for _, l := range lines {
		list = append(list, l.ID)
	}
	return strings.Join(list, " ")
}

func TestAQueryChoosesAndOrders(t *testing.T) {
	for _, c := range []struct {
		name string
		q    Query
		want string
	}{
		{"all that are in the list", Query{}, "61 62 73 74 75 76"},
		{"what was archived, too", Query{Archived: true}, "61 62 73 74 75 76 77"},
		{"waiting, an unknown word of the service among them", Query{States: []Status{StatusWaiting}, Archived: true}, "61 77"},
		{"done", Query{States: []Status{StatusDone}}, "62"},
		{"declined", Query{States: []Status{StatusDeclined}}, "73"},
		{"expired", Query{States: []Status{StatusExpired}}, "74"},
		{"withdrawn", Query{States: []Status{StatusWithdrawn}}, "75"},
		{"a problem, though signed", Query{States: []Status{StatusProblem}}, "76"},
		{"two states", Query{States: []Status{StatusExpired, StatusDone}}, "62 74"},
		{"a person", Query{Person: "weber"}, "62 73"},
		{"an address", Query{Person: "ANA@"}, "61 62"},
		{"words of a document", Query{Search: "strasse"}, "75"},
		{"words in any order", Query{Search: "ruiz offer"}, "61"},
		{"since", Query{Since: day(7)}, "61 62 73"},
		{"until", Query{Until: day(6)}, "74 75 76"},
		{"both, and the first two", Query{Since: day(5), Until: day(8), Limit: 2}, "62 73"},
		{"by name", Query{Sort: ByName}, "73 62 76 61 74 75"},
		{"by due date, what waits first and none last", Query{Sort: ByDue}, "61 74 73 62 75 76"},
		{"made here", Query{Origin: MadeHere}, "61"},
		{"made elsewhere", Query{Origin: MadeElsewhere, States: []Status{StatusDone}}, "62"},
		{"by when all had signed", Query{Sort: ByExecuted}, "62 76 61 73 74 75"},
		{"reversed", Query{Reverse: true, Limit: 1}, "76"},
	} {
		before := some()
		if got := ids(c.q.Choose(before)); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if !slices.Equal(before, some()) {
			t.Errorf("%s: the lines were changed", c.name)
		}
	}
}

func TestAPackageIsMeantByItsIDItsBeginningOrItsName(t *testing.T) {
	for word, want := range map[string]string{
		"73": "73", "6": "61 62", "7": "73 74 75 76 77", "Offer": "61 74", "offer": "", "Rules": "75", " Rules ": "75", "": "", "nothing": "",
	} {
		if got := ids(Named(some(), word)); got != want {
			t.Errorf("%q means %q, want %q", word, got, want)
		}
	}
	expect(t, ids(Named([]PackageLine{{ID: "1", Name: "12"}, {ID: "12"}}, "12")), "12", "an id that is also a name means %q")
}

func TestAPersonsPartFollowsThePackage(t *testing.T) {
	ana, jan := Signer{ID: "a"}, Signer{ID: "j"}
	p := Package{State: "open", Signers: []Signer{ana, jan}, Signing: Signing{NextSigners: []string{"a"}},
		Documents: []Document{{ID: "1", SignedBy: []string{"j"}}, {ID: "2"}}}
	part := func(p Package, s Signer) SignerStatus { got, _ := p.StatusOf(s); return got }
	if a, j := part(p, ana), part(p, jan); a != SignerNext || j != SignerNext {
		t.Errorf("open: %s, %s", a, j)
	}
	p.Documents[0].SignedBy = nil
	if j := part(p, jan); j != SignerLater {
		t.Errorf("whose turn it is not: %s", j)
	}
	for _, state := range []PackageState{PackageExpired, PackageRescinded} {
		p.State = state
		if a := part(p, ana); a != SignerMissed {
			t.Errorf("%s: %s", state, a)
		}
	}
	p.State, ana.Declined = "open", When{Time: day(1)}
	if a := part(p, ana); a != SignerDeclined {
		t.Errorf("declined: %s", a)
	}
	p.State = PackageExecuted
	p.Signers[0] = ana
	if a, j := part(p, ana), part(p, jan); a != SignerDeclined || j != SignerSigned {
		t.Errorf("executed: %s, %s", a, j)
	}
	if done, total := p.Progress(); done != 1 || total != 2 || p.EveryoneSigned() || p.LastSigner() != "" {
		t.Errorf("executed without her: %d of %d", done, total)
	}
	p.Documents[0].SignedBy, p.Documents[1].SignedBy = []string{"a"}, []string{"a"} // asked again
	if a, j := part(p, ana), part(p, jan); a != SignerSigned || j != SignerSigned || !p.EveryoneSigned() {
		t.Errorf("executed after she signed: %s, %s", a, j)
	}
}

func TestNamesAreInTheOrderPeopleExpect(t *testing.T) {
	want := []string{"Ärzte 1", "lease", "Lease 2", "Lease 02 b", "Lease 10", "Lease 10a", "Lease a", "Mandate", "Mandate 2026-9", "Mandate 2026-118", ""}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b string) int { return CompareNames(Fold(a), Fold(b)) })
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestLettersAreComparedAsPeopleTypeThem(t *testing.T) {
	for in, want := range map[string]string{"Straße": "strasse", "Łódź": "lodz", "Nguyễn Đức": "nguyen duc", "Παπαδοπούλου": "παπαδοπουλου",
		"Ünal İnce": "unal ince", "Þórðardóttir": "þorðardottir", "ASCII only": "ascii only"} {
		if got := Fold(in); got != want {
			t.Errorf("%q is compared as %q, want %q", in, got, want)
		}
	}
}

func TestTheUsualLettersAreFoldedLikeAllOthers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for r := range rune(usual) {
		for range 20 {
			text := string([]rune{random.Int32N(usual), r, random.Int32N(usual), r, random.Int32N(2 * usual)}[:1+random.IntN(5)])
			if got, want := Fold(text), foldAny(text); got != want {
				t.Fatalf("%q is folded to %q, want %q", text, got, want)
			}
		}
	}
	if got, want := Fold("Caf\xe9 É"), foldAny("Caf\xe9 É"); got != want {
		t.Errorf("what is no text is folded to %q, want %q", got, want)
	}
}

func TestNoCellIsAFormula(t *testing.T) {
	for text, want := range map[string]string{
		"Lease 4":            "Lease 4",
		"=1+1":               "'=1+1",
		"+41 31 000":         "'+41 31 000",
		"-2":                 "'-2",
		"@SUM(A1)":           "'@SUM(A1)",
		" \t=1":              "'=1",
		"\"=1\"":             "\"'=1\"",
		"Offer;=cmd|' /C'!A": "Offer;'=cmd|' /C'!A",
		"Offer, @x":          "Offer, '@x",
		"a\r\n=b":            "a  =b",
		"＝1":                 "'＝1",
		"A-B = C":            "A-B = C",
		"":                   "",
	} {
		if got := Cell(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
