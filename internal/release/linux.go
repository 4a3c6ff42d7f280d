package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"go/doc/comment"
	"io"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"countersign/internal/cli"

	"github.com/alecthomas/kong"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers its format, as rpm does below
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// gnu are the processors for which Linux packages are made, by their name in Go and Debian, with their name in GCC and in
// library folders.
var gnu = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// linuxProgram builds the program for p's processor. It is position-independent (PIE); the functions it calls are bound at
// start and then write-protected (bindnow, relro).
func (p product) linuxProgram(ctx context.Context, path string) error {
	env := []string{"GOOS=linux", "GOARCH=" + p.arch, "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildmode=pie")}
	if p.arch != runtime.GOARCH {
		libraries := "/usr/lib/" + gnu[p.arch] + "/pkgconfig:/usr/share/pkgconfig"
		env = append(env, "CC="+gnu[p.arch]+"-gcc", "PKG_CONFIG_LIBDIR="+libraries)
	}
	say("Building Countersign %s for Linux on %s. The first time its graphics library is compiled too, which takes some minutes.", p.version, p.arch)
	return p.build(ctx, path, "-s -w -extldflags '-Wl,-z,relro -Wl,-z,now'", env...)
}

// linux makes the packages of one format, deb, rpm or tar: of the program, and of the server program, which has no archive.
func (p product) linux(ctx context.Context, kind string) (made []string, err error) {
	program := filepath.Join(p.out, "linux-"+p.arch, "countersign")
	if err := p.linuxProgram(ctx, program); err != nil {
		return nil, err
	}
	if made, err = p.pack(ctx, "countersign", program, kind); err != nil || kind == "tar" {
		return made, err
	}
	s := server{"linux", p.arch, ""}
	program = filepath.Join(p.out, s.file(p.version))
	if err := p.serverProgram(ctx, s, program); err != nil {
		return nil, err
	}
	more, err := p.pack(ctx, "countersign-server", program, kind)
	return append(made, more...), err
}

