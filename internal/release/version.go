package main

import (
	"regexp"
	"strings"
)

// described is what git adds to the name of a tag: how many commits came after it, the last of them, and that the tree differs
// from that (git-describe(1)).
var described = regexp.MustCompile(`(-[0-9]+-g[0-9a-f]+)?(-dirty)?$`)

// packageVersion is the version as Debian and RPM allow and sort it (deb-version(7), rpm-version(7)): it begins with a digit, a
// hyphen would announce a revision, what comes before a release (1.2.0-rc.1) sorts before it, what comes after it
// (1.2.0-3-g1234567) after it, and what is no release yet before all of them.
func (p product) packageVersion() string {
	base, after := p.version, ""
	if at := described.FindStringIndex(base); at != nil {
		base, after = base[:at[0]], strings.ReplaceAll(base[at[0]:], "-", "+")
	}
	number, pre, isPre := strings.Cut(base, "-")
	v := allowed(number)
	if isPre {
		v += "~" + allowed(pre)
	}
	if !strings.Contains(number, ".") || v[0] < '0' || v[0] > '9' {
		v = "0~" + v
	}
	return v + after
}

// allowed is text with a point for each sign that a version may not have.
func allowed(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '.', r == '+', r == '~':
			return r
		}
		return '.'
	}, text)
}
