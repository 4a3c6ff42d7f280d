package filename

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"countersign/internal/trytest"

	"golang.org/x/text/unicode/norm"
)

var expect = trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestANameFromOutsideChoosesNoPath(t *testing.T) {
	for given, want := range map[string]string{
		"Lease 4.pdf":                     "Lease 4.pdf",
		"Änderung.PDF":                    "Änderung.PDF",
		`..\..\Windows\evil.pdf`:          "evil.pdf",
		"../../etc/passwd":                "passwd",
		`C:\Users\x\a.pdf`:                "a.pdf",
		"a.pdf:stream":                    "a.pdf-stream",
		"":                                "Document",
		"..":                              "Document",
		"folder/":                         "Document",
		".pdf":                            "Document.pdf",
		" . pdf":                          "Document. pdf",
		"NUL.pdf":                         "NUL_.pdf",
		"com1":                            "com1_",
		"a\x00b\nc.pdf":                   "ab c.pdf",
		"invoice\u202efdp.exe":            "invoicefdp.exe",
		"a.pdf. . ":                       "a.pdf",
		"bad\xffname.pdf":                 "badname.pdf",
		"Lease 4. As agreed with both":    "Lease 4. As agreed with both",
		strings.Repeat("x", 400) + ".pdf": strings.Repeat("x", 225) + ".pdf",
	} {
		if got := File(given); got != want {
			t.Errorf("File(%q) = %q, not %q", given, got, want)
		}
	}
}

func FuzzFile(f *testing.F) {
	for _, name := range []string{"a.pdf", `..\..\x`, "CON.txt", "a\u202eb.pdf", "\xff\xfe", strings.Repeat("😀", 300) + ".docx",
		"x." + strings.Repeat("y", 300), "CON" + strings.Repeat("\u0323", 300) + ".pdf", ". .", "COM¹.a"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, given string) {
		name := File(given)
		for _, name := range []string{name, Numbered(name, 2), Numbered(name, 123456)} {
			if !Safe(name) || strings.Contains(name, "/") || !utf8.ValidString(name) || deviceName.MatchString(name) {
				t.Errorf("%q gives %q", given, name)
			}
			if len(name) > 255 || len(utf16.Encode([]rune(name))) >= 240 {
				t.Errorf("%q gives a name of %d bytes", given, len(name))
			}
		}
		if again := File(name); again != name {
			t.Errorf("%q gives %q, which gives %q", given, name, again)
		}
	})
}

func TestPlainNamesFoldLikeAllOthers(t *testing.T) {
	for _, name := range []string{"", "A b-C_9.PDF", "~!@#$%^&()[]{};',.+=`", "\x01\x7f", "\u212a", "\xff"} {
		if got, want := Folded(name), foldedText(name); got != want {
			t.Errorf("%q folds to %q and %q", name, got, want)
		}
	}
	if Folded("Ärger") != Folded("A\u0308RGER") || Folded("a") == Folded("ä") {
		t.Error("case or an accent counts")
	}
}

func TestANameThatIsNoUTF8IsReadAsLatin1(t *testing.T) {
	for from, want := range map[string]string{"\xc4nderung.pdf": "Änderung.pdf", "Änderung.pdf": "Änderung.pdf", "": ""} {
		if got := FromLatin1(from); got != want {
			t.Errorf("%q became %q", from, got)
		}
	}
}

// deviceName is written independently of the code under test, from Microsoft's list.
var deviceName = regexp.MustCompile(`(?i)^(con|prn|aux|nul|conin\$|conout\$|clock\$|(com|lpt)[0-9¹²³]) *(\..*)?$`)

