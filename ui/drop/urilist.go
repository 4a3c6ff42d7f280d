package drop

import (
	"path"
	"strings"

	"countersign/internal/office/filename"
)

// addresses are what a text/uri-list (RFC 2483, section 5) names, sorted by where that is.
type addresses struct {
	paths     []string // files of this computer
	elsewhere int      // files of other computers
	others    int      // no files: web pages, mails
}

// readList reads a text/uri-list as programs write it: with or without comments and carriage returns, escaped or not, and
// with plain paths among the addresses. Names are bytes, in whatever encoding they have on the disk; where a name can be
// read in two ways, there decides. Host is what this computer is called.
func readList(list []byte, host string, there func(path string) bool) (a addresses) {
	text := strings.ReplaceAll(string(list), "\x00", "\n") // some end with a zero
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' }) {
		line = strings.Trim(line, " \t")
		if line == "" || line[0] == '#' {
			continue
		}
		name, at, isFile := fileAddress(line)
		switch {
		case !isFile:
			a.others++
		case !isHere(at, host):
			a.elsewhere++
		default:
			a.paths = append(a.paths, choose(name, there))
		}
	}
	return a
}

// fileAddress splits a file address (RFC 8089) into its path, as it is written, and its host: file:///path, file://host/path
// and file:/path. A plain path is one, too.
func fileAddress(line string) (name, host string, isFile bool) {
	if line[0] == '/' {
		return line, "", true
	}
	const scheme = "file:"
	if len(line) < len(scheme) || !strings.EqualFold(line[:len(scheme)], scheme) {
		return "", "", false
	}
	name = line[len(scheme):]
	if rest, two := strings.CutPrefix(name, "//"); two {
		slash := strings.IndexByte(rest, '/')
		if slash < 0 {
			return "", "", false
		}
		host, name = rest[:slash], rest[slash:]
	}
	return name, host, strings.HasPrefix(name, "/")
}

// isHere says whether a host in an address is this computer, by its whole name or the first part of it.
func isHere(at, host string) bool {
	first, _, _ := strings.Cut(host, ".")
	for _, own := range []string{"", "localhost", "localhost.localdomain", "127.0.0.1", host, first} {
		if strings.EqualFold(at, own) {
			return true
		}
	}
	short, _, dotted := strings.Cut(at, ".")
	return dotted && first == host && strings.EqualFold(short, first) // we know no domain, the other program does
}

// choose is what the path of an address stands for: unescaped, or as it is written where such a file is there alone, or
// from Latin-1 where a disk with names in UTF-8 has it. What is nowhere says so where it is opened.
func choose(name string, there func(string) bool) string {
	plain := unescape(name)
	for _, reading := range []string{plain, name, filename.FromLatin1(plain)} {
		if there(clean(reading)) {
			return clean(reading)
		}
	}
	return clean(plain)
}

func clean(name string) string { return path.Clean("/" + strings.TrimLeft(name, "/")) }

// unescape resolves %XX. A % that escapes nothing, or a zero, stands for itself.
func unescape(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			high, ok1 := digit(s[i+1])
			low, ok2 := digit(s[i+2])
			if b := high<<4 | low; ok1 && ok2 && b != 0 {
				out.WriteByte(b)
				i += 2
				continue
			}
		}
		out.WriteByte(s[i])
	}
	return out.String()
}

func digit(c byte) (value byte, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
