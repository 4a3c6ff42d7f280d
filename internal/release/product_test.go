package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/nfpm/v2/files"

	"countersign/internal/trytest"
)

func TestVersionsAreWhatEachSystemAllows(t *testing.T) {
	for version, want := range map[string]struct{ packages, four string }{
		"1.2.3":                 {"1.2.3", "1.2.3.0"},
		"1.2.0-rc.1":            {"1.2.0~rc.1", "1.2.0.0"},
		"1.2.0-rc.1-4-gabc1234": {"1.2.0~rc.1+4+gabc1234", "1.2.0.0"},
		"1.2.0-beta-2-dirty":    {"1.2.0~beta.2+dirty", "1.2.0.0"},
		"1.2.3-4-gabc1234":      {"1.2.3+4+gabc1234", "1.2.3.4"},
		"92d9f51-dirty":         {"0~92d9f51+dirty", "0.0.0.0"},
		"92d9f51":               {"0~92d9f51", "0.0.0.0"},
		"dev":                   {"0~dev", "0.0.0.0"},
		"1.99999":               {"1.99999", "1.0.0.0"},
	} {
		p := product{version: version}
		if got := p.packageVersion(); got != want.packages {
			t.Errorf("%s: packages get %s, want %s", version, got, want.packages)
		}
		if got := strings.Join(p.numbers(4), "."); got != want.four {
			t.Errorf("%s: Windows gets %s, want %s", version, got, want.four)
		}
	}
}

func TestPreReleasesSortBeforeTheReleaseAndWhatCameAfterItBehind(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil {
		t.Skip("there is no dpkg here")
	}
	order := []string{"92d9f51-dirty", "0.9.0", "1.2.0-alpha", "1.2.0-alpha.1", "1.2.0-beta", "1.2.0-rc.1", "1.2.0-rc.1-4-gabc1234", "1.2.0-rc.2",
		"1.2.0-rc.10", "1.2.0", "1.2.0-1-gabc1234", "1.2.0-12-gabc1234", "1.2.0-dirty", "1.2.1"}
	for i, newer := range order[1:] {
		older := product{version: order[i]}.packageVersion()
		if err := exec.Command("dpkg", "--compare-versions", older, "lt", product{version: newer}.packageVersion()).Run(); err != nil {
			t.Errorf("%s does not sort before %s: %v", order[i], newer, err)
		}
	}
}

func TestTheProgramSaysVersionAndCommit(t *testing.T) {
	for _, tt := range []struct{ version, commit, want string }{
		{"1.2.3", "0123456789ab", "1.2.3 (0123456789ab)"},
		{"1.2.3-4-g0123456", "0123456789ab", "1.2.3-4-g0123456"},
		{"1.2.3", "", "1.2.3"},
	} {
		if got := (product{version: tt.version, commit: tt.commit}).said(); got != tt.want {
			t.Errorf("got %s, want %s", got, tt.want)
		}
	}
}

func TestTheBundleIsWhatMacOSReads(t *testing.T) {
	p := here(t)
	bundle := filepath.Join(p.out, "Countersign.app")
	noErr(t, p.bundleForms(bundle))
	for _, path := range []string{filepath.Join(bundle, "Contents", "Info.plist"), p.packaging("macos", "entitlements.plist")} {
		text := must(os.ReadFile(path))
		for d := xml.NewDecoder(bytes.NewReader(text)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
	}
	plist, err := os.ReadFile(filepath.Join(bundle, "Contents", "Info.plist"))
	if err != nil || !bytes.Contains(plist, []byte("<key>CFBundleShortVersionString</key>\n\t<string>1.2.3</string>")) {
		t.Errorf("the version is not in Info.plist: %v", err)
	}
	if info, err := os.Stat(filepath.Join(bundle, "Contents", "Resources", "countersign.icns")); err != nil || info.Size() < 10_000 {
		t.Errorf("its icon: %v", err)
	}
}

func TestArchivesDependOnTheirContentAlone(t *testing.T) {
	p := here(t)
	source := filepath.Join(p.out, "source")
	noErr(t, write(source, []byte("1")))
	contents := files.Contents{
		{Source: source, Destination: "/usr/bin/two", FileInfo: &files.ContentFileInfo{Mode: 0o755}},
		{Source: source, Destination: "/install.sh", FileInfo: &files.ContentFileInfo{Mode: 0o644}},
	}
	var written [2]bytes.Buffer
	for i := range written {
		noErr(t, p.tarball(contents, "it", &written[i]))
		slices.Reverse(contents)
	}
	if !bytes.Equal(written[0].Bytes(), written[1].Bytes()) {
		t.Error("the order in which the files came shows")
	}
	plain := must(gzip.NewReader(&written[0]))
	for r, mode := tar.NewReader(plain), map[string]int64{"it/install.sh": 0o644, "it/files/bin/two": 0o755}; len(mode) > 0; {
		h := must(r.Next())
		if h.Mode != mode[h.Name] || h.Uid != 0 || !h.ModTime.Equal(p.made) {
			t.Errorf("an entry is %+v", h)
		}
		delete(mode, h.Name)
	}
}

// repository is a git repository with one commit.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	noErr(t, os.WriteFile(filepath.Join(dir, "a"), []byte("a"), 0o600))
	for _, args := range [][]string{
		{"init", "--quiet"}, {"add", "a"},
		{"-c", "user.name=Ana", "-c", "user.email=ana@example.com", "commit", "--quiet", "--message=Begin"},
	} {
		noErr(t, run(t.Context(), dir, nil, "git", args...))
	}
	return dir
}

func TestAReleaseNeedsACleanTreeAndAVersion(t *testing.T) {
	dir := repository(t)
	c := &commandLine{Root: dir, Out: t.TempDir(), What: "release"}
	if err := c.run(t.Context()); err == nil || !strings.Contains(err.Error(), "needs a version") {
		t.Errorf("without a version: %v", err)
	}
	noErr(t, os.WriteFile(filepath.Join(dir, "stray.go"), nil, 0o600))
	c.Version = "1.0.0"
	if err := c.run(t.Context()); err == nil || !strings.Contains(err.Error(), "stray.go") {
		t.Errorf("with a stray file: %v", err)
	}
}

func TestSumsAreAsSha256sumChecksThem(t *testing.T) {
	dir := t.TempDir()
	noErr(t, write(filepath.Join(dir, "abc"), []byte("abc")))
	noErr(t, writeSums(dir))
	got, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	const want = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  abc\n" // FIPS 180-2, B.1
	if string(got) != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestAMissingToolIsNamed(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	err := run(t.Context(), t.TempDir(), nil, "makensis")
	if err == nil || !strings.Contains(err.Error(), "this computer has no makensis") {
		t.Errorf("got %v", err)
	}
}

var noErr = trytest.NoErr

func must[T any](value T, err error) T { return trytest.Must(value, err) }
