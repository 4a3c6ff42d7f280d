package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/md5"
	"debug/elf"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"countersign/internal/cli"
)

// machine is a kind of processor that the program with its window is built for on Linux.
type machine struct {
	arch     string // as Go and Debian call it
	rpm      string // as RPM and Flatpak call it
	elf      elf.Machine
	compiler string // of Debian's cross toolchain (gcc-aarch64-linux-gnu)
	triplet  string // where Debian keeps libraries for it
}

var machines = []machine{
	{"amd64", "x86_64", elf.EM_X86_64, "x86_64-linux-gnu-gcc", "x86_64-linux-gnu"},
	{"arm64", "aarch64", elf.EM_AARCH64, "aarch64-linux-gnu-gcc", "aarch64-linux-gnu"},
}

// machineCalled is the one that Go calls so.
func machineCalled(arch string) (machine, error) {
	i := slices.IndexFunc(machines, func(m machine) bool { return m.arch == arch })
	if i < 0 {
		return machine{}, fmt.Errorf("packages are made for amd64 and arm64, and not for %s", arch)
	}
	return machines[i], nil
}

// machineOf is the one that a program was built for, whatever was asked for.
func machineOf(program string) (machine, error) {
	f, err := elf.Open(program)
	if err != nil {
		return machine{}, fmt.Errorf("read %s: %w", filepath.Base(program), err)
	}
	defer f.Close()
	i := slices.IndexFunc(machines, func(m machine) bool { return m.elf == f.Machine })
	if i < 0 {
		return machine{}, fmt.Errorf("packages are made for amd64 and arm64, and not for %s", f.Machine)
	}
	return machines[i], nil
}

// gcc is the compiler for m: this computer's own where that makes such programs.
func (m machine) gcc() string {
	if m.arch == runtime.GOARCH {
		return "gcc"
	}
	return m.compiler
}

// linuxProgram builds the program for p's kind of processor. It lies in memory where chance has it (PIE), and what it calls is
// bound before it starts and then write-protected (bindnow, relro).
func (p product) linuxProgram(ctx context.Context) (string, error) {
	m, err := machineCalled(p.arch)
	if err != nil {
		return "", err
	}
	env := []string{"GOOS=linux", "GOARCH=" + m.arch, "GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildmode=pie")}
	if m.arch != runtime.GOARCH {
		libraries := "/usr/lib/" + m.triplet + "/pkgconfig:/usr/share/pkgconfig"
		env = append(env, "CC="+m.compiler, "PKG_CONFIG_LIBDIR="+libraries)
	}
	say("Building Countersign %s for Linux on %s. The first time its graphics library is compiled too, which takes some minutes.", p.version, m.arch)
	path := filepath.Join(p.out, "linux-"+m.arch, "countersign")
	return path, p.build(ctx, path, "-s -w -extldflags '-Wl,-z,relro -Wl,-z,now'", env...)
}

// need is how much the program needs a library.
type need int

const (
	never  need = iota // another way to draw, which Fyne does not take
	better             // does without, not as well
	always
)

// opened are the libraries that the window opens by itself when it comes to them (GLFW's src/*_init.c and *_context.c), so that
// the linker knows nothing of them. All that X11 and all that Wayland ask for is needed: which of them a desktop has, shows when
// the program starts.
var opened = map[string]need{
	"libEGL.so.1":            always,
	"libGL.so.1":             always,
	"libX11-xcb.so.1":        always,
	"libX11.so.6":            always,
	"libXcursor.so.1":        always,
	"libXext.so.6":           always,
	"libXi.so.6":             always,
	"libXinerama.so.1":       always,
	"libXrandr.so.2":         always,
	"libXrender.so.1":        always,
	"libXxf86vm.so.1":        always,
	"libwayland-client.so.0": always,
	"libwayland-cursor.so.0": always,
	"libwayland-egl.so.1":    always,
	"libxkbcommon.so.0":      always,
	"libdecor-0.so.0":        better, // the window's frame where the desktop draws none
	"libGLESv1_CM.so.1":      never,
	"libGLESv2.so.2":         never,
	"libGLES_CM.so.1":        never,
	"libGLX.so.0":            never, // libGL has what is in it
	"libOSMesa.so.6":         never,
	"libOSMesa.so.8":         never,
	"libOpenGL.so.0":         never,
	"libvulkan.so.1":         never,
}

// libraryName matches the names of libraries as C writes them down.
var libraryName = regexp.MustCompile(`\x00(lib[A-Za-z0-9_+-]+\.so\.[0-9]+)\x00`)

