package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// rpm makes the package for Fedora, openSUSE and their like with rpmbuild(1), from the files of the Debian package. It names
// libraries and not packages, whose names differ between them.
func (p product) rpm(ctx context.Context, program string) (string, error) {
	m, err := machineOf(program)
	if err != nil {
		return "", err
	}
	opens, err := libraries(program)
	if err != nil {
		return "", err
	}
	files, err := p.linuxFiles(ctx, program)
	if err != nil {
		return "", err
	}
	shared, err := p.forEverybody()
	if err != nil {
		return "", err
	}
	files = sorted(append(below("usr", files), shared...))
	top, err := os.MkdirTemp("", "countersign-rpm-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(top)
	stage := filepath.Join(top, "stage")
	if err := lay(stage, files); err != nil {
		return "", err
	}
	removal, err := os.ReadFile(p.packaging("linux", "prerm"))
	if err != nil {
		return "", err
	}
	changes, err := p.changes()
	if err != nil {
		return "", err
	}
	spec, err := p.form("linux/countersign.spec", map[string]any{
		"Version": p.packageVersion(), "Stage": stage, "Files": listed(files), "BeforeRemoval": strings.ReplaceAll(string(removal), "%", "%%"),
		"Requires": capabilities(opens[always]), "Recommends": capabilities(opens[better]),
		"Date": p.made.Format("Mon Jan 02 2006"), "Changes": strings.Join(wrapped(strings.ReplaceAll(changes, "%", "%%"), 76), "\n  "),
	})
	if err != nil {
		return "", err
	}
	path := filepath.Join(top, "countersign.spec")
	if err := write(path, spec); err != nil {
		return "", err
	}
	name := "countersign-" + p.packageVersion() + "-1." + m.rpm + ".rpm"
	say("Packing %s.", name)
	env := []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", p.made.Unix()), "LC_ALL=C"}
	err = run(ctx, top, env, "rpmbuild", "-bb", "--nodeps", "--target", m.rpm+"-linux", "--define", "_topdir "+top,
		"--define", "_rpmdir "+top, "--define", "_rpmfilename "+name, path)
	if err != nil {
		return "", err
	}
	made := filepath.Join(p.out, name)
	return made, copyFile(filepath.Join(top, name), made)
}

// capabilities are libraries as RPM asks for them.
func capabilities(libraries []string) []string {
	var list []string
	for _, name := range libraries {
		list = append(list, name+"()(64bit)") // as all machines have
	}
	return list
}

// listed are files as a spec lists them: what is below /etc is kept where a person changed it.
func listed(files []file) []string {
	var lines []string
	for _, f := range files {
		line := fmt.Sprintf("%%attr(%04o,root,root) \"/%s\"", f.mode.Perm(), f.path)
		switch {
		case strings.HasPrefix(f.path, "etc/"):
			line = "%config(noreplace) " + line
		case strings.HasPrefix(f.path, "usr/share/doc/"), strings.HasPrefix(f.path, "usr/share/man/"):
			line = "%doc " + line
		}
		lines = append(lines, line)
	}
	return lines
}
