package filename

import (
	"strings"
	"testing"
	"time"

	"countersign/internal/message"
)

var lease = Fields{
	Date:      time.Date(2026, 11, 21, 9, 14, 0, 0, time.UTC),
	Package:   "Lease Sonnenweg 4",
	Document:  "Contract.docx",
	Signer:    "Ana Ruiz",
	Reference: "2026-118",
	Kind:      Signed,
}

func with(change func(*Fields)) Fields {
	f := lease
	change(&f)
	return f
}

func TestNameFollowsTheTemplate(t *testing.T) {
	tests := []struct {
		name, template string
		fields         Fields
		want           string
	}{
		{"default", "", lease, "Lease Sonnenweg 4 - Contract.pdf"},
		{"everything", "{date}/{signer}/{reference} {package} {document} ({kind})", lease,
			"2026-11-21/Ana Ruiz/2026-118 Lease Sonnenweg 4 Contract (signed).pdf"},
		{"a folder per month", "{year}/{month}/{package} - {document}", lease, "2026/2026-11/Lease Sonnenweg 4 - Contract.pdf"},
		{"spelling of placeholders is free", "{ Package }/{DOCUMENT}", lease, "Lease Sonnenweg 4/Contract.pdf"},
		{"an ending in the template is not doubled", "{document}.pdf", lease, "Contract.pdf"},
		{"certificate", "", with(func(f *Fields) { f.Kind = Certificate }), "Lease Sonnenweg 4 - Contract - certificate.pdf"},
		{"master file has no document", "", with(func(f *Fields) { f.Kind = Master; f.Document = "" }),
			"Lease Sonnenweg 4 - master file.pdf"},
		{"kind in the template needs no suffix", "{kind}/{document}", with(func(f *Fields) { f.Kind = Certificate }), "certificate/Contract.pdf"},
		{"empty at the beginning", "{reference} - {document}", with(func(f *Fields) { f.Reference = "" }), "Contract.pdf"},
		{"a package that is called like its document", "{date} {package} - {document}", with(func(f *Fields) { f.Document = "lease Sonnenweg 4.docx" }),
			"2026-11-21 Lease Sonnenweg 4.pdf"},
		{"empty in the middle", "{package} - {reference} - {document}", with(func(f *Fields) { f.Reference = " " }),
			"Lease Sonnenweg 4 - Contract.pdf"},
		{"empty folder", "{signer}/{document}", with(func(f *Fields) { f.Signer = "" }), "Document/Contract.pdf"},
		{"nothing at all", "{package}", Fields{}, "Document.pdf"},
		{"nothing after a separator", "{document} -", lease, "Contract -.pdf"},
		{"words between two of one name", "{package} of {document}", with(func(f *Fields) { f.Document = f.Package }),
			"Lease Sonnenweg 4 of Lease Sonnenweg 4.pdf"},
		{"version numbers are no endings", "{document}", with(func(f *Fields) { f.Document = "Terms v1.2" }), "Terms v1.2.pdf"},
		{"ending twice", "{document}", with(func(f *Fields) { f.Document = "Terms.PDF.docx" }), "Terms.pdf"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			template := must(Parse(tt.template))
			expect(t, template.Name(tt.fields), tt.want, "got %q, want %q", tt.want)
		})
	}
}

func TestNameFromOutsideStaysOneElement(t *testing.T) {
	tests := []struct{ name, document, want string }{
		{"upwards", "../../etc/passwd", "-..-etc-passwd.pdf"},
		{"only dots", "..", "Document.pdf"},
		{"backslashes", `..\..\boot.ini`, "-..-boot.ini.pdf"},
		{"drive", `C:\Windows`, "C--Windows.pdf"},
		{"stream", "a:b", "a-b.pdf"},
		{"hidden", ".bashrc", "bashrc.pdf"},
		{"our own temporary files", ".countersign-0123456789abcdef-0123456789abcdef.part", "countersign-0123456789abcdef-0123456789abcdef.part.pdf"},
		{"trailing dots and spaces", "a. . .", "a.pdf"},
		{"device", "con", "con_.pdf"},
		{"device with ending", "NUL.txt", "NUL_.pdf"},
		{"device with an ending that stays", "Aux.v2", "Aux_.v2.pdf"},
		{"device with a space", "LPT9 .x", "LPT9_.x.pdf"},
		{"device with a superscript", "COM¹", "COM¹_.pdf"},
		{"console", "conout$", "conout$_.pdf"},
		{"no device", "COM10", "COM10.pdf"},
		{"no device without a number", "COM", "COM.pdf"},
		{"device with a long ending", "CON." + strings.Repeat("a", 300), "CON_." + strings.Repeat("a", 220) + ".pdf"},
		{"cut before a space", strings.Repeat("a", 224) + " b", strings.Repeat("a", 224) + ".pdf"},
		{"only an ending", ".pdf", "pdf.pdf"},
		{"reserved characters", `a<b>c"d|e?f*g`, "a b c'd-e f g.pdf"},
		{"controls", "a\x00b\x1bc\x7fd\u0085e", "abcd e.pdf"},
		{"lines", "a\r\nb\u2028c\td", "a b c d.pdf"},
		{"right to left override", "invoice\u202efdp.exe", "invoicefdp.exe.pdf"},
		{"zero width", "a\u200bb\u200dc\ufeffd\u2060e\u00adf", "abcdef.pdf"},
		{"only invisible", "\u200b\u2800\u3164\ufe0f", "Document.pdf"},
		{"composed", "Cafe\u0301", "Caf\u00e9.pdf"},
		{"composed over a gap", "Cafe\u200d\u0301", "Caf\u00e9.pdf"},
		{"not UTF-8", "a\xffb\xc0\xafc", "abc.pdf"},
		{"spaces of the world", "a\u00a0\u2003b\u3000c", "a b c.pdf"},
		{"other scripts stay", "Договор 契約書 عقد", "Договор 契約書 عقد.pdf"},
	}
	template, _ := Parse("{document}")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, template.Name(Fields{Document: tt.document}), tt.want, "got %q, want %q", tt.want)
		})
	}
}

