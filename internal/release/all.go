// Command release makes what people install: the Windows program and its installer, the Debian package, the archive
// for other Linuxes, the bundle for macOS, and a whole release with check sums, licence notices and a bill of
// materials. The Makefile calls it, and installs the tools of the system that it says it needs.
//
// It promises that the same commit and version give the same bytes, on any day and in any folder, as long as the tools are
// the same: times come from the commit, nothing of this computer's paths goes in, and lists are sorted. The texts and forms it
// fills in are in assets/packaging. It knows nothing of how Countersign works, apart from its command line, for the
// manual page.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sync/errgroup"

	"countersign/internal/update"
)

type releaseCmd struct{}

// Run makes a release of the last commit. It works on a copy of the commit, so that nothing else in the tree can get
// in, and still demands a clean tree, so that nobody believes that more was released.
func (releaseCmd) Run(ctx context.Context, c *commandLine) error {
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
		p.publishPolicy(filepath.Join(published, "Countersign-"+p.version+"-group-policy.zip")),
		p.publishScreenshots(published),
		writeSums(published),
	)
	if err != nil {
		return err
	}
	return p.announce(published, filepath.Base(deb), filepath.Base(rpm), filepath.Base(tarball), filepath.Base(setup))
}

// publishPolicy packs the templates for the Group Policy editor as they belong below PolicyDefinitions.
func (p product) publishPolicy(path string) error {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	folder := os.DirFS(p.packaging("windows", "policy"))
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			return err
		}
		to, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: p.made.UTC()})
		if err == nil {
			_, err = to.Write(text)
		}
		return err
	})
	return errors.Join(err, w.Close(), write(path, packed.Bytes()))
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

// commandLine is what the Makefile says.
type commandLine struct {
	Root    string `help:"The source tree." default:"." type:"existingdir"`
	Out     string `help:"Where the results go." default:"build" type:"path"`
	Version string `name:"set-version" help:"The version; what git describes when left out."`
	Arch    string `help:"The kind of processor on Linux: amd64 or arm64." default:"${arch}"`

	Windows windowsCmd `cmd:"" help:"Countersign.exe, its installer, its package for administrators, and winget's manifest."`
	Deb     debCmd     `cmd:"" help:"The Debian package."`
	Rpm     rpmCmd     `cmd:"" help:"The package for Fedora, openSUSE and their like."`
	Tar     tarCmd     `cmd:"" help:"The archive with its install script."`
	Sign    signCmd    `cmd:"" help:"Sign one file for Windows, with SIGN_PFX and SIGN_PASSWORD_FILE."`
	Macos   macosCmd   `cmd:"" help:"The bundle; needs a Mac."`
	Renew   renewCmd   `cmd:"" help:"Sign the manifest of the last release anew, with RELEASE_KEY, before it expires."`
	Release releaseCmd `cmd:"" help:"A release, from a clean tree: everything but the bundle for macOS, with sums, notices and bill of materials."`
	Needs   needsCmd   `cmd:"" help:"The Debian packages that making something takes."`
}

type needsCmd struct {
	What string `arg:"" help:"windows, deb, rpm, tar, macos, release, renew or test-shipping."`
}

