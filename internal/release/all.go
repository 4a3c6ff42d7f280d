package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/internal/update"

	"golang.org/x/sync/errgroup"
)

type allCmd struct{}

// Run makes a release of the last commit. It works on a copy of the commit, so that nothing else in the tree can get
// in, and still demands a clean tree, so that nobody believes that more was released.
func (allCmd) Run(ctx context.Context, c *commandLine) error {
	p, err := c.product(ctx)
	if err != nil {
		return err
	}
	if c.Version == "" {
		return errors.New("a release needs a version: make release VERSION=1.2.0")
	}
	if p.announced.secret != nil && !update.IsVersion(p.version) {
		return fmt.Errorf("%q is no version that programs can compare, as 1.2.0 and 1.3.0-rc.1 are", p.version)
	}
	changed, err := output(ctx, p.root, "git", "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("the tree is not clean; commit these or put them away first:\n%s", changed)
	}
	copied, err := os.MkdirTemp("", "countersign-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(copied)
	if err := p.export(ctx, copied); err != nil {
		return err
	}
	p.out = filepath.Join(p.out, "release")
	p.root = copied
	if err := os.RemoveAll(p.out); err != nil {
		return err
	}
	if err := p.release(ctx); err != nil {
		return err
	}
	fmt.Printf("Countersign %s is in %s. The bundle for macOS is not part of it: `make macos` needs a Mac.\n", p.said(), p.out)
	return nil
}

// export copies the last commit into dir.
func (p product) export(ctx context.Context, dir string) error {
	archive := filepath.Join(dir, "tree.tar")
	if err := run(ctx, p.root, nil, "git", "archive", "--output", archive, "HEAD"); err != nil {
		return err
	}
	if err := run(ctx, dir, nil, "tar", "--extract", "--file", archive); err != nil {
		return err
	}
	return os.Remove(archive)
}

// server is a kind of computer on which the program without its window works.
type server struct{ system, arch, ending string }

// file is the name under which the program for such a computer is published.
func (s server) file(version string) string {
	return "countersign-server-" + version + "-" + s.system + "-" + s.arch + s.ending
}

// servers are the kinds of servers that people rent, and the computers with Windows for which there is no other program of their
// own.
var servers = []server{{"linux", "amd64", ""}, {"linux", "arm64", ""}, {"windows", "amd64", ".exe"}, {"windows", "arm64", ".exe"}}

// release makes everything that is published of p, in p.out.
func (p product) release(ctx context.Context) error {
	work, err := os.MkdirTemp("", "countersign-build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(p.out, 0o755); err != nil {
		return err
	}
	published := p.out
	p.out = work
	linux, err := p.linuxProgram(ctx)
	if err != nil {
		return err
	}
	windows, err := p.windowsProgram(ctx)
	if err != nil {
		return err
	}
	windowless := map[server]string{}
	for _, s := range servers {
		if windowless[s], err = p.serverProgram(ctx, s); err != nil {
			return err
		}
		if s.system == "windows" {
			if err := p.sign(ctx, windowless[s]); err != nil {
				return err
			}
		}
	}
	var deb, rpm, tarball, setup, msi string
	var winget []string
	packing, packCtx := errgroup.WithContext(ctx) // each of them squeezes on one processor for long
	packing.Go(func() (err error) { deb, err = p.deb(packCtx, linux); return })
	packing.Go(func() (err error) { rpm, err = p.rpm(packCtx, linux); return })
	packing.Go(func() (err error) { tarball, err = p.tarball(packCtx, linux); return })
	packing.Go(func() (err error) {
		setup, msi, winget, err = p.windowsFiles(packCtx, windows, "Countersign-"+p.version)
		return
	})
	if err := packing.Wait(); err != nil {
		return err
	}
	programs := slices.Concat([]string{linux, windows}, slices.Collect(maps.Values(windowless)))
	notices, err := p.notices(ctx, programs...)
	if err != nil {
		return err
	}
	bill, err := p.bill(ctx, programs...)
	if err != nil {
		return err
	}
	files := map[string]string{
		filepath.Base(deb): deb, filepath.Base(rpm): rpm, filepath.Base(tarball): tarball, filepath.Base(setup): setup, filepath.Base(msi): msi,
		"Countersign-" + p.version + "-windows-amd64.exe": windows, "countersign-" + p.version + "-linux-" + p.arch: linux,
	}
	for s, program := range windowless {
		files[s.file(p.version)] = program
	}
	for _, manifest := range winget {
		files[filepath.Base(manifest)] = manifest
	}
	for name, from := range files {
		if err := copyFile(from, filepath.Join(published, name)); err != nil {
			return err
		}
	}
	err = errors.Join(
		write(filepath.Join(published, "NOTICES.txt"), notices),
		write(filepath.Join(published, "countersign-"+p.version+".cdx.json"), bill),
		p.publishScreenshots(published),
		writeSums(published),
	)
	if err != nil {
		return err
	}
	return p.announce(published, filepath.Base(deb), filepath.Base(rpm), filepath.Base(tarball), filepath.Base(setup))
}

// announce writes the manifest with the files in dir that programs replace themselves with. It comes after the sums, which are
// the same each time.
func (p product) announce(dir, deb, rpm, tarball, setup string) error {
	var files []update.File
	add := func(system, arch, kind, name string) (err error) {
		f, err := describe(system, arch, kind, filepath.Join(dir, name))
		files = append(files, f)
		return err
	}
	err := errors.Join(add("windows", "amd64", update.Installer, setup), add("linux", p.arch, update.Deb, deb),
		add("linux", p.arch, update.RPM, rpm), add("linux", p.arch, update.Tar, tarball))
	for _, s := range servers {
		if s.system == "linux" { // on Windows nothing tells the program for servers from one that was unpacked
			err = errors.Join(err, add(s.system, s.arch, update.Server, s.file(p.version)))
		}
	}
	if err != nil {
		return err
	}
	return p.announced.publish(dir, p.version, files)
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}

// writeSums writes the SHA-256 sums of the files in dir as sha256sum checks them.
func writeSums(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%x  %s\n", sha256.Sum256(content), e.Name()))
	}
	slices.Sort(lines)
	return write(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "")))
}
