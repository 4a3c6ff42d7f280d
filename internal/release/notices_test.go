package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
		must(t, write(filepath.Join(dir, filepath.FromSlash(name)), []byte(text)))
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
		if list, err := output(t.Context(), here(t).root, "go", "list", "-m", module); err != nil {
			t.Errorf("%s is no module of ours any more: %s %v", module, list, err)
		}
	}
}

// Of this test program itself, which has a good part of the product's modules in it.
func TestNoticesAndBillNameEveryModule(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	p := here(t)
	modules, err := p.modules(t.Context(), self)
	must(t, err)
	notices, err := p.notices(t.Context(), self)
	must(t, err)
	bill, err := p.bill(t.Context(), self)
	must(t, err)
	var read struct {
		BomFormat, SpecVersion, SerialNumber string
		Components                           []struct {
			Name, Version, Purl string
			Hashes              []struct{ Content string }
			Licenses            []struct {
				License    struct{ ID, Name string }
				Expression string
			}
		}
		Dependencies []struct {
			Ref       string
			DependsOn []string
		}
	}
	if err := json.Unmarshal(bill, &read); err != nil || read.BomFormat != "CycloneDX" || read.SpecVersion != "1.6" {
		t.Errorf("the bill is %s %s, %v", read.BomFormat, read.SpecVersion, err)
	}
	parts := map[string]string{}
	for at := 0; at < len(read.Components); at++ {
		if c := read.Components[at]; !strings.HasPrefix(c.Purl, "pkg:golang/") {
			parts[c.Name] = c.Version
			if len(c.Licenses) != 1 || c.Licenses[0].Expression == "" || c.Name == "PDFium" && (len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64) {
				t.Errorf("%s is in the bill as %+v", c.Name, c)
			}
			read.Components = slices.Delete(read.Components, at, at+1)
			at--
		}
	}
	for _, name := range []string{"FreeType", "OpenJPEG", "libjpeg-turbo", "zlib", "Little CMS", "ICU", "Anti-Grain Geometry", "Abseil"} {
		if _, there := parts[name]; !there || parts["PDFium"] == "" {
			t.Errorf("of PDFium %q the bill does not name %s", parts["PDFium"], name)
		}
	}
	contains := map[string]int{}
	for _, d := range read.Dependencies {
		contains[d.Ref] = len(d.DependsOn)
	}
	if contains["pkg:generic/pdfium@"+parts["PDFium"]] != len(parts)-1 || contains["countersign"] != len(modules) {
		t.Errorf("of %d parts and %d modules the bill says that they are contained in %v", len(parts), len(modules), contains)
	}
	if !strings.HasPrefix(read.SerialNumber, "urn:uuid:") || len(read.Components) != len(modules) || len(modules) < 20 {
		t.Fatalf("serial number %q, %d components, %d modules", read.SerialNumber, len(read.Components), len(modules))
	}
	for i, m := range modules {
		c := read.Components[i]
		if c.Name != m.path || c.Version != m.version || c.Purl != "pkg:golang/"+m.path+"@"+m.version || len(c.Licenses) == 0 {
			t.Errorf("%s is in the bill as %+v", m.path, c)
		}
		for _, l := range c.Licenses {
			if l.License.ID == "" && !knownText(m) {
				t.Errorf("nobody knows the licence of %s: %s", m.path, l.License.Name)
			}
		}
		if !bytes.Contains(notices, []byte("\n"+m.name()+"\n")) {
			t.Errorf("%s is not in the notices", m.path)
		}
		for _, text := range m.texts {
			if !bytes.Contains(notices, []byte(text)) {
				t.Errorf("a text of %s is not in the notices", m.path)
			}
		}
	}
	again, err := p.bill(t.Context(), self)
	if err != nil || !bytes.Equal(bill, again) {
		t.Errorf("the bill differs the second time: %v", err)
	}
}

// knownText reports whether a module brings texts that are no licence of its own kind: a list of authors, a notice of
// a picture or a colour profile.
func knownText(m module) bool { return len(m.texts) > 1 }