// Run prints the packages for the Makefile to install. Those for another kind of processor are cross compilers and that one's
// libraries: that this computer's apt-get may have them, its owner decides.
func (n needsCmd) Run(ctx context.Context, c *commandLine) error {
	windows := strings.Fields("gcc-mingw-w64-x86-64 mingw-w64-x86-64-dev nsis wixl msitools osslsigncode")
	deb := strings.Fields("dpkg-dev xz-utils libdecor-0-0 libegl1 libwayland-cursor0 libwayland-egl1")
	release := slices.Concat(windows, deb, []string{"rpm"})
	packages := map[string][]string{
		"windows": windows, "deb": deb, "rpm": {"rpm"}, "tar": {"xz-utils"}, "release": release,
		"test-shipping": append(slices.Clone(release), strings.Fields("wine wine64 locales xvfb xdotool libgl1-mesa-dri openssl bsdutils debootstrap"+
			" desktop-file-utils appstream mandoc lintian sway grim dbus")...),
	}[n.What]
	if c.Arch != runtime.GOARCH && slices.Contains([]string{"deb", "rpm", "tar", "release"}, n.What) {
		m, err := machineCalled(c.Arch)
		if err != nil {
			return err
		}
		known, err := output(ctx, ".", "dpkg", "--print-foreign-architectures")
		if err != nil {
			return err
		}
		if !slices.Contains(strings.Fields(known), m.arch) {
			return fmt.Errorf("this system does not know packages for %s; as root: dpkg --add-architecture %[1]s && apt-get update", m.arch)
		}
		packages = append(packages, "gcc-"+strings.ReplaceAll(strings.TrimSuffix(m.compiler, "-gcc"), "_", "-"))
		for name := range strings.FieldsSeq("libc6-dev libgl-dev libegl-dev libx11-dev libxcursor-dev libxi-dev libxinerama-dev libxrandr-dev" +
			" libxxf86vm-dev libxkbcommon-dev libwayland-dev libx11-xcb1 libxext6 libdecor-0-0 libegl1") {
			packages = append(packages, name+":"+m.arch)
		}
	}
	fmt.Println(strings.Join(packages, " "))
	return nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var c commandLine
	chosen := kong.Parse(&c, kong.Name("release"), kong.UsageOnError(), kong.Vars{"arch": runtime.GOARCH}, kong.BindTo(ctx, (*context.Context)(nil)))
	if err := chosen.Run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// make builds a program and packs it.
func (c *commandLine) make(ctx context.Context, build func(product, context.Context) (string, error), pack func(product, context.Context, string) (string, error)) error {
	p, err := c.product(ctx)
	if err != nil {
		return err
	}
	program, err := build(p, ctx)
	if err != nil {
		return err
	}
	path, err := pack(p, ctx, program)
	if err != nil {
		return err
	}
	return ready(path)
}

// ready tells where a result lies.
func ready(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if here, err := os.Getwd(); err == nil {
		if short, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(short) {
			path = short
		}
	}
	say("Done: %s (%.1f MB).", path, float64(info.Size())/1e6)
	return nil
}

type windowsCmd struct{}

func (windowsCmd) Run(ctx context.Context, c *commandLine) error {
	p, err := c.product(ctx)
	if err != nil {
		return err
	}
	program, err := p.windowsProgram(ctx)
	if err != nil {
		return err
	}
	setup, msi, winget, err := p.windowsFiles(ctx, program, "Countersign")
	if err != nil {
		return err
	}
	for _, path := range append([]string{program, setup, msi}, winget...) {
		if err := ready(path); err != nil {
			return err
		}
	}
	return nil
}

type debCmd struct{}

func (debCmd) Run(ctx context.Context, c *commandLine) error {
	return c.make(ctx, product.linuxProgram, product.deb)
}

type rpmCmd struct{}

func (rpmCmd) Run(ctx context.Context, c *commandLine) error {
	return c.make(ctx, product.linuxProgram, product.rpm)
}

type tarCmd struct{}

func (tarCmd) Run(ctx context.Context, c *commandLine) error {
	return c.make(ctx, product.linuxProgram, product.tarball)
}

// product is one version of the program, from one source tree.
type product struct {
	root, out string // absolute folders: the source tree, and where the results go
	version   string // as people say it: "1.2.0"
	commit    string // short; empty when the tree is no checkout
	arch      string // the kind of processor on Linux, as Go calls it
	made      time.Time
	announced announcement // how programs hear of newer versions
}

// product finds out what is being made.
func (c *commandLine) product(ctx context.Context) (product, error) {
	root, err := filepath.Abs(c.Root)
	if err != nil {
		return product{}, err
	}
	p := product{root: root, out: c.Out, version: c.Version, arch: c.Arch}
	if p.commit, err = output(ctx, root, "git", "rev-parse", "--short=12", "HEAD"); err != nil {
		return product{}, err
	}
	if p.version == "" {
		if p.version, err = output(ctx, root, "git", "describe", "--tags", "--always", "--dirty"); err != nil {
			return product{}, err
		}
	}
	p.version = strings.TrimPrefix(p.version, "v")
	if p.made, err = commitTime(ctx, root); err != nil {
		return product{}, err
	}
	if p.announced, err = announced(); err != nil {
		return product{}, err
	}
	return p, os.MkdirAll(p.out, 0o755)
}

// commitTime is the time that everything in the results carries (https://reproducible-builds.org/specs/source-date-epoch).
func commitTime(ctx context.Context, root string) (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		var err error
		if seconds, err = output(ctx, root, "git", "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the commit: %w", err)
	}
	return time.Unix(n, 0).UTC(), nil
}

// said is the version as the program says it: with its commit.
func (p product) said() string {
	if p.commit == "" || strings.Contains(p.version, p.commit[:min(7, len(p.commit))]) {
		return p.version
	}
	return p.version + " (" + p.commit + ")"
}

