package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// module is a module whose code is in a program, and what it demands to be passed on with it.
type module struct {
	path, version string
	texts         []string // its licence texts, each once
	parts         []part   // software of others that is no module; see bundled
}

// modules are those in any of the programs, sorted, as the linker wrote them down there; the standard library, which
// goes by the path "std", is the first. A module without a licence text is an error: nobody may pass on its code.
func (p product) modules(ctx context.Context, programs ...string) ([]module, error) {
	versions := map[string]string{}
	goVersion := ""
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("find the modules of %s: %w", filepath.Base(program), err)
		}
		goVersion = info.GoVersion
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			versions[m.Path] = m.Version
		}
	}
	folders, err := p.folders(ctx)
	if err != nil {
		return nil, err
	}
	root, err := output(ctx, p.root, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("find Go's licence: %w", err)
	}
	list := []module{{path: "std", version: strings.TrimPrefix(goVersion, "go"), texts: []string{tidy(text)}}}
	for _, path := range slices.Sorted(maps.Keys(versions)) {
		texts, err := licenceTexts(folders[path+"@"+versions[path]])
		if err != nil {
			return nil, fmt.Errorf("find the licence of %s: %w", path, err)
		}
		var parts []part
		if b, brings := bundled[path]; brings {
			text, err := os.ReadFile(p.packaging("licences", b.licences))
			if err != nil {
				return nil, fmt.Errorf("find the licences of what is in %s: %w", path, err)
			}
			texts = append(texts, tidy(text))
			if parts, err = b.found(folders[path+"@"+versions[path]]); err != nil {
				return nil, fmt.Errorf("find what is in %s: %w", path, err)
			}
		}
		list = append(list, module{path, versions[path], texts, parts})
	}
	return list, nil
}

// folders are where the modules lie that were downloaded for the build, by path@version.
func (p product) folders(ctx context.Context) (map[string]string, error) {
	out, err := output(ctx, p.root, "go", "list", "-m", "-json=Path,Version,Dir", "all")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var m struct{ Path, Version, Dir string }
		if err := d.Decode(&m); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, err
		}
		folders[m.Path+"@"+m.Version] = m.Dir
	}
}

// licenceName matches the names of files that must be passed on with a program; code with such a name is not meant.
var licenceName = regexp.MustCompile(`(?i)^(un)?(licen[cs]es?|copying|notice|ofl)([-_.][a-z0-9.+-]*)?$`)

var isCode = regexp.MustCompile(`(?i)\.(go|c|h|js|json|ya?ml|html|tmpl|py|sh)$`)

// mustGoAlong reports whether a file is called so, or lies in a folder that is (https://reuse.software).
func mustGoAlong(path string) bool {
	name := filepath.Base(path)
	reuse := strings.EqualFold(filepath.Base(filepath.Dir(path)), "licenses")
	return (reuse || licenceName.MatchString(name)) && !isCode.MatchString(name)
}

// licenceTexts are those in a module's folder and below: code of others that it brings along has its own. What is for the
// module's tests is in no program.
func licenceTexts(dir string) ([]string, error) {
	if dir == "" {
		return nil, errors.New("the module is not in the module cache")
	}
	found := map[[sha256.Size]byte]bool{}
	var texts []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !d.Type().IsRegular(), !mustGoAlong(path):
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := tidy(content)
		if sum := sha256.Sum256([]byte(text)); text != "" && !found[sum] {
			found[sum] = true
			texts = append(texts, text)
		}
		return nil
	})
	if err == nil && len(texts) == 0 {
		err = errors.New("it has no file with one")
	}
	return texts, err
}

