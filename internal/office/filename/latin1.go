package filename

import (
	"strings"
	"unicode/utf8"
)

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