func TestLongNamesAreCutBetweenCharacters(t *testing.T) {
	template, _ := Parse("{document}")
	tests := []struct {
		name, unit string
		want       int // bytes that are left
	}{
		{"letters", "a", 211},
		{"umlauts", "ü", 226},
		{"letters with marks", "n\u0308\u0323", 225},
		{"letters with a line below", "e\u0331", 225},
		{"emoji", "😀", 224},
		{"skin tones", "👍🏽", 224},
		{"flags", "🇨🇭", 224},
		{"Chinese", "契", 225},
		{"one letter, many marks", "a" + strings.Repeat("\u0323", 400), 227},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			unit := flat(tt.unit)
			name := template.Name(Fields{Document: strings.Repeat(tt.unit, 300), Kind: Certificate})
			base, found := strings.CutSuffix(name, " - certificate.pdf")
			if !found {
				t.Fatalf("suffix lost: %q", name)
			}
			if len(base) != tt.want || len(unit) < 100 && strings.Repeat(unit, len(base)/len(unit)) != base {
				t.Errorf("%d bytes are left, or cut inside a character: %q", len(base), base)
			}
			numbered := Numbered(name, 9999)
			if len(numbered) > maxElement || units(numbered) > maxPath {
				t.Errorf("%d bytes, %d units: %q", len(numbered), units(numbered), numbered)
			}
			if want := base + " - certificate (9999).pdf"; numbered != want {
				t.Errorf("numbered is %q, want %q", numbered, want)
			}
		})
	}
}

func TestLongPathsShortenTheLongestElements(t *testing.T) {
	template := must(Parse("{signer}/{package}/{date}/{document}"))
	name := template.Name(with(func(f *Fields) {
		f.Package = strings.Repeat("p", 300)
		f.Document = strings.Repeat("d", 300)
	}))
	parts := strings.Split(name, "/")
	if parts[0] != "Ana Ruiz" || parts[2] != "2026-11-21" {
		t.Errorf("short elements were cut: %q", parts)
	}
	if n := units(Numbered(name, 12)); n > maxPath {
		t.Errorf("%d UTF-16 units", n)
	}
	if len(parts[1]) != 102 || len(parts[3]) != 102+len(".pdf") {
		t.Errorf("cut more than needed, or less: %d and %d", len(parts[1]), len(parts[3]))
	}
}

func TestNumberedKeepsEndingAndFolder(t *testing.T) {
	for n, want := range map[int]string{0: "x/a.pdf", 1: "x/a.pdf", 2: "x/a (2).pdf", 17: "x/a (17).pdf"} {
		if got := Numbered("x/a.pdf", n); got != want || n > 1 && Number(got) != n {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
	for name, want := range map[string]int{"a (1).pdf": 0, "a (02).pdf": 0, "a (x).pdf": 0, "a (2).x.pdf": 0, "a.pdf": 0, "(3).pdf": 0, " (3)": 3, "a (2) (4)": 4} {
		if got := Number(name); got != want {
			t.Errorf("%q has the number %d, want %d", name, got, want)
		}
	}
}

func TestOnlyAPathWithinTheFolderIsSafe(t *testing.T) {
	for rel, want := range map[string]bool{
		"a.pdf": true, "x/a b.pdf": true, strings.Repeat("a", 255): true, strings.Repeat("a", 256): false, "": false, ".": false, "/a": false, "../a": false,
		"x/../../a": false, "x//a": false, `x\a`: false, "x:a": false, "a\x00": false, ".a": false, "a.": false, "a ": false, " a": false, "x/CON/a": false, "nul.pdf": false,
	} {
		if Safe(rel) != want {
			t.Errorf("%q is safe: %v", rel, !want)
		}
	}
}

func TestParseSaysWhatIsWrong(t *testing.T) {
	tests := []struct{ name, text, says string }{
		{"unknown placeholder", "{packge}", "{packge}"},
		{"unknown placeholder tells the known", "{x}", "{date}, {month}, {year}, {package}, {document}, {signer}, {reference}, {kind}"},
		{"open brace", "{package", "does not close"},
		{"closed brace", "package}", "not opened"},
		{"upwards", "../{document}", "cannot leave the folder"},
		{"here", "./{document}", "cannot leave the folder"},
		{"absolute", "/{document}", "subfolder without a name"},
		{"empty subfolder", "{date}//{document}", "subfolder without a name"},
		{"ends in a slash", "{date}/", "subfolder without a name"},
		{"too deep", strings.Repeat("a/", 8) + "{document}", "at most 7 subfolders"},
		{"hostile placeholder", "{a\u202eb\nc}", "{ab c}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse(tt.text)
			if m, ok := message.Of(err); !ok || !strings.Contains(m.String(), tt.says) {
				t.Errorf("got %q, want it to say %q", err, tt.says)
			}
		})
	}
}

func TestZeroTemplateIsTheDefault(t *testing.T) {
	var template Template
	if got := template.Name(lease); got != "Lease Sonnenweg 4 - Contract.pdf" {
		t.Errorf("got %q", got)
	}
}
