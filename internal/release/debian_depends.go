package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// debianNeeds are the Debian packages with the libraries that a program is linked with (Depends) and opens by itself (Depends,
// Recommends), in the versions that this computer built it with, as dpkg-shlibdeps(1) reads them from the program. What the
// program opens is put before it as libraries that are linked with that.
func (p product) debianNeeds(ctx context.Context, m machine, program string) (depends, recommends string, err error) {
	opens, err := libraries(program)
	if err != nil {
		return "", "", err
	}
	dir, err := os.MkdirTemp("", "countersign-needs-")
	if err != nil {
		return "", "", err
	}
	defer os.RemoveAll(dir)
	if err := write(filepath.Join(dir, "debian", "control"), []byte("Source: countersign\n\nPackage: countersign\nArchitecture: any\n")); err != nil {
		return "", "", err
	}
	args := []string{"-O", "-dDepends", "-e" + program}
	for _, n := range []need{always, better} {
		if len(opens[n]) == 0 {
			continue
		}
		field := "-dDepends"
		if n == better {
			field = "-dRecommends"
		}
		links := filepath.Join(dir, field+".so")
		gcc := []string{"-shared", "-nostdlib", "-o", links, "-Wl,--no-as-needed"}
		for _, name := range opens[n] {
			gcc = append(gcc, "-l:"+name)
		}
		if err := run(ctx, dir, nil, m.gcc(), gcc...); err != nil {
			return "", "", fmt.Errorf("find the libraries that the program opens: %w", err)
		}
		args = append(args, field, "-e"+links)
	}
	said, err := output(ctx, dir, "env", append([]string{"DEB_HOST_ARCH=" + m.arch, "dpkg-shlibdeps"}, args...)...)
	if err != nil {
		return "", "", err
	}
	for line := range strings.Lines(said) {
		name, packages, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch name {
		case "shlibs:Depends":
			depends = packages
		case "shlibs:Recommends":
			recommends = packages
		}
	}
	if depends == "" {
		return "", "", fmt.Errorf("dpkg-shlibdeps found no package for the libraries of the program: %s", said)
	}
	return depends, recommends, nil
}
