// Command release builds what people install: the Windows program and its installer, the Debian package, the archive for
// other Linuxes, the macOS bundle, and a whole release with checksums, licence notices and a bill of materials. The Makefile
// calls it, and installs the system tools that it says it needs.
//
// It promises that the same commit and version produce the same bytes, on any day and in any folder, as long as the tools
// are the same: times come from the commit, nothing contains local paths, and lists are sorted. The texts and templates it
// fills in are in assets/packaging. It knows nothing about how Countersign works, except for its command line, for the
// manual page.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/alecthomas/kong"
)

// commandLine is the command line that the Makefile uses.
type commandLine struct {
	Root    string `help:"The source tree." default:"." type:"existingdir"`
	Out     string `help:"Where the results go." default:"build" type:"path"`
	Version string `name:"set-version" help:"The version; what git describes when left out."`
	Arch    string `help:"The kind of processor on Linux." enum:"amd64,arm64" default:"${arch}"`

	What string `arg:"" enum:"windows,deb,rpm,tar,macos,release,renew,sign,needs" help:"What to make: windows (Countersign.exe, its installer, its package for administrators, winget's manifest), deb, rpm, tar (with its install script), macos (needs a Mac), release (all but the last, from a clean tree, with sums, notices and bill of materials); or renew: sign the manifest of the last release anew, with RELEASE_KEY; sign FILE: for Windows, with SIGN_PFX and SIGN_PASSWORD_FILE; needs WHAT: print the Debian packages that making it takes."`
	Of   string `arg:"" optional:"" help:"The file to sign, or what needs packages."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var c commandLine
	kong.Parse(&c, kong.Name("release"), kong.UsageOnError(), kong.Vars{"arch": runtime.GOARCH})
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (c *commandLine) run(ctx context.Context) error {
	switch c.What {
	case "needs":
		return c.needs(ctx)
	case "sign":
		return signWindows(ctx, c.Of)
	case "renew":
		return renew(filepath.Join(c.Out, "release"))
	}
	p, err := c.product(ctx)
	if err != nil {
		return err
	}
	var made []string
	switch c.What {
	case "release":
		return p.releaseCommit(ctx, c.Version)
	case "macos":
		return p.macos(ctx)
	case "windows":
		made, err = p.windows(ctx, filepath.Join(p.out, "Countersign.exe"), "Countersign")
	default:
		made, err = p.linux(ctx, c.What)
	}
	if err != nil {
		return err
	}
	for _, path := range made {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		say("Done: %s (%.1f MB).", path, float64(info.Size())/1e6)
	}
	return nil
}

// needs prints the packages for the Makefile to install. For another processor they are cross compilers and that processor's
// libraries; whether apt-get on this computer offers those is up to its owner.
func (c *commandLine) needs(ctx context.Context) error {
	windows := strings.Fields("gcc-mingw-w64-x86-64 mingw-w64-x86-64-dev nsis wixl msitools osslsigncode")
	deb := strings.Fields("dpkg-dev libdecor-0-0 libegl1 libwayland-cursor0 libwayland-egl1")
	release := slices.Concat(windows, deb, []string{"apt-utils", "createrepo-c"})
	packages := map[string][]string{
		"windows": windows, "deb": deb, "release": release,
		"test-shipping": append(slices.Clone(release), strings.Fields("wine wine64 locales xvfb xdotool libgl1-mesa-dri openssl bsdutils debootstrap"+
			" desktop-file-utils appstream mandoc lintian rpm dnf sway grim dbus systemd")...),
	}[c.Of]
	if c.Arch != runtime.GOARCH && slices.Contains([]string{"deb", "rpm", "tar", "release"}, c.Of) {
		known, err := output(ctx, ".", nil, "dpkg", "--print-foreign-architectures")
		if err != nil {
			return err
		}
		if !slices.Contains(strings.Fields(known), c.Arch) {
			return fmt.Errorf("this system does not know packages for %s; as root: dpkg --add-architecture %[1]s && apt-get update", c.Arch)
		}
		packages = append(packages, "gcc-"+strings.ReplaceAll(gnu[c.Arch], "_", "-"))
		for name := range strings.FieldsSeq("libc6-dev libgl-dev libegl-dev libx11-dev libxcursor-dev libxi-dev libxinerama-dev libxrandr-dev" +
			" libxxf86vm-dev libxkbcommon-dev libwayland-dev libx11-xcb1 libxext6 libdecor-0-0 libegl1") {
			packages = append(packages, name+":"+c.Arch)
		}
	}
	fmt.Println(strings.Join(packages, " "))
	return nil
}

// product is one version of the program, from one source tree.
type product struct {
	root, out string // absolute folders: the source tree, and where the results go
	version   string // for people: "1.2.0"
	commit    string // short; empty if the tree is not a checkout
	arch      string // the Linux processor, in Go's terms
	quick     bool   // it is no release: packing it must not take long
	made      time.Time
	announced announcement    // how programs learn of newer versions
	key       *openpgp.Entity // signs packages for Linux; nil for none
}

// product determines what to build.
func (c *commandLine) product(ctx context.Context) (product, error) {
	p := product{out: c.Out, version: c.Version, arch: c.Arch}
	var err error
	if p.root, err = filepath.Abs(c.Root); err != nil {
		return p, err
	}
	if p.commit, err = git(ctx, p.root, "rev-parse", "--short=12", "HEAD"); err != nil {
		return p, err
	}
	if p.version == "" {
		if p.version, err = git(ctx, p.root, "describe", "--tags", "--always", "--dirty"); err != nil {
			return p, err
		}
		p.quick = true
	}
	p.version = strings.TrimPrefix(p.version, "v")
	if p.made, err = commitTime(ctx, p.root); err != nil {
		return p, err
	}
	if p.announced, err = announced(); err != nil {
		return p, err
	}
	if p.key, err = packageKey(); err != nil {
		return p, err
	}
	return p, os.MkdirAll(p.out, 0o755)
}

// commitTime is the time stamp of everything in the results (https://reproducible-builds.org/specs/source-date-epoch).
func commitTime(ctx context.Context, root string) (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		var err error
		if seconds, err = git(ctx, root, "log", "-1", "--format=%ct"); err != nil {
			return time.Time{}, err
		}
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read the time of the commit: %w", err)
	}
	return time.Unix(n, 0).UTC(), nil
}

// said is the version as the program prints it, with its commit.
func (p product) said() string {
	if p.commit == "" || strings.Contains(p.version, p.commit[:min(7, len(p.commit))]) {
		return p.version
	}
	return p.version + " (" + p.commit + ")"
}

// fields are the numbers and words of a version.
func (p product) fields() []string {
	return strings.FieldsFunc(p.version, func(r rune) bool { return r == '.' || r == '-' || r == '+' })
}

// numbers is the version for Windows and macOS: n numbers of 16 bits, zero for those the version lacks.
func (p product) numbers(n int) []string {
	numbers := slices.Repeat([]string{"0"}, n)
	for i, field := range p.fields() {
		v, err := strconv.ParseUint(field, 10, 16)
		if err != nil || i == n {
			break
		}
		numbers[i] = strconv.FormatUint(v, 10)
	}
	return numbers
}

// serverProgram builds the program without its window, which needs no C, for servers with that system and processor.
func (p product) serverProgram(ctx context.Context, s server, path string) error {
	err := p.link(ctx, path, "./internal/server", "-s -w", "GOOS="+s.system, "GOARCH="+s.arch, "CGO_ENABLED=0")
	if err != nil || s.system != "windows" {
		return err
	}
	return p.sign(ctx, path)
}

// cFlags are Go's defaults, plus the Makefile's flag about how cgo tries names.
const cFlags = "-O2 -g -D__cgo_undefined__2=_GoBytes_"

// build links the program with its window into path, ignoring this computer's C flags.
func (p product) build(ctx context.Context, path, ldflags string, env ...string) error {
	env = append(env, "CGO_ENABLED=1", "CGO_CFLAGS="+cFlags, "CGO_CXXFLAGS=-O2 -g", "CGO_LDFLAGS=-O2 -g")
	return p.link(ctx, path, ".", ldflags, env...)
}

// link links one of our programs into path, without the tree's location and version control.
func (p product) link(ctx context.Context, path, program, ldflags string, env ...string) error {
	ldflags += fmt.Sprintf(" -buildid= -X 'main.version=%s'", p.said()) + p.announced.ldflags()
	return run(ctx, p.root, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags, "-o", path, program)
}

// packaging is the path of a file in assets/packaging.
func (p product) packaging(elements ...string) string {
	return filepath.Join(append([]string{p.root, "assets", "packaging"}, elements...)...)
}

// form fills in one of the templates in assets/packaging.
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

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// run runs a tool in dir, with env added to the environment.
func run(ctx context.Context, dir string, env []string, name string, args ...string) error {
	_, err := output(ctx, dir, env, name, args...)
	return err
}

// output runs a tool like run and returns its trimmed output. If it fails, the error contains everything it printed.
func output(ctx context.Context, dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var printed, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &said
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("this computer has no %s; `make` installs it on Debian and Ubuntu", name)
	} else if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", name, err, &printed, &said)
	}
	return strings.TrimSpace(printed.String()), nil
}

// git runs git and returns its output, even if the tree belongs to another user, as in a container.
func git(ctx context.Context, root string, args ...string) (string, error) {
	return output(ctx, root, nil, "git", append([]string{"-c", "safe.directory=*"}, args...)...)
}

// described matches what git appends to the name of a tag: the number of later commits, the last of them, and whether the
// tree differs from it (git-describe(1)).
var described = regexp.MustCompile(`(-[0-9]+-g[0-9a-f]+)?(-dirty)?$`)

// notAllowed matches characters that a package's version must not contain.
var notAllowed = regexp.MustCompile(`[^0-9A-Za-z.+~]`)

// packageVersion is the version in a form that Debian and RPM allow and sort correctly (deb-version(7), rpm-version(7)): it
// begins with a digit and has no hyphen, which would introduce a revision. A pre-release (1.2.0-rc.1) sorts before its
// release, later commits (1.2.0-3-g1234567) after it, and anything without a release before all releases.
func (p product) packageVersion() string {
	base, after := p.version, ""
	if at := described.FindStringIndex(base); at != nil {
		base, after = base[:at[0]], strings.ReplaceAll(base[at[0]:], "-", "+")
	}
	number, pre, isPre := strings.Cut(base, "-")
	v := notAllowed.ReplaceAllString(number, ".")
	if isPre {
		v += "~" + notAllowed.ReplaceAllString(pre, ".")
	}
	if !strings.Contains(number, ".") || v[0] < '0' || v[0] > '9' {
		v = "0~" + v
	}
	return v + after
}

// changes describes what is new in p, in one paragraph.
func (p product) changes() (string, error) {
	changes, err := os.ReadFile(filepath.Join(p.root, "assets", "docs", "changes.md"))
	if err != nil {
		return "", err
	}
	return changesIn(string(changes), p.version)
}

// changesIn is the entry of changes.md for a version, without markup; for a version without one, the newest entry, because
// that is what a build between releases contains.
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
