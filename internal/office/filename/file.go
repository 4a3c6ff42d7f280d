// Package filename makes file names from the office's template and from what packages are called. It does no I/O.
//
// It promises that a name stays inside the folder and is safe on every system, whatever the package, document or signer is
// called; only the template's own "/" makes a subfolder. It must not know which names are taken: see [Numbered].
package filename

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxEnding is the longest extension, in bytes with its dot: "Lease 4. As agreed with both" has none.
const maxEnding = 16

// File makes a file name from one that another program or computer supplies, which may be hostile: only the last element of
// a path, on whatever system, is used. The extension stays. The name is safe on every system, leaves room for [Numbered],
// and is "Document" if nothing is left.
func File(name string) string {
	name = strings.ToValidUTF8(name, "")
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimRight(flat(name), ". ")
	ext := path.Ext(name)
	if len(ext) < 2 || len(ext) > maxEnding {
		ext = ""
	}
	base := harmless(strings.TrimSuffix(name, ext))
	room := maxElement - len(ext) - numberRoom
	return fit(base, ext, room, min(room, maxPath-len(ext)-numberRoom))
}

// FromLatin1 reads a name that is not UTF-8 as ISO 8859-1, which has a character for every byte.
func FromLatin1(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var out strings.Builder
	for i := range len(name) {
		out.WriteRune(rune(name[i]))
	}
	return out.String()
}

const (
	ending = ".pdf"

	// maxElement is the longest name of a file or folder, in bytes (Linux) and in UTF-16 units (Windows, macOS).
	maxElement = 255

	// maxPath is the longest path below the folder, in UTF-16 units. With a short path to the folder, files still open in
	// programs that have old Windows' limit of 260.
	maxPath = 239

	// numberRoom is what Name leaves free, so that Numbered cuts nothing up to " (9999999)".
	numberRoom = 10
)

// assemble joins folders and a file name within the limits. It shortens the longest elements first; suffix and extension
// stay.
func assemble(folders []string, base, suffix string) string {
	tail := suffix + ending
	fileRoom := maxElement - len(tail) - numberRoom
	total := maxPath - len(folders) - len(tail) - numberRoom
	widths := make([]int, 0, len(folders)+1)
	for _, folder := range folders {
		widths = append(widths, min(units(folder), maxElement))
	}
	widths = append(widths, min(units(base), fileRoom))
	level := waterLevel(widths, total)

	elements := make([]string, 0, len(folders)+1)
	for _, folder := range folders {
		elements = append(elements, fit(folder, "", maxElement, level))
	}
	elements = append(elements, fit(base, tail, fileRoom, level))
	return strings.Join(elements, "/")
}

// waterLevel is the greatest width to which elements may be cut so that their total stays within the limit.
func waterLevel(widths []int, total int) int {
	for level := maxElement; level > 1; level-- {
		sum := 0
		for _, width := range widths {
			sum += min(width, level)
		}
		if sum <= total {
			return level
		}
	}
	return 1
}

// fit cuts name to that many bytes and UTF-16 units, makes sure that it is still harmless, and appends tail.
func fit(name, tail string, maxBytes, maxUnits int) string {
	short, whole := cut(name, maxBytes, maxUnits)
	if !whole {
		short = harmless(short)
	}
	if !device(short + tail) {
		return short + tail
	}
	// Marking a device name adds a character.
	short, _ = cut(short, maxBytes-1, maxUnits-1)
	return notDevice(harmless(short) + tail)
}

// Numbered is rel with a number, "a (2).pdf" for n = 2, within the same limits: the name to use if rel is taken. For n below
// 2 it is rel.
func Numbered(rel string, n int) string {
	if n < 2 {
		return rel
	}
	folder, file := path.Split(rel)
	tail := " (" + strconv.Itoa(n) + ")" + path.Ext(file)
	base := strings.TrimSuffix(file, path.Ext(file))
	return folder + fit(base, tail, maxElement-len(tail), max(1, maxPath-units(folder)-len(tail)))
}

// Number is the n with which Numbered made a name, and 0 if it has no number.
func Number(file string) int {
	base := strings.TrimSuffix(file, path.Ext(file))
	from := strings.LastIndex(base, " (")
	if from < 0 || !strings.HasSuffix(base, ")") {
		return 0
	}
	digits := base[from+2 : len(base)-1]
	n, err := strconv.Atoi(digits)
	if err != nil || n < 2 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// cut returns the longest beginning of s within a number of bytes and of UTF-16 units that ends between characters as a
// reader sees them (Unicode annex 29), and whether that is all of s.
func cut(s string, bytes, utf16 int) (string, bool) {
	if len(s) <= bytes && units(s) <= utf16 {
		return s, true
	}
	fits := func(end int) bool { return end <= bytes && units(s[:end]) <= utf16 }
	end := 0
	for character := graphemes.FromString(s); character.Next() && fits(character.End()); {
		end = character.End()
	}
	if end > 0 {
		return s[:end], false
	}
	for i := range s { // one character with too many marks: cut at any rune
		if fits(i) {
			end = i
		}
	}
	return s[:end], false
}

// units is the length of s in UTF-16.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += unitsOf(r)
	}
	return n
}

func unitsOf(r rune) int {
	if r >= 0x10000 {
		return 2
	}
	return 1
}

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
