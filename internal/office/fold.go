package office

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// undivided are letters that Unicode does not take apart into a letter and its mark, but people type without it.
var undivided = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i")

// Fold makes text comparable for people: neither case nor accents matter, nor how they are encoded.
func Fold(text string) string {
	text = strings.ToLower(text)
	for i := 0; i < len(text); i++ {
		if text[i] >= utf8.RuneSelf {
			return undivided.Replace(strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return r
			}, norm.NFD.String(text)))
		}
	}
	return text
}

// HasWords reports whether a folded text has all the folded words.
func HasWords(text string, words []string) bool {
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}
