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
// SOURCE_DATE_EPOCH. Dependencies and architecture are those of the program.
func (p product) deb(ctx context.Context, program string) (string, error) {
	m, err := machineOf(program)
	if err != nil {
		return "", err
	}
	files, err := p.linuxFiles(ctx, program)
	if err != nil {
		return "", err
	}
	depends, recommends, err := p.debianNeeds(ctx, m, program)
	if err != nil {
		return "", err
	}
	if recommends != "" {
		recommends = ", " + recommends
	}
	changes, err := p.changes()
	if err != nil {
		return "", err
	}
	changelog, err := p.form("linux/changelog", map[string]string{
		"Version": p.packageVersion(), "Changes": strings.Join(wrapped(changes, 72), "\n    "), "Date": p.made.Format("Mon, 02 Jan 2006 15:04:05 -0700"),
	})
	if err != nil {
		return "", err
	}
	overrides, err := os.ReadFile(p.packaging("linux", "lintian-overrides"))
	if err != nil {
		return "", err
	}
	files = append(below("usr", files), file{"usr/share/doc/countersign/changelog.gz", 0o644, packed(changelog)},
		file{"usr/share/lintian/overrides/countersign", 0o644, overrides})
	shared, err := p.forEverybody()
	if err != nil {
		return "", err
	}
	files = sorted(append(files, shared...))
	control, err := p.form("linux/control", map[string]string{
		"Version": p.packageVersion(), "Architecture": m.arch, "KiB": kibibytes(files), "Depends": depends, "Recommends": recommends,
	})
	if err != nil {
		return "", err
	}
	var sums, ofPeople strings.Builder
	for _, f := range files {
		if strings.HasPrefix(f.path, "etc/") {
			fmt.Fprintf(&ofPeople, "/%s\n", f.path)
		} else {
			fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.content), f.path)
		}
	}
	removal, err := os.ReadFile(p.packaging("linux", "prerm"))
	if err != nil {
		return "", err
	}
	stage, err := os.MkdirTemp("", "countersign-deb-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(stage)
	files = append(files,
		file{"DEBIAN/control", 0o644, control}, file{"DEBIAN/md5sums", 0o644, []byte(sums.String())},
		file{"DEBIAN/conffiles", 0o644, []byte(ofPeople.String())}, file{"DEBIAN/prerm", 0o755, removal})
	if err := lay(stage, files); err != nil {
		return "", err
	}
	path := filepath.Join(p.out, "countersign_"+p.packageVersion()+"_"+m.arch+".deb")
	say("Packing %s.", filepath.Base(path))
	env := []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", p.made.Unix())}
	return path, run(ctx, p.out, env, "dpkg-deb", "--root-owner-group", "-Zxz", "--build", stage, path)
}
