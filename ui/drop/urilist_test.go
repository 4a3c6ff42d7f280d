package drop

import (
	"path"
	"slices"
	"strings"
	"testing"
)

func TestFilesAreFoundHoweverTheirAddressesAreWritten(t *testing.T) {
	disk := []string{"/home/a/Lease 4.pdf", "/home/a/\xc4nderung.pdf", "/home/b/Änderung.pdf", "/home/a/100% sure.pdf", "/home/a/b%20c.pdf",
		"/home/a/x%20y.pdf", "/home/a/x y.pdf"}
	there := func(p string) bool { return slices.Contains(disk, p) }
	for name, c := range map[string]struct{ list, want string }{
		"escaped":                     {"file:///home/a/Lease%204.pdf\r\n", "/home/a/Lease 4.pdf"},
		"not escaped":                 {"file:///home/a/Lease 4.pdf\n", "/home/a/Lease 4.pdf"},
		"without a last line end":     {"file:///home/a/Lease%204.pdf", "/home/a/Lease 4.pdf"},
		"with a zero at the end":      {"file:///home/a/Lease%204.pdf\x00", "/home/a/Lease 4.pdf"},
		"this computer":               {"file://Office-3/home/a/Lease%204.pdf", "/home/a/Lease 4.pdf"},
		"this computer, whole name":   {"file://office-3.example.com/home/a/Lease%204.pdf", "/home/a/Lease 4.pdf"},
		"localhost":                   {"file://localhost/home/a/Lease%204.pdf", "/home/a/Lease 4.pdf"},
		"one slash":                   {"file:/home/a/Lease%204.pdf", "/home/a/Lease 4.pdf"},
		"large letters":               {"FILE:///home/a/Lease%204.pdf", "/home/a/Lease 4.pdf"},
		"a plain path":                {"/home/a/Lease 4.pdf", "/home/a/Lease 4.pdf"},
		"Latin-1 on the disk":         {"file:///home/a/%C4nderung.pdf", "/home/a/\xc4nderung.pdf"},
		"Latin-1, not escaped":        {"file:///home/a/\xc4nderung.pdf", "/home/a/\xc4nderung.pdf"},
		"Latin-1 in the address":      {"file:///home/b/%c4nderung.pdf", "/home/b/Änderung.pdf"},
		"UTF-8":                       {"file:///home/b/%C3%84nderung.pdf", "/home/b/Änderung.pdf"},
		"a percent sign by itself":    {"file:///home/a/100% sure.pdf", "/home/a/100% sure.pdf"},
		"an escape that is a name":    {"file:///home/a/b%20c.pdf", "/home/a/b%20c.pdf"},
		"an escape that could be one": {"file:///home/a/x%20y.pdf", "/home/a/x y.pdf"},
		"comments and empty lines":    {"# from a mail\r\n\r\nfile:///a\n#file:///b\nfile:///c", "/a /c"},
		"a zero in a name":            {"file:///a%00b", "/a%00b"},
		"upwards":                     {"file:///../../etc/passwd", "/etc/passwd"},
		"nothing":                     {"", ""},
		"only a scheme":               {"file://", ""},
		"only a host":                 {"file://host", ""},
	} {
		a := readList([]byte(c.list), "office-3", there)
		if got := strings.Join(a.paths, " "); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	mixed := readList([]byte("https://example.com/a.pdf\r\nfile://server/a\r\nfile:///a\r\nmailto:a@example.com\r\n"), "office-3", there)
	if len(mixed.paths) != 1 || mixed.elsewhere != 1 || mixed.others != 2 {
		t.Errorf("read %+v", mixed)
	}
}

func FuzzList(f *testing.F) {
	for _, list := range []string{"file:///a%20b\r\n", "file://", "file:", "/", "#", "file:///%", "file:///%2", "%00", "file://h/\xff%ff", "FILE:/x\x00y"} {
		f.Add([]byte(list), "office-3.example.com")
	}
	f.Fuzz(func(t *testing.T, list []byte, host string) {
		a := readList(list, host, func(string) bool { return len(list)%2 == 0 })
		for _, p := range a.paths {
			if !path.IsAbs(p) || path.Clean(p) != p || strings.ContainsAny(p, "\x00\r\n") && !strings.ContainsAny(string(list), "%") {
				t.Errorf("%q gives %q", list, p)
			}
		}
		if n := len(a.paths) + a.elsewhere + a.others; n > len(list) {
			t.Errorf("%d addresses in %d bytes", n, len(list))
		}
	})
}
