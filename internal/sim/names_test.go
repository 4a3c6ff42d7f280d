package sim

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hostileNames are what a document made elsewhere may be called: names that leave a folder, hide, pretend, or that some
// system cannot have.
var hostileNames = []string{
	"../../../../evil", "/etc/evil", `..\..\evil`, `C:\evil`, "a/b/c", "..", ".hidden", "~", "-rf", "%2e%2e%2fevil",
	"CON", "nul.pdf", "com1.pdf", "ends.", "ends ", " begins", `a:b|c?d*e<f>g"`, "line\nbreak", "tab\there", "bell\a", "\x7f",
	"gpj.\u202efdp", "\u200b", "\ufeff", "e\u0301", "\u00e9", "\U0001f4c4", strings.Repeat("ü", 200), strings.Repeat("a.", 100), "'; rm -rf ~; '",
}

// nameOfNext is what the stranger calls its next document: every other one is plain.
func (x *stranger) nameOfNext() string {
	r := keyed(x.w.seed, "elsewhere", x.sent)
	if r.IntN(2) == 0 {
		return "Elsewhere"
	}
	return oneOf(r, hostileNames...)
}

// lookAtPlace judges that a file is where people expect it, and that every system can have its name: what is called so comes
// from outside. path is below the disk.
func (x *savedFiles) lookAtPlace(path string) {
	parts := strings.Split(filepath.ToSlash(path), "/")
	place, _, _ := strings.Cut(parts[0], " ")
	switch {
	case !slices.Contains([]string{"folder", "unplugged", "archive", "data", "scans", "private"}, place):
		x.m.breaks("nothing leaves the folder: %q", path)
	case (place == "folder" || place == "unplugged") && len(parts) != 2:
		x.m.breaks("nothing leaves the folder: %q is below it", path)
	case place != "data" && !harmless(parts[len(parts)-1]):
		x.m.breaks("no name from outside does harm: %q", path)
	}
}

// harmless reports whether a file can have the name on every system, and shows as what it is.
func harmless(name string) bool {
	odd := func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) && r != '\u200d' || strings.ContainsRune(`/\:*?"<>|`, r)
	}
	stem, _, _ := strings.Cut(name, ".")
	device := slices.Contains([]string{"con", "prn", "aux", "nul", "com1", "lpt1"}, strings.ToLower(strings.TrimSpace(stem)))
	return utf8.ValidString(name) && len(name) <= 255 && !device && !strings.ContainsFunc(name, odd) && strings.TrimRight(name, ". ") == name
}
