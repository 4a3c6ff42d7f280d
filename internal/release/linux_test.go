package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/internal/cli"
)

func TestPackagesNeedWhatTheProgramIsLinkedWith(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil || runtime.GOOS != "linux" {
		t.Skip("there is no gcc for Linux here")
	}
	p := here(t)
	p.arch = runtime.GOARCH
	noErr(t, write(filepath.Join(p.out, "go.mod"), []byte("module tiny\n")))
	noErr(t, write(filepath.Join(p.out, "main.go"), []byte("package main\n\n// #cgo LDFLAGS: -l:libwayland-client.so.0\n"+
		"// void *wl_display_connect(const char *);\nimport \"C\"\n\nfunc main() { C.wl_display_connect(nil) }\n")))
	program := filepath.Join(p.out, "tiny")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Dir, cmd.Env = p.out, append(os.Environ(), "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("no program can be linked with Wayland here: %s", out)
	}
	kinds := map[string][]string{"rpm": {"libc.so.6()(64bit)", "libc.so.6(GLIBC_2.", "libwayland-client.so.0()(64bit)"}, "tar": nil}
	if _, err := exec.LookPath("dpkg-shlibdeps"); err == nil {
		kinds["deb"] = []string{"libc6 (>= ", "libwayland-client0 (>= "}
	}
	for kind, names := range kinds {
		depends, err := p.linked(t.Context(), kind, program)
		if err != nil || names == nil && depends != nil {
			t.Errorf("%s depends on %q, %v", kind, depends, err)
		}
		for _, name := range names {
			if !slices.ContainsFunc(depends, func(d string) bool { return strings.HasPrefix(d, name) }) {
				t.Errorf("%s is not in %q", name, depends)
			}
		}
	}
}

// here is this source tree as version 1.2.3 of an arbitrary commit.
func here(t *testing.T) product {
	t.Helper()
	root := must(filepath.Abs(filepath.Join("..", "..")))
	return product{root: root, out: t.TempDir(), version: "1.2.3", commit: "0123456789ab", arch: "amd64", made: time.Unix(1_790_000_000, 0).UTC()}
}

var (
	flag      = regexp.MustCompile(`--(?:\[no-\])?[a-z][a-z-]*`)
	commandIn = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?) `)
)

// help is the program's own output.
func help(t *testing.T, args ...string) string {
	t.Helper()
	var out, failed bytes.Buffer
	code := cli.Main(append(args, "--help"), cli.Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &failed})
	if code != 0 || failed.Len() > 0 {
		t.Fatalf("%q --help ends with %d: %s", args, code, &failed)
	}
	return out.String()
}

func TestTheManualPageAgreesWithTheProgram(t *testing.T) {
	page := must(here(t).manual())
	plain := strings.NewReplacer(`\-`, "-", `\(dq`, `"`, `\&`, "", `\e`, `\`).Replace(string(page))
	_, list, _ := strings.Cut(help(t), "Commands:")
	named := commandIn.FindAllStringSubmatch(list, -1)
	if len(named) < 8 {
		t.Fatalf("the help names %d commands:\n%s", len(named), list)
	}
	var commands [][]string
	for _, c := range named {
		_, below, group := strings.Cut(help(t, c[1]), "\nCommands:")
		if !group {
			commands = append(commands, c)
		}
		commands = append(commands, commandIn.FindAllStringSubmatch(below, -1)...)
	}
	said := map[string]bool{}
	for _, c := range commands {
		head := regexp.MustCompile(`\n\.SS ` + regexp.QuoteMeta(c[1]) + `\b`).FindStringIndex(plain)
		if head == nil {
			t.Errorf("the page does not know the command %s", c[1])
			continue
		}
		section, _, _ := strings.Cut(plain[head[1]:], "\n.SS ")
		_, options, _ := strings.Cut(plain, "\n.SH OPTIONS")
		options, _, _ = strings.Cut(options, "\n.SH ")
		_, flags, _ := strings.Cut(help(t, strings.Fields(c[1])...), "Flags:")
		for _, f := range flag.FindAllString(flags, -1) {
			f = strings.Replace(f, "[no-]", "", 1)
			said[f] = true
			if !strings.Contains(section, f) && !strings.Contains(options, f) {
				t.Errorf("the page does not know %s %s", c[1], f)
			}
		}
	}
	_, body, _ := strings.Cut(plain, ".SH OPTIONS")
	for _, f := range flag.FindAllString(body, -1) {
		if !said[strings.Replace(f, "[no-]", "", 1)] {
			t.Errorf("the page tells of %s, which the program does not", f)
		}
	}
}

func TestTheDescriptionShowsPicturesThatLieWhereItSays(t *testing.T) {
	p := here(t)
	plain, err := p.metainfo()
	if err != nil || bytes.Contains(plain, []byte("<screenshot")) {
		t.Errorf("without an address it shows pictures: %v", err)
	}
	p.announced.address, p.announced.page = "https://example.com/countersign/countersign.json", "https://example.com/get?a=1&b=2"
	described := must(p.metainfo())
	var read struct {
		URL         []string `xml:"url"`
		Screenshots []struct {
			Caption []string `xml:"caption"`
			Image   string   `xml:"image"`
		} `xml:"screenshots>screenshot"`
	}
	noErr(t, xml.Unmarshal(described, &read))
	noErr(t, p.publishScreenshots())
	if len(read.Screenshots) != len(screenshots) || len(read.URL) != 1 || read.URL[0] != p.announced.page {
		t.Fatalf("it has %d pictures and leads to %s", len(read.Screenshots), read.URL)
	}
	for _, s := range read.Screenshots {
		name, beside := strings.CutPrefix(s.Image, "https://example.com/countersign/")
		if info, err := os.Stat(filepath.Join(p.out, name)); !beside || err != nil || info.Size() < 10_000 || len(s.Caption) != 4 {
			t.Errorf("%s with %d captions: %v", s.Image, len(s.Caption), err)
		}
	}
	if _, err := exec.LookPath("appstreamcli"); err != nil {
		t.Skip("there is no appstreamcli here")
	}
	for _, text := range [][]byte{plain, described} {
		path := filepath.Join(p.out, "ch.countersign.app.metainfo.xml")
		noErr(t, write(path, text))
		if out, err := exec.Command("appstreamcli", "validate", "--no-net", path).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

func TestEntriesOfTheDesktopAreValid(t *testing.T) {
	if _, err := exec.LookPath("desktop-file-validate"); err != nil {
		t.Skip("there is no desktop-file-validate here")
	}
	for _, name := range []string{"ch.countersign.app.desktop", "countersign-autostart.desktop", "thunar-sendto.desktop"} {
		if out, err := exec.Command("desktop-file-validate", here(t).packaging("linux", name)).CombinedOutput(); err != nil || len(out) != 0 {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
