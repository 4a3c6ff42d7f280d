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

	"countersign/internal/trytest"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2/files"
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

func TestLicenceTextsAreFoundWhereverTheyAre(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"LICENSE":                  "one\r\ntext\n",
		"third_party/font/OFL.txt": "two",
		"copy/license.md":          "one\ntext",
		"NOTICE":                   "three",
		"UNLICENSE":                "four",
		"licenses.go":              "code",
		"testdata/LICENSE":         "tests",
		"LICENSES/MIT.txt":         "in a folder of that name",
		"empty/COPYING":            " \n",
	} {
		noErr(t, write(filepath.Join(dir, filepath.FromSlash(name)), []byte(text)))
	}
	texts, err := licenceTexts(dir)
	if got := strings.Join(texts, "|"); err != nil || got != "one\ntext|in a folder of that name|three|four|two" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAModuleWithoutALicenceIsAnError(t *testing.T) {
	for name, dir := range map[string]string{"empty": t.TempDir(), "not there": ""} {
		if texts, err := licenceTexts(dir); err == nil {
			t.Errorf("%s: got %q", name, texts)
		}
	}
}

func TestWhatModulesBundleHasItsTexts(t *testing.T) {
	for module, b := range bundled {
		text, err := os.ReadFile(here(t).packaging("licences", b.licences))
		if err != nil || len(text) < 1000 {
			t.Errorf("%s: %d bytes, %v", module, len(text), err)
		}
		for _, p := range b.parts {
			if !bytes.Contains(text, []byte("---\n"+p.name+"\n\n")) {
				t.Errorf("%s has no text for %s", b.licences, p.name)
			}
		}
		if list, err := output(t.Context(), here(t).root, nil, "go", "list", "-m", module); err != nil {
			t.Errorf("%s is no module of ours any more: %s %v", module, list, err)
		}
	}
}

// Tested on this test program itself, which contains a good part of the product's modules.
func TestNoticesAndBillNameEveryModule(t *testing.T) {
	self := must(os.Executable())
	p := here(t)
	found := must(p.components(t.Context(), self))
	notices := must(p.notices(t.Context(), self))
	bill := must(p.bill(t.Context(), self))
	var read cdx.BOM
	noErr(t, cdx.NewBOMDecoder(bytes.NewReader(bill), cdx.BOMFileFormatJSON).Decode(&read))
	contains := map[string]int{}
	for _, d := range *read.Dependencies {
		contains[d.Ref] = len(*d.Dependencies)
	}
	if read.SpecVersion != cdx.SpecVersion1_6 || !strings.HasPrefix(read.SerialNumber, "urn:uuid:") || contains["countersign"] != len(found) || len(found) < 20 {
		t.Fatalf("version %s, serial number %q; it contains %v of %d modules", read.SpecVersion, read.SerialNumber, contains, len(found))
	}
	inBill := map[string]cdx.Component{}
	for _, c := range *read.Components {
		inBill[c.Name] = c
	}
	for _, name := range []string{"FreeType", "OpenJPEG", "libjpeg-turbo", "zlib", "Little CMS", "ICU", "Anti-Grain Geometry", "Abseil"} {
		if c, there := inBill[name]; !there || len(*c.Licenses) != 1 || (*c.Licenses)[0].Expression == "" {
			t.Errorf("of PDFium the bill does not name %s: %+v", name, c)
		}
	}
	pdfium := inBill["PDFium"]
	if contains[pdfium.BOMRef] != len(inBill)-len(found)-1 || pdfium.Version == "" || len((*pdfium.Hashes)[0].Value) != 64 {
		t.Errorf("PDFium is in the bill as %+v", pdfium)
	}
	for _, f := range found {
		c := inBill[f.Name]
		if c.PackageURL != "pkg:golang/"+f.Name+"@"+f.Version || f.Name != "std" && (c.Hashes == nil || len((*c.Hashes)[0].Value) != 64) {
			t.Errorf("%s is in the bill as %+v", f.Name, c)
		}
		// Some texts are no licences: a list of authors, a notice about a picture or a colour profile.
		if !slices.ContainsFunc(*c.Licenses, func(l cdx.LicenseChoice) bool { return l.License.ID != "" }) {
			t.Errorf("nobody knows the licence of %s: %+v", f.Name, c.Licenses)
		}
		for _, text := range append(f.texts, "\n"+f.title()+"\n") {
			if !bytes.Contains(notices, []byte(text)) {
				t.Errorf("of %s the notices do not have %.40q", f.Name, text)
			}
		}
	}
	again, err := p.bill(t.Context(), self)
	if err != nil || !bytes.Equal(bill, again) {
		t.Errorf("the bill differs the second time: %v", err)
	}
}