// numbers is the version as Windows and macOS want it: n numbers of 16 bits, zero where the version names none.
func (p product) numbers(n int) []string {
	fields := strings.FieldsFunc(p.version, func(r rune) bool { return r == '.' || r == '-' || r == '+' })
	numbers := make([]string, n)
	ended := false
	for i := range numbers {
		numbers[i] = "0"
		if i >= len(fields) || ended {
			continue
		}
		if v, err := strconv.ParseUint(fields[i], 10, 16); err == nil {
			numbers[i] = strconv.FormatUint(v, 10)
		} else {
			ended = true
		}
	}
	return numbers
}

// serverProgram builds the program without its window, which needs no C, for servers with that system and kind of processor.
func (p product) serverProgram(ctx context.Context, s server) (string, error) {
	path := filepath.Join(p.out, s.system+"-"+s.arch, "countersign-server"+s.ending)
	return path, p.link(ctx, path, "./internal/server", "-s -w", "GOOS="+s.system, "GOARCH="+s.arch, "CGO_ENABLED=0")
}

// cFlags are those that Go has without any, and what the Makefile says of how names are tried.
const cFlags = "-O2 -g -D__cgo_undefined__2=_GoBytes_"

// build links the program with its window into path. This computer's C flags leave no trace.
func (p product) build(ctx context.Context, path, ldflags string, env ...string) error {
	env = append(env, "CGO_ENABLED=1", "CGO_CFLAGS="+cFlags, "CGO_CXXFLAGS=-O2 -g", "CGO_LDFLAGS=-O2 -g")
	return p.link(ctx, path, ".", ldflags, env...)
}

// screenReaders are the settings of Go's tools that build in what Fyne has for screen readers on Windows and macOS, where
// ACCESSIBILITY asks for it. Fyne 2.8.1 frees what a screen reader still holds, so nobody gets it unasked.
func screenReaders() []string {
	if asked := os.Getenv("ACCESSIBILITY"); asked == "" || asked == "0" {
		return nil
	}
	return []string{"GOFLAGS=" + strings.TrimSpace(os.Getenv("GOFLAGS")+" -tags=accessibility")}
}

// link links a program of ours into path. The tree's own place and its version control leave no trace.
func (p product) link(ctx context.Context, path, program, ldflags string, env ...string) error {
	ldflags += fmt.Sprintf(" -buildid= -X 'main.version=%s'", p.said()) + p.announced.ldflags()
	return run(ctx, p.root, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", path, program)
}

// packaging is the path of a file in assets/packaging.
func (p product) packaging(elements ...string) string {
	return filepath.Join(append([]string{p.root, "assets", "packaging"}, elements...)...)
}

// form fills in one of the forms in assets/packaging.
func (p product) form(name string, values any) ([]byte, error) {
	text, err := os.ReadFile(p.packaging(filepath.FromSlash(name)))
	if err != nil {
		return nil, err
	}
	t, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, values); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// say tells whoever waits what is being done.
func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// run runs a tool in dir with env added to the environment. What the tool says is shown when it fails.
func run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	if said, err := cmd.CombinedOutput(); err != nil {
		return explain(name, err, said)
	}
	return nil
}

// output runs a tool in dir and returns what it prints, without the space around it.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", explain(name, err, said.Bytes())
	}
	return strings.TrimSpace(string(out)), nil
}

func explain(name string, err error, said []byte) error {
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("this computer has no %s; `make` installs it on Debian and Ubuntu", name)
	}
	return fmt.Errorf("%s: %w\n%s", name, err, bytes.TrimSpace(said))
}

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

// changes is what is new in p, in one paragraph.
func (p product) changes() (string, error) {
	changes, err := os.ReadFile(filepath.Join(p.root, "assets", "docs", "changes.md"))
	if err != nil {
		return "", err
	}
	return changesIn(string(changes), p.version)
}

// changesIn is what changes.md says of a version, without its markup; of one that it does not name, the newest entry, for
// that is what a build between releases is.
func changesIn(changes, version string) (string, error) {
	_, list, found := strings.Cut(changes, "# Changes\n")
	if !found {
		return "", errors.New("changes.md does not begin with # Changes")
	}
	newest := ""
	for entry := range strings.SplitSeq(list, "\n\n") {
		title, text, found := strings.Cut(strings.TrimPrefix(strings.TrimSpace(entry), "**"), ".**")
		if !found {
			continue
		}
		text = strings.Join(strings.Fields(text), " ")
		if newest == "" {
			newest = text
		}
		if title == version {
			return text, nil
		}
	}
	if newest == "" {
		return "", errors.New("changes.md has no entry such as **1.2.0.** What is new")
	}
	return newest, nil
}

// wrapped is text in lines of at most width letters, but for words that are longer.
func wrapped(text string, width int) []string {
	var lines []string
	for word := range strings.FieldsSeq(text) {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(word) <= width {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}
