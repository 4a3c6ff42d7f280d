package main

import (
	"bytes"
	"encoding/xml"
	"go/ast"
	"image/png"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"countersign/internal/office"
)

func TestTheManualTellsOfTheFieldsThatArePrinted(t *testing.T) {
	want, err := manual("..")
	if err != nil {
		t.Fatal(err)
	}
	if have, err := os.ReadFile("../docs/admin.md"); err != nil || !bytes.Equal(have, want) {
		t.Errorf("assets/docs/admin.md is not what the types say: run go generate ./assets (%v)", err)
	}
}

// A field that is left out at times is one that programs have to ask for.
func TestAFieldThatMayBeMissingIsAnError(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(root+"/x.go", []byte("package x\n\ntype T struct {\n\tA int `json:\"a,omitempty\"`\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := sources{root, map[string]map[string]declared{}}
	if list, err := s.fields(".", ast.NewIdent("T")); err == nil {
		t.Errorf("it is printed as %v", list)
	}
}

// TestMacOSReadsTheIcon reads the .icns file entry by entry.
func TestMacOSReadsTheIcon(t *testing.T) {
	icon, err := os.ReadFile("../packaging/macos/countersign.icns")
	if err != nil {
		t.Fatal(err)
	}
	length := func(b []byte) int { return int(b[4])<<24 | int(b[5])<<16 | int(b[6])<<8 | int(b[7]) }
	if string(icon[:4]) != "icns" || length(icon) != len(icon) {
		t.Fatalf("it begins with %q", icon[:8])
	}
	rest := icon[8:]
	for _, k := range icnsKinds {
		if len(rest) < 8 || string(rest[:4]) != k.kind || length(rest) > len(rest) {
			t.Fatalf("where %s should be is %q", k.kind, rest[:min(8, len(rest))])
		}
		picture, err := png.DecodeConfig(bytes.NewReader(rest[8:length(rest)]))
		if err != nil || picture.Width != k.size || picture.Height != k.size {
			t.Errorf("%s: %v, %v", k.kind, picture, err)
		}
		rest = rest[length(rest):]
	}
	if len(rest) != 0 {
		t.Errorf("%d bytes are left over", len(rest))
	}
}

func TestTheFunctionsOfMessagesAreThoseOfTheirWords(t *testing.T) {
	english, err := os.ReadFile("../messages/en.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := messageFunctions(english)
	if err != nil {
		t.Fatal(err)
	}
	if have, err := os.ReadFile("../../internal/message/catalogue.go"); err != nil || !bytes.Equal(have, want) {
		t.Errorf("internal/message/catalogue.go is not what assets/messages/en.json says: run go generate ./assets (%v)", err)
	}
}

func TestAnArgumentWithoutAKindIsAnError(t *testing.T) {
	if _, err := messageFunctions([]byte(`{"a.b": "{{.Unheard}}"}`)); err == nil {
		t.Error("it is of some kind")
	}
}

// What the templates let an administrator choose is what the program takes, and nothing else.
func TestWhatCanBeChosenIsTaken(t *testing.T) {
	list, err := policies(0)
	if err != nil {
		t.Fatal(err)
	}
	taken := func(name string, value any) bool {
		return office.NewRules(map[string]any{name: value}, nil).Wrong == nil
	}
	for _, p := range list {
		for _, c := range p.choice {
			if !taken(p.name, c.value) {
				t.Errorf("%s does not take %v", p.name, c.value)
			}
		}
		switch p.Kind() {
		case "choice":
			if taken(p.name, "anything") || taken(p.name, 7.0) {
				t.Errorf("%s takes what cannot be chosen", p.name)
			}
		case "number":
			if !taken(p.name, float64(p.least)) || !taken(p.name, float64(p.most)) || taken(p.name, float64(p.most+1)) {
				t.Errorf("%s is not from %d to %d", p.name, p.least, p.most)
			}
		case "switch":
			if !taken(p.name, 1.0) || !taken(p.name, 0.0) {
				t.Errorf("%s is no switch", p.name)
			}
		}
	}
}

// Against Microsoft's own schema they were validated by hand (libxml2, PolicyDefinitionFiles.xsd), since its licence keeps it from here. What it
// cannot see is that each name that is referred to is there, in each language, and that nothing else is.
func TestTheTemplatesReferToWhatIsThere(t *testing.T) {
	files, err := policyTemplates()
	if err != nil {
		t.Fatal(err)
	}
	const folder = "packaging/windows/policy/"
	refers := regexp.MustCompile(`\$\((string|presentation)\.([a-z_0-9]+)\)`)
	wanted := map[string]bool{}
	for _, m := range refers.FindAllStringSubmatch(string(files[folder+"Countersign.admx"]), -1) {
		wanted[m[1]+" "+m[2]] = true
	}
	for name, text := range files {
		if kept, err := os.ReadFile("../" + name); err != nil || string(kept) != string(text) {
			t.Errorf("%s is not what go generate ./assets makes: %v", name, err)
		}
		there := map[string]bool{}
		for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(name, err)
			}
			if e, ok := token.(xml.StartElement); ok && (e.Name.Local == "string" || e.Name.Local == "presentation") && len(e.Attr) == 1 {
				there[e.Name.Local+" "+e.Attr[0].Value] = true
			}
		}
		if strings.HasSuffix(name, ".admx") {
			continue
		}
		for x := range wanted {
			if !there[x] {
				t.Errorf("%s has no %s", name, x)
			}
		}
		for x := range there {
			if !wanted[x] {
				t.Errorf("%s has a %s that nothing refers to", name, x)
			}
		}
	}
}
