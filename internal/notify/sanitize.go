package notify

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"countersign/internal/message"
)

// Sanitize makes a text one line of at most max characters (more end in "…") that no way to a screen can take for
// anything but text. What becomes of what:
//
//   - Controls, bidirectional marks, zero-width and other invisible characters go; line ends and odd spaces are spaces.
//   - Straight quotes, backticks and odd ones become ” and ’; those that our languages write stay.
//   - The dollar sign becomes its wide form ＄, which begins no expression.
//   - The backslash becomes ∖: AppleScript unescapes the plain one.
//   - A hyphen at the beginning becomes ‐, so that no command takes the text for an option.
//
// "<", ">" and "&" stay: whether they mean something is known only where the text is shown.
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

// escaped is for services that read markup in the body (the Desktop Notifications Specification, "Markup").
var escaped = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
