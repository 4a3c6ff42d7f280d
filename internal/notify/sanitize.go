package notify

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"countersign/internal/message"
)

// Sanitize turns text into one line of at most max characters (longer ones end in "…") that no desktop can take for anything
// but text:
//
//   - Control, bidirectional, zero-width and other invisible characters are removed; line ends and odd spaces become
//     spaces.
//   - Straight quotes, backticks and odd ones become ” and ’; quotation marks of our languages stay.
//   - The dollar sign becomes its wide form ＄, so that it starts no expression.
//   - The backslash becomes ∖: AppleScript unescapes the plain one.
//   - A leading hyphen becomes ‐, so that no command takes the text for an option.
//
// "<", ">" and "&" stay: only the code that shows the text knows whether they are markup.
func Sanitize(s string, max int) string {
	if max <= 0 {
		return ""
	}
	s = norm.NFC.String(strings.ToValidUTF8(s, ""))
	s = strings.Map(plain, s)
	s = strings.Join(strings.Fields(s), " ")
	if rest, found := strings.CutPrefix(s, "-"); found {
		s = "\u2010" + rest
	}
	return message.Shorten(norm.NFC.String(s), max)
}

func plain(r rune) rune {
	switch r {
	case '$', '\ufe69':
		return '＄'
	case '\\':
		return '∖'
	case '“', '”', '„', '«', '»', '‘', '’', '‚', '‹', '›':
		return r
	case '\'', '`', '\u00b4', '\u201b', '\u275b', '\u275c', '\u275f', '\uff07', '\uff40':
		return '’'
	case unicode.ReplacementChar:
		return -1
	}
	switch {
	case unicode.Is(unicode.Quotation_Mark, r), 0x275d <= r && r <= 0x2760:
		return '”'
	case unicode.IsSpace(r), unicode.Is(unicode.Z, r), r == '\u2800': // the empty Braille pattern
		return ' '
	case unicode.In(r, unicode.C, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
		return -1
	}
	return r
}

// escaped is for services that read markup in the body (Desktop Notifications Specification, "Markup").
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
