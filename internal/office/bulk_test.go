package office

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/trytest"
)

var expect = trytest.Expect

// listOf checks a list for one document; cells are separated by |, and the first line has the headings.
func listOf(common NewPackage, order string, lines ...string) BulkList {
	var rows []ListRow
	for i, line := range lines {
		rows = append(rows, ListRow{Line: i + 1, Cells: strings.Split(line, "|"), Hidden: strings.HasPrefix(line, "hidden")})
	}
	common.Files = []string{"/x/Lease 4.pdf"}
	return ReadList("people.csv", rows, common, []string{"sum"}, time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), order)
}

func shownSigners(p NewPackage) string {
	var list []string
	for _, s := range p.Signers {
		list = append(list, strings.TrimSpace(s.Role+" "+Written(s)))
	}
	return strings.Join(list, ", ")
}

func TestColumnsAreKnownByTheirHeads(t *testing.T) {
	lease := &Template{ID: "t", Documents: []TemplateDocument{{ID: "d", Fields: []TemplateField{{ID: "rent", Name: "Miete"}, {ID: "x-1"}}}},
		Roles: []TemplateRole{{ID: "r1", Role: "Vermieter", FirstName: "Jan", LastName: "Weber", Email: "jan@example.com"}, {ID: "r2", Role: "Mieter"}}}
	lease.Documents[0].Data = map[string]string{"x-1": "as agreed"}
	parties := &Template{ID: "p", Roles: []TemplateRole{{ID: "1", Role: "Party"}, {ID: "2", Role: "Party 2"}}}
	for _, c := range []struct {
		heads, line string
		common      NewPackage
		want        string
	}{
		{"Name|E-mail", "Ana Ruiz|ana@example.com", NewPackage{}, "Ana Ruiz <ana@example.com>"},
		{"Vorname|Name|E-Mail-Adresse", "Zoë|von Müller|zoe@example.com", NewPackage{}, "von Müller, Zoë <zoe@example.com>"},
		{"Prénom|NOM|Courriel", "Éva|Klein|eva@example.com", NewPackage{}, "Éva Klein <eva@example.com>"},
		{"Nombre|Apellidos|Correo electrónico", "Ana|Ruiz Gil|ana@example.com", NewPackage{}, "Ruiz Gil, Ana <ana@example.com>"},
		{"E-mail|E-mail 2|Name 2", "Ana Ruiz <ana@example.com>|jan@example.com|Jan Weber", NewPackage{}, "Ana Ruiz <ana@example.com>, Jan Weber <jan@example.com>"},
		{"E-mail|Miete", "ana@example.com|1.200", NewPackage{Signers: []Signer{{FirstName: "Boss", Email: "boss@example.com"}}}, "ana <ana@example.com>, Boss <boss@example.com>"},
		{"Mieter E-Mail|Name: Mieter|MIETE", "ana@example.com|Ana Ruiz|1.200", NewPackage{Template: lease}, "Vermieter Jan Weber <jan@example.com>, Mieter Ana Ruiz <ana@example.com>"},
		{"Email1|Email2|Name2", "ana@example.com|jan@example.com|Jan Weber", NewPackage{}, "ana <ana@example.com>, Jan Weber <jan@example.com>"},
		{"Vorname|Nachname|Name|E-Mail", "Ana|Ruiz||ana@example.com", NewPackage{}, "Ana Ruiz <ana@example.com>"},
		{"#|E-mail Mieter|Miete", "17|ana@example.com|1.200", NewPackage{Template: lease}, "Vermieter Jan Weber <jan@example.com>, Mieter ana <ana@example.com>"},
		{"E-mail Party 2|E-mail Party", "b@example.com|a@example.com", NewPackage{Template: parties}, "Party a <a@example.com>, Party 2 b <b@example.com>"},
		{"E-Mail|Rolle|Miete", "ana@example.com|Mieter|1.200", NewPackage{Template: lease}, "Vermieter Jan Weber <jan@example.com>, Mieter ana <ana@example.com>"},
	} {
		l := listOf(c.common, "", c.heads, c.line)
		if len(l.Wrong)+len(l.Faulty()) > 0 || shownSigners(l.Lines[0].Package) != c.want {
			t.Errorf("%s: %s, want %s; wrong are %v, %+v", c.heads, shownSigners(l.Lines[0].Package), c.want, l.Wrong, l.Lines[0].Wrong)
		}
		if c.common.Template == lease && fmt.Sprint(l.Lines[0].Data) != "[map[rent:1.200 x-1:as agreed]]" {
			t.Errorf("%s: the fields are %v", c.heads, l.Lines[0].Data)
		}
	}
	l := listOf(NewPackage{Name: "Lease", Message: "Hello", ExternalData: json.RawMessage(`{"matter":1}`)}, "dmy",
		"Courriel|Nom de l’enveloppe|Message|Échéance|Référence|Copie|Copie cachée|Étage", "ana@example.com|Bail {étage} ({document})||01/02/2027|R 7|eva@example.com; jan@example.com|boss@example.com|{document}")
	p := l.Lines[0].Package
	if p.Name != "Bail {document} (Lease 4)" || p.Message != "Hello" || p.Due.Format(time.DateTime) != "2027-02-01 23:59:59" || ReferenceIn(p.ExternalData) != "R 7" ||
		!strings.Contains(string(p.ExternalData), "matter") || len(p.Recipients) != 3 || !p.Recipients[2].Blind || l.Columns[7].Kind != ColumnOther {
		t.Errorf("%+v %s", p, p.ExternalData)
	}
}

