package desk

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence makes an error's text presentable: a capital at the start and a full stop at the end. The words are the
// agent's; this only dresses them.
func Sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(first)) + text[size:]
	if last, _ := utf8.DecodeLastRuneInString(text); !strings.ContainsRune(".!?…", last) {
		text += "."
	}
	return text
}
