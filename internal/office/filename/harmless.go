package filename

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Folded is equal for two names that some file system may treat as one: it ignores case and the ways to encode an accent.
// That a few other names fold alike, too, costs no more than a number in a file name.
func Folded(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return strings.ToLower(name) // equivalent and many times faster
	}
	return foldedText(name)
}

func foldedText(name string) string {
	return norm.NFD.String(cases.Fold().String(strings.ToUpper(norm.NFD.String(name))))
}

// nameless replaces a name of which nothing is left.
const nameless = "Document"

// endings are the extensions of files that the service converts to PDF, which people leave in a document's name. Others
// stay: "Contract v1.2" has none.
var endings = []string{
	".pdf", ".doc", ".docx", ".docm", ".dot", ".dotx", ".odt", ".ott", ".rtf", ".txt", ".md", ".pages", ".wpd",
	".xls", ".xlsx", ".xlsm", ".ods", ".csv", ".numbers", ".ppt", ".pptx", ".odp", ".key", ".html", ".htm", ".xml",
	".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".bmp", ".webp", ".heic",
}

// withoutEnding drops the extensions of a document's original file: "Offer.pdf.docx" becomes "Offer".
func withoutEnding(name string) string {
	for {
		ext := path.Ext(name)
		rest := strings.TrimRight(strings.TrimSuffix(name, ext), " ")
		if rest == "" || !slices.Contains(endings, strings.ToLower(ext)) {
			return name
		}
		name = rest
	}
}

// flat turns a text into one visible line without anything special in a path: NFC, no control, bidirectional or zero-width
// characters, no separators, no characters reserved by Windows. It may still be empty, "..", "CON" or too long; harmless and
// assemble handle that once the element is complete.
func flat(s string) string {
	s = strings.Map(plainRune, s)
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' }), " ")
	return norm.NFC.String(s)
}

// plainRune is the rune to write instead of r, or -1 for none.
func plainRune(r rune) rune {
	switch r {
	case '/', '\\', '|', ':':
		return '-'
	case '"':
		return '\''
	case '<', '>', '?', '*', '\u2800': // the last one is the empty Braille pattern, which looks like a space
		return ' '
	case unicode.ReplacementChar, '\ufffe', '\uffff':
		return -1
	}
	switch {
	case unicode.IsSpace(r), unicode.Is(unicode.Z, r):
		return ' '
	case invisible(r):
		return -1
	}
	return r
}

// invisible reports whether r by itself shows nothing: controls, bidirectional marks and overrides, joiners, tags, variation
// selectors, fillers, and private use, which looks different on every computer.
func invisible(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// harmless completes an element of a path: never empty, never "." or "..", not hidden, without the trailing dots and spaces
// that Windows drops silently. assemble, which knows the extension, handles device names and length.
func harmless(s string) string {
	s = trimmed(flat(s))
	if s == "" {
		return nameless
	}
	return s
}

func trimmed(s string) string { return strings.Trim(s, ". ") }

// devices are the names that Windows reserves for devices in every folder, whatever follows the first dot.
var devices = []string{"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$"}

// device reports whether Windows would open a device for a name. COM and LPT are followed by a digit 0 to 9 or ¹, ², ³.
// Source: learn.microsoft.com/windows/win32/fileio/naming-a-file.
func device(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	if slices.Contains(devices, stem) {
		return true
	}
	port, found := strings.CutPrefix(stem, "COM")
	if !found {
		port, found = strings.CutPrefix(stem, "LPT")
	}
	return found && len([]rune(port)) == 1 && strings.Contains("0123456789¹²³", port)
}

// notDevice changes a device name into an ordinary file name: "NUL.x" becomes "NUL_.x".
func notDevice(name string) string {
	if !device(name) {
		return name
	}
	stem, rest, dotted := strings.Cut(name, ".")
	stem = strings.TrimRight(stem, " ") + "_"
	if !dotted {
		return stem
	}
	return stem + "." + rest
}

// Safe reports whether rel is a path that may be created. It accepts what Name makes, and what a person may have typed, but
// nothing absolute, upward, hidden or special on Windows.
func Safe(rel string) bool {
	if !filepath.IsLocal(filepath.FromSlash(rel)) || strings.ContainsAny(rel, "\\:\x00") {
		return false
	}
	for element := range strings.SplitSeq(rel, "/") {
		if element == "" || element != trimmed(element) || len(element) > maxElement || device(element) {
			return false
		}
	}
	return true
}
