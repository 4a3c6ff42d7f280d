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
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // how these are packed
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"

	"countersign/internal/cli"
)

// gnu are the kinds of processors that packages for Linux are made for, as Go and Debian call them, with the names that GCC and the
// folders of libraries have for them.
var gnu = map[string]string{"amd64": "x86_64-linux-gnu", "arm64": "aarch64-linux-gnu"}

// linuxProgram builds the program for p's kind of processor. It lies in memory where chance has it (PIE), and what it calls is
// bound before it starts and then write-protected (bindnow, relro).
func (p product) linuxProgram(ctx context.Context, path string) error {
	env := []string{"GOOS=linux", "GOARCH=" + p.arch, "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildmode=pie")}
	if p.arch != runtime.GOARCH {
		libraries := "/usr/lib/" + gnu[p.arch] + "/pkgconfig:/usr/share/pkgconfig"
		env = append(env, "CC="+gnu[p.arch]+"-gcc", "PKG_CONFIG_LIBDIR="+libraries)
	}
	say("Building Countersign %s for Linux on %s. The first time its graphics library is compiled too, which takes some minutes.", p.version, p.arch)
	return p.build(ctx, path, "-s -w -extldflags '-Wl,-z,relro -Wl,-z,now'", env...)
}

// linux makes the packages of a kind, deb, rpm or tar: of the program, and of the one for servers, which has no archive.
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

// linked are the dependencies of a package of a kind on the libraries that a program is linked with. RPM takes their names and
// versions, for names of packages differ between Fedora, openSUSE and their like; Debian's packages are those that this computer built
// the program with. What the window opens by itself (GLFW's src/*_init.c and *_context.c), the package's form names.
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

// pack makes the packages of some kinds (deb, rpm or tar) with a program, and returns their paths in that order. What is made for one
// is made for all: to find the licences of a program takes seconds.
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

// packKind makes one of them from the files in made. Its form is assets/packaging/linux/NAME.yaml.
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
		if c.FileInfo == nil { // whatever the umask is here
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

// tarball writes the archive for Linuxes without packages of ours: the files below files/ in dir, and beside that the script that
// installs them for one person. They have the owner root and the time of the commit.
func (p product) tarball(contents files.Contents, dir string, to io.Writer) error {
	contents, err := files.PrepareForPackager(contents, 0, "tar", true, p.made)
	if err != nil {
		return err
	}
	squeezed, _ := gzip.NewWriterLevel(to, gzip.BestCompression) // the level is a valid one
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

// iconSizes are the sizes of the icon theme (freedesktop.org's Icon Theme Specification) that we draw.
var iconSizes = []int{22, 32, 48, 64, 128, 256, 512}

// makeFiles writes into dir the files of a package that are made from its program and the source tree.
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
	for _, shell := range []string{"bash", "zsh", "fish"} {
		made[shell] = func() ([]byte, error) { return cli.Completion(shell) }
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

// packed is text as gzip, without a name or a time in it.
func packed(text []byte, err error) ([]byte, error) {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
	_, _ = w.Write(text)                                  // a buffer takes everything
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// manual is the manual page (man-pages(7)): the form in assets/packaging, with the commands and options that the
// program itself knows.
func (p product) manual() ([]byte, error) {
	grammar := cli.Grammar()
	var commands strings.Builder
	for _, c := range grammar.Leaves(true) {
		if c.Type != kong.CommandNode {
			continue
		}
		synopsis := c.Path() // with what it takes: "send FILE..."
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

// item is one entry of a list with a hanging indent.
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

// roff makes text mean itself: the page's own signs are a backslash, a hyphen that may be copied, a quote after a
// request, and a point or a quote where a line begins.
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
