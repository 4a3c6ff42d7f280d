// Package filename makes file names from the office's template and from what packages are called. It does no I/O.
//
// It promises that a name stays inside the folder and is safe on every system, whatever the package, document or signer is
// called; only the template's own "/" makes a subfolder. It must not know which names are taken: see [Numbered].
package filename

import (
	"path"
	"strings"
	"unicode/utf8"
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
