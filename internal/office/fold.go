package office

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// undivided are letters that Unicode does not take apart into a letter and its mark, but people type without it.
var undivided = strings.NewReplacer("ß", "ss", "ø", "o", "ł", "l", "đ", "d", "æ", "ae", "œ", "oe", "ı", "i")

// Fold makes text comparable for people: neither case nor accents matter, nor how they are encoded.
func Fold(text string) string {
	at := 0
	for at < len(text) && text[at] < utf8.RuneSelf {
		at++
	}
	if at == len(text) {
		return strings.ToLower(text)
	}
	folded := make([]byte, 0, len(text))
	for _, r := range text {
		switch {
		case 'A' <= r && r <= 'Z':
			folded = append(folded, byte(r-'A'+'a'))
		case r < utf8.RuneSelf:
			folded = append(folded, byte(r))
		case r < usual:
			folded = append(folded, foldedUsual()[r]...)
		default:
			return foldAny(text)
		}
	}
	return string(folded)
}

// usual are the characters up to this one: the letters of Europe. Each of them folds to the same whatever is beside it, so
// that looking it up does for tens of thousands of texts.
const usual = 0x600

var foldedUsual = sync.OnceValue(func() *[usual]string {
	table := new([usual]string)
	for r := range table {
		table[r] = foldAny(string(rune(r)))
	}
	return table
})

// foldAny is Fold for whatever characters.
func foldAny(text string) string {
	return undivided.Replace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(strings.ToLower(text))))
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