// tidy makes texts that differ only in their line ends and the space around them the same.
func tidy(text []byte) string {
	return string(bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
}

// licences are the licences by what their texts say; those told apart here are the ones that occur. Another one is named
// after its module.
func (m module) licences() []string {
	var names []string
	for _, text := range m.texts {
		flat := strings.Join(strings.Fields(text), " ")
		name := "LicenseRef-" + strings.NewReplacer("/", "-", "_", "-", "~", "").Replace(m.path)
		for _, known := range marks {
			if strings.Contains(flat, known.says) {
				name = known.id
				break
			}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

type mark struct{ says, id string }

// marks are sentences that occur in one licence alone, in the order to look, with its SPDX identifier.
var marks = []mark{
	{"Apache License Version 2.0", "Apache-2.0"},
	{"Mozilla Public License Version 2.0", "MPL-2.0"},
	{"Mozilla Public License, version 2.0", "MPL-2.0"},
	{"SIL OPEN FONT LICENSE Version 1.1", "OFL-1.1"},
	{"This is free and unencumbered software released into the public domain", "Unlicense"},
	{"The origin of this software must not be misrepresented", "Zlib"},
	{"Permission to use, copy, modify, and/or distribute this software for any purpose", "ISC"},
	{"Permission to use, copy, modify, and distribute this software for any purpose", "ISC"},
	{"Permission is hereby granted, free of charge, to any person obtaining a copy", "MIT"},
	{"Neither the name of", "BSD-3-Clause"},
	{"may not be used to endorse or promote products", "BSD-3-Clause"},
	{"Redistributions in binary form must reproduce", "BSD-2-Clause"},
	{"CC0 1.0 Universal", "CC0-1.0"},
}

// mingwTexts is where Debian's mingw-w64 says what applies to the pieces of it that are in every Windows program.
const mingwTexts = "/usr/share/doc/mingw-w64-x86-64-dev/copyright"

// notices are the licence texts of everything in the programs, each text once, with the names of all it applies to.
func (p product) notices(ctx context.Context, programs ...string) ([]byte, error) {
	modules, err := p.modules(ctx, programs...)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(programs, func(name string) bool { return strings.HasSuffix(name, ".exe") }) {
		text, err := os.ReadFile(mingwTexts)
		if err != nil {
			return nil, fmt.Errorf("find the licence of mingw-w64: %w", err)
		}
		modules = append(modules, module{path: "mingw-w64 (Windows)", texts: []string{tidy(text)}})
	}
	var order []string
	users := map[string][]string{}
	for _, m := range modules {
		for _, text := range m.texts {
			if users[text] == nil {
				order = append(order, text)
			}
			users[text] = append(users[text], m.name())
		}
	}
	var b bytes.Buffer
	b.WriteString("Countersign contains software of others, with thanks. Each text below applies to what is named above it.\n")
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n\n%s\n\n%s\n", strings.Repeat("=", 78), strings.Join(users[text], "\n"), text)
	}
	return b.Bytes(), nil
}

// name is the module for people.
func (m module) name() string {
	if m.path == "std" {
		return "Go " + m.version
	}
	return strings.TrimSpace(m.path + " " + m.version)
}

// bill is the bill of materials of the programs (CycloneDX 1.6, JSON): Go and every module in them, and what modules bring along,
// with licences. Its serial number follows from what it says.
func (p product) bill(ctx context.Context, programs ...string) ([]byte, error) {
	modules, err := p.modules(ctx, programs...)
	if err != nil {
		return nil, err
	}
	self := cdx.Component{
		BOMRef: "countersign", Type: cdx.ComponentTypeApplication, Name: "countersign", Version: p.version,
		Properties: &[]cdx.Property{{Name: "commit", Value: p.commit}},
	}
	components := []cdx.Component{}
	needs := []string{}
	inside := []cdx.Dependency{}
	for _, m := range modules {
		url := fmt.Sprintf("pkg:golang/%s@%s", m.path, m.version)
		choices := cdx.Licenses{}
		for _, l := range m.licences() {
			choices = append(choices, choice(l))
		}
		components = append(components, cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: m.path, Version: m.version, PackageURL: url,
			Scope: cdx.ScopeRequired, Licenses: &choices,
		})
		needs = append(needs, url)
		parts, of := m.partsIn(url)
		components, inside = append(components, parts...), append(inside, of...)
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: p.made.Format(time.RFC3339), Component: &self}
	bom.Components = &components
	inside = append([]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &needs}}, inside...)
	bom.Dependencies = &inside
	plain, err := encode(bom)
	if err != nil {
		return nil, err
	}
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, plain).URN()
	return encode(bom)
}

// choice is a licence by its SPDX identifier, or by name when it is none of the known ones.
func choice(name string) cdx.LicenseChoice {
	if slices.ContainsFunc(marks, func(known mark) bool { return known.id == name }) {
		return cdx.LicenseChoice{License: &cdx.License{ID: name}}
	}
	return cdx.LicenseChoice{License: &cdx.License{Name: name}}
}

