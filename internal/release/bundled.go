package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

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
