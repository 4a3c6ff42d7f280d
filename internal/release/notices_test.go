package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

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