func encode(bom *cdx.BOM) ([]byte, error) {
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return b.Bytes(), err
}

// part is software that a module brings along compiled, without being a module itself.
type part struct {
	name, version string // the version is empty where the module does not tell it
	licence       string // an SPDX expression (https://spdx.org/licenses)
	home          string
	sum           string // SHA-256 of the file, of the first part alone
}

// bundle is what a module brings along: the first part contains the others.
type bundle struct {
	licences string // the file in assets/packaging/licences with the texts, which the module does not have
	file     string // in the module
	version  string // the file in the module that says the version of the first part, as "Version: 1"
	parts    []part
}

// bundled are the modules that bring along the work of others. What is in PDFium is what its build links without JavaScript and
// XFA (BUILD.gn and third_party there), and the C and C++ libraries of Emscripten, which compiled it to WebAssembly.
var bundled = map[string]bundle{"github.com/klippa-app/go-pdfium": {
	licences: "pdfium.txt", file: "webassembly/pdfium.wasm", version: ".github/workflows/pdfium.pc",
	parts: []part{
		{name: "PDFium", licence: "BSD-3-Clause AND Apache-2.0", home: "https://pdfium.googlesource.com/pdfium/"},
		{name: "Abseil", licence: "Apache-2.0", home: "https://abseil.io"},
		{name: "Anti-Grain Geometry", version: "2.3", licence: "LicenseRef-AGG-2.3", home: "https://agg.sourceforge.net"},
		{name: "fast_float", licence: "MIT", home: "https://github.com/fastfloat/fast_float"},
		{name: "FreeType", licence: "FTL", home: "https://freetype.org"},
		{name: "ICU", licence: "Unicode-3.0", home: "https://icu.unicode.org"},
		{name: "libjpeg-turbo", licence: "IJG AND BSD-3-Clause AND Zlib", home: "https://libjpeg-turbo.org"},
		{name: "Little CMS", licence: "MIT", home: "https://www.littlecms.com"},
		{name: "OpenJPEG", licence: "BSD-2-Clause", home: "https://www.openjpeg.org"},
		{name: "zlib", licence: "Zlib", home: "https://zlib.net"},
		{name: "musl", licence: "MIT", home: "https://musl.libc.org"},
		{name: "LLVM libc++", licence: "Apache-2.0 WITH LLVM-exception", home: "https://libcxx.llvm.org"},
	},
}}

var saidVersion = regexp.MustCompile(`(?m)^Version: (\S+)$`)

// found are the parts with what the module in dir tells of them.
func (b bundle) found(dir string) ([]part, error) {
	content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(b.file)))
	if err != nil {
		return nil, err
	}
	says, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(b.version)))
	if err != nil {
		return nil, err
	}
	version := saidVersion.FindSubmatch(says)
	if version == nil {
		return nil, errors.New(b.version + " does not say which version it is")
	}
	parts := append([]part(nil), b.parts...)
	parts[0].version, parts[0].sum = string(version[1]), fmt.Sprintf("%x", sha256.Sum256(content))
	return parts, nil
}

// partsIn are the parts of a module as the bill of materials lists them, and what contains what.
func (m module) partsIn(ref string) (components []cdx.Component, inside []cdx.Dependency) {
	if len(m.parts) == 0 {
		return nil, nil
	}
	var refs []string
	for _, p := range m.parts {
		url := "pkg:generic/" + strings.ToLower(strings.NewReplacer(" ", "-", "+", "%2B").Replace(p.name))
		if p.version != "" {
			url += "@" + p.version
		}
		c := cdx.Component{
			BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: p.name, Version: p.version, PackageURL: url, Scope: cdx.ScopeRequired,
			Licenses:           &cdx.Licenses{{Expression: p.licence}},
			ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeWebsite, URL: p.home}},
		}
		if p.sum != "" {
			c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: p.sum}}
		}
		components, refs = append(components, c), append(refs, url)
	}
	first, others := []string{refs[0]}, refs[1:]
	return components, []cdx.Dependency{{Ref: ref, Dependencies: &first}, {Ref: refs[0], Dependencies: &others}}
}
