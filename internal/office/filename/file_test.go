package filename

import (
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"countersign/internal/trytest"
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
