package main

import (
	"context"
	"crypto/md5"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// deb makes the Debian package with Debian's own dpkg-deb, which writes the same bytes for the same tree and
// SOURCE_DATE_EPOCH.
func (p product) deb(ctx context.Context, program string) (string, error) {
	files, err := p.linuxFiles(ctx, program)
	if err != nil {
		return "", err
	}
	files = below("usr", files)
	control, err := p.form("linux/control", map[string]string{"Version": p.debianVersion(), "KiB": kibibytes(files)})
	if err != nil {
		return "", err
	}
	var sums strings.Builder
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.content), f.path)
	}
	stage, err := os.MkdirTemp("", "countersign-deb-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(stage)
	files = append(files, file{"DEBIAN/control", 0o644, control}, file{"DEBIAN/md5sums", 0o644, []byte(sums.String())})
	if err := lay(stage, files); err != nil {
		return "", err
	}
	path := filepath.Join(p.out, "countersign_"+p.debianVersion()+"_amd64.deb")
	env := []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", p.made.Unix())}
	return path, run(ctx, p.out, env, "dpkg-deb", "--root-owner-group", "-Zxz", "--build", stage, path)
}

// debianVersion is the version as Debian allows and sorts it (deb-version(7)): it begins with a digit, a hyphen would
// announce a revision, and what is no release yet comes before all of them.
func (p product) debianVersion() string {
	v := strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '.', r == '+', r == '~':
			return r
		case r == '-':
			return '+'
		}
		return '.'
	}, p.version)
	if !strings.Contains(p.version, ".") || v[0] < '0' || v[0] > '9' {
		return "0~" + v
	}
	return v
}