// checkName states independently what every name must satisfy.
func checkName(t *testing.T, name string, elements int) {
	t.Helper()
	parts := strings.Split(name, "/")
	expect(t, len(parts), elements, "%d path elements, the template has %d", elements)
	if !filepath.IsLocal(name) || !Safe(name) {
		t.Error("not a path inside the folder")
	}
	if !strings.HasSuffix(name, ".pdf") {
		t.Error("does not end in .pdf")
	}
	if !utf8.ValidString(name) || !norm.NFC.IsNormalString(name) {
		t.Error("not valid UTF-8 in NFC")
	}
	if n := len(utf16.Encode([]rune(name))); n >= 240 {
		t.Errorf("%d UTF-16 units long", n)
	}
	for _, part := range parts {
		switch {
		case part == "" || part == ".pdf":
			t.Error("empty element")
		case len(part) > 255:
			t.Errorf("element of %d bytes", len(part))
		case strings.HasPrefix(part, ".") || strings.HasPrefix(part, " "):
			t.Error("hidden element")
		case strings.HasSuffix(part, ".") || strings.HasSuffix(part, " "):
			t.Error("element ends in what Windows drops")
		case deviceName.MatchString(part):
			t.Errorf("device name %q", part)
		}
		for _, r := range part {
			if strings.ContainsRune(`<>:"|?*\`, r) || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
				t.Errorf("character %U", r)
			}
		}
	}
}

func FuzzName(f *testing.F) {
	for _, value := range []string{
		"Contract.docx", "", "..", "../../x", `C:\x`, "CON", "nul.txt", "COM¹.a.b", "a\u202eb", "e\u0301", "\u200b", "a\xffb",
		"<\u0338", strings.Repeat("😀", 200), strings.Repeat("a\u0301", 200), strings.Repeat("CON.", 100), " . ", ".pdf", "a/b/c",
		"CON" + strings.Repeat("\u0323", 300), "\u1100" + strings.Repeat("\u1161", 200), strings.Repeat(".", 300) + "x",
	} {
		f.Add(value, "Lease", uint8(0))
		f.Add("Contract", value, uint8(1))
		f.Add(value, value, uint8(2))
	}
	kinds := []Kind{Signed, Certificate, Master}
	templates := []string{
		DefaultTemplate, "{document}", "{package}/{document}", "{date}/{signer}/{reference}/{document} {kind}",
		"{package}{document}", "a/{package}/b/{package}/c/{package}/d/{document}", "CO{package}",
	}
	f.Fuzz(func(t *testing.T, document, other string, choice uint8) {
		fields := Fields{
			Date: time.Unix(1795000000, 0), Document: document, Package: other, Signer: other, Reference: document,
			Kind: kinds[int(choice)%len(kinds)],
		}
		for _, text := range templates {
			template := must(Parse(text))
			name := template.Name(fields)
			elements := strings.Count(text, "/") + 1
			checkName(t, name, elements)
			checkName(t, Numbered(name, 2), elements)
			checkName(t, Numbered(name, 123456), elements)
			if t.Failed() {
				t.Fatalf("template %q gave %q", text, name)
			}
		}
	})
}

func FuzzTemplate(f *testing.F) {
	for _, text := range []string{
		"", DefaultTemplate, "{date}/{package} - {document}", "{", "}", "{}", "{x}", "..", "../{document}", "/", "a//b",
		`a\b`, "CON/{document}", "{document}.pdf", ". /{document}", "\u202e{document}", "\xff", "{kind}/NUL", strings.Repeat("x", 400),
		"\u200b/{document}", "{document}/\u200b", ".pdf", "a.pdf/b.pdf",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		template, err := Parse(text)
		if err != nil {
			if message := err.Error(); !strings.HasSuffix(message, ".") || strings.ContainsAny(message, "\n\x00") {
				t.Errorf("not a sentence: %q", message)
			}
			return
		}
		for _, fields := range []Fields{lease, {}, {Document: "../x", Package: "a/b", Kind: Certificate}} {
			name := template.Name(fields)
			checkName(t, name, strings.Count(text, "/")+1)
			if t.Failed() {
				t.Fatalf("template %q gave %q", text, name)
			}
		}
	})
}