// libraries are those that a program opens by itself, by how much it needs them, each sorted. A name that opened does not have is
// an error: somebody has to say what it is for.
func libraries(program string) (map[need][]string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", filepath.Base(program), err)
	}
	defer f.Close()
	linked, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("find the libraries of %s: %w", filepath.Base(program), err)
	}
	constants := f.Section(".rodata")
	if constants == nil {
		return nil, fmt.Errorf("%s has no constants to find names of libraries in", filepath.Base(program))
	}
	text, err := constants.Data()
	if err != nil {
		return nil, err
	}
	found := map[need]map[string]bool{}
	for at := 0; ; {
		hit := libraryName.FindSubmatchIndex(text[at:])
		if hit == nil {
			break
		}
		name := string(text[at+hit[2] : at+hit[3]])
		at += hit[3] // the zero that ends a name begins the next
		if slices.Contains(linked, name) {
			continue
		}
		n, known := opened[name]
		if !known {
			return nil, fmt.Errorf("the program opens %s by itself; name in opened (linux.go) how much it needs that", name)
		}
		if found[n] == nil {
			found[n] = map[string]bool{}
		}
		found[n][name] = true
	}
	lists := map[need][]string{}
	for n, names := range found {
		lists[n] = slices.Sorted(maps.Keys(names))
	}
	return lists, nil
}

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
	for i, f := range files {
		if dir, name := path.Split(f.path); dir == "share/zsh/site-functions/" {
			files[i].path = "share/zsh/vendor-completions/" + name // where Debian's zsh looks
		}
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

// tarball makes the archive for Linuxes without Debian's packages: the files and a script that installs them for one
// person.
func (p product) tarball(ctx context.Context, program string) (string, error) {
	m, err := machineOf(program)
	if err != nil {
		return "", err
	}
	files, err := p.linuxFiles(ctx, program)
	if err != nil {
		return "", err
	}
	name := "countersign-" + p.version
	files = below(name+"/files", files)
	for to, mode := range map[string]os.FileMode{"countersign-autostart.desktop": 0o644, "install.sh": 0o755} {
		content, err := os.ReadFile(p.packaging("linux", to))
		if err != nil {
			return "", err
		}
		files = append(files, file{name + "/" + to, mode, content})
	}
	path := filepath.Join(p.out, name+"-linux-"+m.arch+".tar.xz")
	say("Packing %s.", filepath.Base(path))
	if err := p.writeTar(ctx, path, files); err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return path, nil
}

// writeTar writes files with the owner root, the time of the commit and no others; xz packs it, on one processor, since
// more would divide it differently.
func (p product) writeTar(ctx context.Context, path string, files []file) error {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range sorted(files) {
		err := w.WriteHeader(&tar.Header{
			Name: f.path, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: p.made, Format: tar.FormatUSTAR,
		})
		if err != nil {
			return err
		}
		if _, err := w.Write(f.content); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return pack(ctx, path, &b)
}

func pack(ctx context.Context, path string, content io.Reader) (err error) {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if errClose := out.Close(); err == nil {
			err = errClose
		}
	}()
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "xz", "--threads=1", "-6", "--stdout")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = content, out, &said
	if err := cmd.Run(); err != nil {
		return explain("xz", err, said.Bytes())
	}
	return nil
}

// file is one file to install, its path relative to where programs of the system lie (/usr, ~/.local).
type file struct {
	path    string
	mode    fs.FileMode
	content []byte
}

// iconSizes are the sizes of the icon theme (freedesktop.org's Icon Theme Specification) that we draw.
var iconSizes = []int{22, 32, 48, 64, 128, 256, 512}