func TestWhatIsWrongIsSaidAtItsCell(t *testing.T) {
	lease := &Template{ID: "t", Documents: []TemplateDocument{{ID: "d", Fields: []TemplateField{{ID: "rent", Name: "Rent"}}}}, Roles: []TemplateRole{{ID: "r", Role: "Tenant"}}}
	for _, c := range []struct {
		heads, line string
		template    *Template
		want        string // column and message id of the error
	}{
		{"E-mail|Name", "ana@|Ana", nil, "0 draft.email-incomplete"},
		{"E-mail|Name", "|Ana", nil, "0 draft.email-incomplete"},
		{"E-mail|Flat", "|3", nil, "0 draft.no-signer"},
		{"E-mail|E-mail 2", "a@example.com|A@example.com", nil, "1 draft.signer-twice"},
		{"E-mail|CC", "a@example.com|A@example.com", nil, "1 draft.copy-signs"},
		{"E-mail|CC", "a@example.com|nobody", nil, "1 draft.copy-address"},
		{"Name|E-mail", "|a@example.com", nil, "0 list.list-name-missing"},
		{"E-mail|Due", "a@example.com|03/04/2027", nil, "1 list.list-date-unread"},
		{"E-mail|Due", "a@example.com|soon", nil, "1 list.list-date-unread"},
		{"E-mail|Due", "a@example.com|2026-11-27", nil, "1 draft.due-date-passed"},
		{"E-mail|Message", "a@example.com|Dear {Vornme}", nil, "1 pattern.pattern-unknown"},
		{"E-mail|Rent", "a@example.com|#REF!", nil, "1 list.list-cell-error"},
		{"E-mail", "a@example.com|more", nil, "-1 list.list-too-many-cells"},
		{"E-mail", "hidden@example.com", nil, "-1 list.list-line-hidden"},
		{"E-mail|Role|Rent", "a@example.com|Landlord|1", lease, "-1 list.list-role-unknown"},
		{"E-mail|Rent", "a@example.com|", lease, "1 draft.template-fields-empty"},
	} {
		l := listOf(NewPackage{Template: c.template}, "", c.heads, c.line)
		got := ""
		if wrong := l.Lines[0].Wrong; len(wrong) > 0 {
			got = fmt.Sprint(wrong[0].Column, " ", wrong[0].Text.ID())
		}
		if got != c.want || len(l.Left(true)) != 0 {
			t.Errorf("%s, %s: %q, want %q", c.heads, c.line, got, c.want)
		}
	}
	for want, l := range map[string]BulkList{
		"list.list-empty":         listOf(NewPackage{}, "", "E-mail"),
		"list.list-without-email": listOf(NewPackage{}, "", "Name", "Ana"),
		"list.list-column-twice":  listOf(NewPackage{}, "", "E-mail|Mail", "a@example.com|b@example.com"),
		"pattern.pattern-unknown": listOf(NewPackage{Message: "Dear {name}"}, "", "E-mail", "a@example.com"),
		"a placeholder of two":    listOf(NewPackage{Name: "Lease {flat}"}, "", "E-mail|Flat|FLAT", "a@example.com|1|2"),
		"braces with nothing":     listOf(NewPackage{Name: "Lease {}"}, "", "E-mail|#", "a@example.com|1"),
	} {
		want = map[string]string{"a placeholder of two": "list.list-column-twice", "braces with nothing": "pattern.pattern-unknown"}[want] + want
		if len(l.Wrong) != 1 || !strings.HasPrefix(want, l.Wrong[0].ID()) {
			t.Errorf("%v, want %s", l.Wrong, want)
		}
	}
	l := listOf(NewPackage{}, "", "E-mail|Flat", "a@example.com|1", "a@example.com|1")
	if len(l.Faulty()) != 1 || l.Lines[1].Wrong[0].Text.ID() != "list.list-line-twice" {
		t.Errorf("a line that is there twice: %+v", l.Lines[1].Wrong)
	}
}

func TestDocumentsAreKnownInAnyOrder(t *testing.T) {
	rows := []ListRow{{Line: 1, Cells: []string{"E-mail"}}, {Line: 2, Cells: []string{"ana@example.com"}}}
	who := func(sums ...string) string {
		return ReadList("people.csv", rows, NewPackage{}, sums, time.Now(), "").Lines[0].Who
	}
	if who("lease", "rules") != who("rules", "lease") || who("lease") == who("lease", "rules") {
		t.Error("the same documents in another order are sent again")
	}
}

func TestATableIsSafeForWhoeverOpensItItsHeadsToo(t *testing.T) {
	var out strings.Builder
	table := BulkTable(Bulk{Heads: []string{"=1+1"}}, []BulkResult{{ListRow: ListRow{Line: 2, Cells: []string{"@x"}}}}, message.Message.String)
	if err := WriteCSV(&out, slices.Values(table), ';'); err != nil || !strings.HasPrefix(out.String(), "\ufeff'=1+1;line;") || !strings.Contains(out.String(), "\n'@x;2;") {
		t.Errorf("written %q, %v", out.String(), err)
	}
}
