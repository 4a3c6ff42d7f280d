package filename

import (
	"path"
	"strings"
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