// linuxFiles is what every Linux gets: program, menu entry, entries in the menus of file managers, description for software
// centres, icons, manual page, completion of commands and notices.
func (p product) linuxFiles(ctx context.Context, program string) ([]file, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	manual, err := p.manual()
	if err != nil {
		return nil, err
	}
	metainfo, err := p.metainfo()
	if err != nil {
		return nil, err
	}
	notices, err := p.notices(ctx, program)
	if err != nil {
		return nil, err
	}
	files := []file{
		{"bin/countersign", 0o755, binary},
		{"share/metainfo/ch.countersign.app.metainfo.xml", 0o644, metainfo},
		{"share/man/man1/countersign.1.gz", 0o644, packed(manual)},
		{"share/doc/countersign/NOTICES.gz", 0o644, packed(notices)},
	}
	for to, shell := range map[string]string{
		"share/bash-completion/completions/countersign":    "bash",
		"share/zsh/site-functions/_countersign":            "zsh",
		"share/fish/vendor_completions.d/countersign.fish": "fish",
	} {
		script, err := cli.Completion(shell)
		if err != nil {
			return nil, err
		}
		files = append(files, file{to, 0o644, script})
	}
	from := map[string]string{
		"share/doc/countersign/copyright":                   p.packaging("linux", "copyright"),
		"share/applications/ch.countersign.app.desktop":     p.packaging("linux", "ch.countersign.app.desktop"),
		"share/kio/servicemenus/countersign.desktop":        p.packaging("linux", "kde-servicemenu.desktop"),
		"share/nemo/actions/countersign.nemo_action":        p.packaging("linux", "countersign.nemo_action"),
		"share/Thunar/sendto/countersign.desktop":           p.packaging("linux", "thunar-sendto.desktop"),
		"share/mime/packages/ch.countersign.app.xml":        p.packaging("linux", "ch.countersign.app.mime.xml"),
		"share/icons/hicolor/scalable/apps/countersign.svg": filepath.Join(p.root, "assets", "icon.svg"),
	}
	for _, size := range iconSizes {
		s := strconv.Itoa(size)
		from["share/icons/hicolor/"+s+"x"+s+"/apps/countersign.png"] = filepath.Join(p.root, "assets", "icons", "icon-"+s+".png")
	}
	for to, source := range from {
		content, err := os.ReadFile(source)
		if err != nil {
			return nil, err
		}
		mode := os.FileMode(0o644)
		if strings.HasPrefix(to, "share/kio/servicemenus/") {
			mode = 0o755 // Plasma offers no other
		}
		files = append(files, file{to, mode, content})
	}
	return sorted(files), nil
}

// forEverybody is what a package of the system installs besides, relative to /: the entry that starts Countersign with each
// person's desktop.
func (p product) forEverybody() ([]file, error) {
	entry, err := os.ReadFile(p.packaging("linux", "countersign-autostart.desktop"))
	return []file{{"etc/xdg/autostart/countersign.desktop", 0o644, entry}}, err
}

// sorted is files by their path.
func sorted(files []file) []file {
	return slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.path, b.path) })
}

// packed is text as gzip, without a name or a time in it.
func packed(text []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
	_, _ = w.Write(text)                                  // a buffer takes everything
	_ = w.Close()
	return b.Bytes()
}

// lay writes the files below dir.
func lay(dir string, files []file) error {
	for _, f := range files {
		target := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, f.content, f.mode); err != nil {
			return err
		}
		if err := os.Chmod(target, f.mode); err != nil { // whatever the umask is
			return err
		}
	}
	return openFolders(dir)
}

// openFolders lets everybody look into dir and below: these folders are unpacked as they are.
func openFolders(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755)
	})
}

// kibibytes is the size of files on a disk, rounded up each, as Debian's Installed-Size counts.
func kibibytes(files []file) string {
	var sum int
	for _, f := range files {
		sum += (len(f.content) + 1023) / 1024
	}
	return fmt.Sprint(sum)
}

// below moves files into a folder.
func below(dir string, files []file) []file {
	moved := slices.Clone(files)
	for i := range moved {
		moved[i].path = path.Join(dir, moved[i].path)
	}
	return moved
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
		fmt.Fprintf(&commands, ".SS %s\n%s\n", roff(synopsis(c)), roff(c.Help))
		for _, a := range c.Positional {
			item(&commands, a.Summary(), a.Help)
		}
		for _, f := range c.Flags {
			option(&commands, f)
		}
	}
	var options strings.Builder
	for _, f := range grammar.Flags {
		option(&options, f)
	}
	return p.form("linux/countersign.1", map[string]string{
		"Version": p.version, "Date": p.made.Format("2006-01-02"), "Description": paragraphs(grammar.Help),
		"Commands": strings.TrimSpace(commands.String()), "Options": strings.TrimSpace(options.String()),
	})
}

// synopsis is a command with what it takes: "send FILE... [OPTION]".
func synopsis(c *kong.Node) string {
	s := c.Path()
	for _, a := range c.Positional {
		s += " " + a.Summary()
	}
	return s
}

func option(b *strings.Builder, f *kong.Flag) {
	if f.Hidden {
		return
	}
	item(b, f.String(), f.Help)
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
