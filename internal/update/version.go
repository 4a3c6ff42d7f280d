package update

import (
	"strings"

	"golang.org/x/mod/semver"
)

// maxVersion is longer than any version that people say.
const maxVersion = 64

// IsVersion reports whether v is a version that can be compared: three numbers, and perhaps what comes before a release
// (https://semver.org, without its build metadata, which does not compare).
func IsVersion(v string) bool {
	return len(v) <= maxVersion && semver.IsValid("v"+v) && semver.Canonical("v"+v) == "v"+v
}

// Plain is the version in what a program says of itself, "1.2.0 (0a1b2c3d4e5f)"; empty when there is none, as in a build
// that is no release.
func Plain(said string) string {
	v, _, _ := strings.Cut(said, " ")
	if v = strings.TrimPrefix(v, "v"); !IsVersion(v) {
		return ""
	}
	return v
}

// Newer reports whether version a comes after b. What is no version comes before every one.
func Newer(a, b string) bool { return semver.Compare("v"+a, "v"+b) > 0 }