// linked are a package's dependencies for the libraries that a program is linked with. For RPM they are library names and
// versions, because package names differ between Fedora, openSUSE and others; for Debian, the packages with which this
// computer built the program. Libraries that the window loads itself (GLFW's src/*_init.c and *_context.c) are listed in the
// package's template.
func (p product) linked(ctx context.Context, kind, program string) (depends []string, err error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(program), err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil || len(libraries) == 0 || kind == "tar" {
		return nil, err
	}
	if kind == "rpm" {
		versions, err := f.DynamicVersionNeeds()
		for _, name := range libraries {
			depends = append(depends, name+"()(64bit)")
		}
		for _, library := range versions {
			for _, v := range library.Needs {
				depends = append(depends, library.Name+"("+v.Dep+")(64bit)")
			}
		}
		slices.Sort(depends)
		return slices.Compact(depends), err
	}
	dir, err := os.MkdirTemp("", "countersign-needs-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	err = write(filepath.Join(dir, "debian", "control"), []byte("Source: countersign\n\nPackage: countersign\nArchitecture: any\n"))
	if err != nil {
		return nil, err
	}
	said, err := output(ctx, dir, []string{"DEB_HOST_ARCH=" + p.arch}, "dpkg-shlibdeps", "-O", "-e"+program)
	if err != nil {
		return nil, err
	}
	_, linked, found := strings.Cut(said, "shlibs:Depends=")
	if !found {
		return nil, fmt.Errorf("dpkg-shlibdeps found no package for the libraries of the program: %s", said)
	}
	return strings.Split(linked, ", "), nil
}

// pack makes a program's packages in some formats (deb, rpm or tar), and returns their paths in that order. They share
// generated files, because finding a program's licences takes seconds.
func (p product) pack(ctx context.Context, name, program string, kinds ...string) (paths []string, err error) {
	made, err := os.MkdirTemp("", "countersign-package-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(made)
	if err := p.makeFiles(ctx, made, name, program); err != nil {
		return nil, err
	}
	for _, kind := range kinds {
		path, err := p.packKind(ctx, kind, name, program, made)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// packKind makes one package from the files in made. Its template is assets/packaging/linux/NAME.yaml.
func (p product) packKind(ctx context.Context, kind, name, program, made string) (string, error) {
	depends, err := p.linked(ctx, kind, program)
	if err != nil {
		return "", err
	}
	doc := ""
	if kind == "rpm" {
		doc = ", type: doc"
	}
	form, err := p.form("linux/"+name+".yaml", map[string]any{
		"Kind": kind, "Arch": p.arch, "Version": p.packageVersion(), "Time": p.made.Format(time.RFC3339), "Depends": depends, "Program": program,
		"Made": made, "Packaging": p.packaging("linux"), "Assets": filepath.Join(p.root, "assets"), "Doc": doc, "IconSizes": iconSizes,
	})
	if err != nil {
		return "", err
	}
	config, err := nfpm.Parse(bytes.NewReader(form))
	if err != nil {
		return "", fmt.Errorf("read the form of %s: %w", name, err)
	}
	info := &config.Info
	info.DisableGlobbing = true
	if p.key != nil {
		info.Deb.Signature.SignFn, info.RPM.Signature.SignFn = p.signature, p.signature
	}
	for _, c := range info.Contents {
		if c.FileInfo == nil { // independent of the umask here
			c.FileInfo = &files.ContentFileInfo{Mode: 0o644}
		}
	}
	path := filepath.Join(p.out, name+"-"+p.version+"-linux-"+p.arch+".tar.gz")
	write := func(to io.Writer) error { return p.tarball(info.Contents, name+"-"+p.version, to) }
	if kind != "tar" {
		packager, err := nfpm.Get(kind)
		if err != nil {
			return "", err
		}
		path = filepath.Join(p.out, packager.ConventionalFileName(info))
		write = func(to io.Writer) error { return packager.Package(info, to) }
	}
	say("Packing %s.", filepath.Base(path))
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, os.WriteFile(path, b.Bytes(), 0o644)
}

// tarball writes the archive for Linuxes for which we have no packages: the files below files/ in dir, and beside that the
// script that installs them for one person. Their owner is root, their time that of the commit.
func (p product) tarball(contents files.Contents, dir string, to io.Writer) error {
	contents, err := files.PrepareForPackager(contents, 0, "tar", true, p.made)
	if err != nil {
		return err
	}
	squeezed, _ := gzip.NewWriterLevel(to, gzip.BestCompression) // the level is valid
	w := tar.NewWriter(squeezed)
	for _, c := range contents {
		if c.IsDir() {
			continue
		}
		content, err := os.ReadFile(c.Source)
		if err != nil {
			return err
		}
		name := dir + strings.Replace(c.Destination, "/usr/", "/files/", 1)
		header := &tar.Header{Name: name, Mode: int64(c.Mode()), Size: int64(len(content)), ModTime: p.made, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		if _, err := w.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(w.Close(), squeezed.Close())
}

// iconSizes are the sizes of the icon theme (freedesktop.org's Icon Theme Specification) for which we draw icons.
var iconSizes = []int{22, 32, 48, 64, 128, 256, 512}

// makeFiles generates into dir the package's files that come from its program and the source tree.
func (p product) makeFiles(ctx context.Context, dir, name, program string) error {
	changes, err := p.changes()
	if err != nil {
		return err
	}
	lines := comment.Printer{TextWidth: 72, TextPrefix: "    "}
	news := map[string]string{
		"Name": name, "Version": p.packageVersion(), "Time": p.made.Format(time.RFC3339), "Date": p.made.Format(time.RFC1123Z),
		"Wrapped": string(bytes.TrimSpace(lines.Text(new(comment.Parser).Parse(changes)))),
	}
	made := map[string]func() ([]byte, error){
		"changes.yaml":     func() ([]byte, error) { return p.form("linux/changes.yaml", news) },
		"changelog.gz":     func() ([]byte, error) { return packed(p.form("linux/changelog", news)) },
		"NOTICES.gz":       func() ([]byte, error) { return packed(p.notices(ctx, program)) },
		"countersign.1.gz": func() ([]byte, error) { return packed(p.manual()) },
		"metainfo.xml":     p.metainfo,
	}
	for name, text := range made {
		content, err := text()
		if err != nil {
			return err
		}
		if err := write(filepath.Join(dir, name), content); err != nil {
			return err
		}
	}
	return nil
}

// packed is text compressed by gzip, without a name or a time.
func packed(text []byte, err error) ([]byte, error) {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(text)                                  // a buffer never fails
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// manual is the manual page (man-pages(7)): the template in assets/packaging, with the commands and options from the program
// itself.
func (p product) manual() ([]byte, error) {
	grammar := cli.Grammar()
	var commands strings.Builder
	for _, c := range grammar.Leaves(true) {
		if c.Type != kong.CommandNode {
			continue
		}
		synopsis := c.Path() // with its arguments: "send FILE..."
		for _, a := range c.Positional {
			synopsis += " " + a.Summary()
		}
		fmt.Fprintf(&commands, ".SS %s\n%s\n", roff(synopsis), roff(c.Help))
		for _, a := range c.Positional {
			item(&commands, a.Summary(), a.Help)
		}
		options(&commands, c.Flags)
	}
	var general strings.Builder
	options(&general, grammar.Flags)
	return p.form("linux/countersign.1", map[string]string{
		"Version": p.version, "Date": p.made.Format("2006-01-02"), "Description": paragraphs(grammar.Help),
		"Commands": strings.TrimSpace(commands.String()), "Options": strings.TrimSpace(general.String()),
	})
}

func options(b *strings.Builder, flags []*kong.Flag) {
	for _, f := range flags {
		if !f.Hidden {
			item(b, f.String(), f.Help)
		}
	}
}

// item is an entry of a list with a hanging indent.
func item(b *strings.Builder, term, text string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(term), roff(text))
}

func paragraphs(text string) string {
	var parts []string
	for part := range strings.SplitSeq(text, "\n\n") {
		parts = append(parts, roff(strings.TrimSpace(part)))
	}
	return strings.Join(parts, "\n.PP\n")
}

// roff escapes text: backslashes, hyphens (so that they can be copied), quotes after a request, and a period or a quote at
// the beginning of a line.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// screenshots are pictures of the window for software centres: their names in the metainfo, and the files in
// ui/window/testdata. Some of the window's tests check them, so they show what people get.
var screenshots = map[string]string{"packages": "packages-saved.png", "send": "send-filled.png", "dark": "packages-dark.png"}

// pictures is the base address of the screenshots, beside the rest of the release. It is empty if the release's address is
// unknown: software centres load pictures only from an address.
func (p product) pictures() string {
	if p.announced.address == "" {
		return ""
	}
	return p.announced.address[:strings.LastIndex(p.announced.address, "/")+1] + "countersign-" + p.version + "-"
}

// publishScreenshots copies the screenshots to where the metainfo says they are.
func (p product) publishScreenshots() (err error) {
	if p.pictures() == "" {
		return nil
	}
	for name, test := range screenshots {
		to := filepath.Join(p.out, path.Base(p.pictures())+name+".png")
		err = errors.Join(err, copyFile(filepath.Join(p.root, "ui", "window", "testdata", test), to))
	}
	return err
}

// metainfo is the description for software centres (AppStream).
func (p product) metainfo() ([]byte, error) {
	changes, err := p.changes()
	if err != nil {
		return nil, err
	}
	kind := "stable"
	if strings.ContainsAny(p.packageVersion(), "~+") {
		kind = "development"
	}
	return p.form("linux/ch.countersign.app.metainfo.xml", map[string]any{
		"Version": p.packageVersion(), "Date": p.made.Format("2006-01-02"), "Kind": kind, "Changes": changes,
		"Homepage": p.announced.page, "Pictures": p.pictures(),
	})
}
