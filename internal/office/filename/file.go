package filename

import (
	"path"
	"strings"
)

// maxEnding is the longest ending that is taken for one, in bytes with its dot: "Lease 4. As agreed with both" has none.
const maxEnding = 16

// File makes the name of a file in one folder from the one that another program or computer gives it, which is taken to be
// hostile: of a path, on whatever system, only the last element counts. The ending stays. It is safe on every system,
// leaves room for [Numbered], and is "Document" where nothing is left.
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
