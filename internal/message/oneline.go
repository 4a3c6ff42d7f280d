package message

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// OneLine turns text from outside into one line of at most most characters: line ends and odd spaces become spaces; control,
// bidirectional and invisible characters are removed. Escaping whatever a particular output interprets is up to that output
// (package notify).
func OneLine(s string, most int) string {
	if len(s) <= most && plainText(s) {
		return s
	}
	return Shorten(strings.Join(strings.Fields(Plain(s)), " "), most)
}

// Plain is OneLine without collapsing blanks or cutting.
func Plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case joiner(r):
			return r
		case unicode.Is(unicode.C, r), invisible(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
}

// Shorten cuts s to at most most runes including a final "…", and only between characters as a reader sees them (Unicode
// annex 29).
func Shorten(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	end, left := 0, most-1
	for character := graphemes.FromString(s); character.Next(); end = character.End() {
		if left -= utf8.RuneCountInString(character.Value()); left < 0 {
			break
		}
	}
	return strings.TrimRight(s[:end], " ") + "…"
}

// plainText reports whether s is printable ASCII without superfluous spaces.
func plainText(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return s == strings.TrimSpace(s) && !strings.Contains(s, "  ")
}

// joiner reports whether r is a zero-width joiner, which some scripts need.
func joiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// invisible reports whether r shows as nothing, or as a blank without being a space.
func invisible(r rune) bool {
	switch r {
	case '\u034f', '\u115f', '\u1160', '\u17b4', '\u17b5', '\u3164', '\uffa0', '\ufffc', '\ufffd':
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff
}
