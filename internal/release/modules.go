package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/licensecheck"
	"github.com/google/uuid"
)

// component is third-party software in a program: its entry in the bill of materials, and the texts that must accompany it,
// each once.
type component struct {
	cdx.Component
	texts []string
	parts []cdx.Component // software that a module contains in compiled form; the first part contains the others
}

// components are the third-party software in any of the programs, according to the modules that the linker recorded; the
// first one is the standard library, with the path "std". A module without a licence text is an error: its code must not be
// distributed.
func (p product) components(ctx context.Context, programs ...string) ([]component, error) {
	found := map[string]*debug.Module{}
	goVersion, mingw := "", false
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
			found[m.Path] = m
		}
		mingw = mingw || slices.Contains(info.Settings, debug.BuildSetting{Key: "GOOS", Value: "windows"}) &&
			slices.Contains(info.Settings, debug.BuildSetting{Key: "CGO_ENABLED", Value: "1"})
	}
	folders, err := p.folders(ctx)
	if err != nil {
		return nil, err
	}
	root, err := output(ctx, p.root, nil, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, fmt.Errorf("find Go's licence: %w", err)
	}
	list := []component{golang("std", strings.TrimPrefix(goVersion, "go"), "", []string{tidy(text)})}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		m := found[path]
		dir := folders[path+"@"+m.Version]
		texts, err := licenceTexts(dir)
		if err != nil {
			return nil, fmt.Errorf("find the licence of %s: %w", path, err)
		}
		c := golang(path, m.Version, m.Sum, texts)
		if b, brings := bundled[path]; brings {
			text, err := os.ReadFile(p.packaging("licences", b.licences))
			if err != nil {
				return nil, fmt.Errorf("find the licences of what is in %s: %w", path, err)
			}
			c.texts = append(c.texts, tidy(text))
			if c.parts, err = b.found(dir); err != nil {
				return nil, fmt.Errorf("find what is in %s: %w", path, err)
			}
		}
		list = append(list, c)
	}
	if !mingw {
		return list, nil
	}
	runtime, err := mingwRuntime(ctx)
	return append(list, runtime...), err
}

// golang is a module as a component. The hash is the one in go.sum: SHA-256 of the sorted SHA-256 sums of its files.
func golang(path, version, sum string, texts []string) component {
	url := fmt.Sprintf("pkg:golang/%s@%s", path, version)
	c := cdx.Component{BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: url, Scope: cdx.ScopeRequired}
	if hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(hash) == sha256.Size {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(hash)}}
	}
	c.Licenses = licences(path, texts)
	return component{Component: c, texts: texts}
}

// mingwRuntime is the code that GCC links into every Windows program, from Debian's packages: the C runtime of mingw-w64 and
// GCC's own.
func mingwRuntime(ctx context.Context) ([]component, error) {
	version, err := output(ctx, ".", nil, "dpkg-query", "--show", "--showformat", "${Version}", "mingw-w64-x86-64-dev")
	if err != nil {
		return nil, fmt.Errorf("find the version of mingw-w64: %w", err)
	}
	compiler, err := output(ctx, ".", nil, mingwGCC, "-dumpfullversion")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile("/usr/share/doc/mingw-w64-x86-64-dev/copyright")
	if err != nil {
		return nil, fmt.Errorf("find the licence of mingw-w64: %w", err)
	}
	c := component{texts: []string{tidy(text)}}
	c.Component = generic("mingw-w64", version, "https://www.mingw-w64.org")
	c.Licenses = &cdx.Licenses{{License: &cdx.License{Name: "MinGW-w64 runtime licensing"}}}
	gcc := component{Component: generic("libgcc", compiler, "https://gcc.gnu.org")}
	gcc.Licenses = &cdx.Licenses{{Expression: "GPL-3.0-or-later WITH GCC-exception-3.1"}} // puts no conditions on the programs
	return []component{c, gcc}, nil
}

// generic is a component that is not a module.
func generic(name, version, home string) cdx.Component {
	url := "pkg:generic/" + strings.ToLower(strings.NewReplacer(" ", "-", "+", "%2B").Replace(name))
	if version != "" {
		url += "@" + version
	}
	return cdx.Component{
		BOMRef: url, Type: cdx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: url, Scope: cdx.ScopeRequired,
		ExternalReferences: &[]cdx.ExternalReference{{Type: cdx.ERTypeWebsite, URL: home}},
	}
}

// folders are the locations of the modules downloaded for the build, by path@version.
func (p product) folders(ctx context.Context) (map[string]string, error) {
	list, err := output(ctx, p.root, nil, "go", "list", "-m", "-f", "{{.Path}}@{{.Version}} {{.Dir}}", "all")
	folders := map[string]string{}
	for line := range strings.SplitSeq(list, "\n") {
		module, dir, _ := strings.Cut(line, " ")
		folders[module] = dir
	}
	return folders, err
}

// licenceName matches the names of files that must accompany a program; it must not match code.
var licenceName = regexp.MustCompile(`(?i)^(un)?(licen[cs]es?|copying|notice|ofl)([-_.][a-z0-9.+-]*)?$`)

var isCode = regexp.MustCompile(`(?i)\.(go|c|h|js|json|ya?ml|html|tmpl|py|sh)$`)

// mustGoAlong reports whether a file has such a name, or lies in a folder with one (https://reuse.software).
func mustGoAlong(path string) bool {
	name := filepath.Base(path)
	reuse := strings.EqualFold(filepath.Base(filepath.Dir(path)), "licenses")
	return (reuse || licenceName.MatchString(name)) && !isCode.MatchString(name)
}

// licenceTexts are the licences in a module's folder and below: third-party code in a module has its own. It skips the
// module's test files, which are in no program.
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

// tidy normalizes line ends and surrounding space.
func tidy(text []byte) string {
	return string(bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
}

// licences are the licences that texts contain, by SPDX identifier. A text without one, such as a list of authors, is named
// after its module.
func licences(module string, texts []string) *cdx.Licenses {
	found := map[string]cdx.LicenseChoice{}
	for _, text := range texts {
		matches := licensecheck.Scan([]byte(text)).Match
		for _, m := range matches {
			l := &cdx.License{ID: m.ID}
			if strings.HasPrefix(m.ID, "Google") { // Google's patent clauses have no SPDX identifier
				l = &cdx.License{Name: m.ID}
			}
			found[m.ID] = cdx.LicenseChoice{License: l}
		}
		if len(matches) == 0 {
			name := "LicenseRef-" + strings.NewReplacer("/", "-", "_", "-", "~", "").Replace(module)
			found[name] = cdx.LicenseChoice{License: &cdx.License{Name: name}}
		}
	}
	var list cdx.Licenses
	for _, name := range slices.Sorted(maps.Keys(found)) {
		list = append(list, found[name])
	}
	return &list
}

// notices are the licence texts of everything in the programs, each once, with the names of everything it applies to.
func (p product) notices(ctx context.Context, programs ...string) ([]byte, error) {
	components, err := p.components(ctx, programs...)
	if err != nil {
		return nil, err
	}
	var order []string
	users := map[string][]string{}
	for _, c := range components {
		for _, text := range c.texts {
			if users[text] == nil {
				order = append(order, text)
			}
			users[text] = append(users[text], c.title())
		}
	}
	var b bytes.Buffer
	b.WriteString("Countersign contains software of others, with thanks. Each text below applies to what is named above it.\n")
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n\n%s\n\n%s\n", strings.Repeat("=", 78), strings.Join(users[text], "\n"), text)
	}
	return b.Bytes(), nil
}

func (c component) title() string {
	if c.Name == "std" {
		return "Go " + c.Version
	}
	return c.Name + " " + c.Version
}

// bill is the programs' bill of materials (CycloneDX 1.6, JSON): Go and every module in them, and what modules and GCC
// contribute, with licences. Its serial number is derived from its content.
func (p product) bill(ctx context.Context, programs ...string) ([]byte, error) {
	found, err := p.components(ctx, programs...)
	if err != nil {
		return nil, err
	}
	self := cdx.Component{
		BOMRef: "countersign", Type: cdx.ComponentTypeApplication, Name: "countersign", Version: p.version,
		Properties: &[]cdx.Property{{Name: "commit", Value: p.commit}},
	}
	var components []cdx.Component
	var needs []string
	inside := []cdx.Dependency{{Ref: self.BOMRef, Dependencies: &needs}}
	for _, c := range found {
		components = append(append(components, c.Component), c.parts...)
		needs = append(needs, c.BOMRef)
		if len(c.parts) == 0 {
			continue
		}
		var refs []string
		for _, part := range c.parts {
			refs = append(refs, part.BOMRef)
		}
		first, others := refs[:1], refs[1:]
		inside = append(inside, cdx.Dependency{Ref: c.BOMRef, Dependencies: &first}, cdx.Dependency{Ref: refs[0], Dependencies: &others})
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: p.made.Format(time.RFC3339), Component: &self}
	bom.Components, bom.Dependencies = &components, &inside
	plain, err := encode(bom)
	if err != nil {
		return nil, err
	}
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, plain).URN()
	return encode(bom)
}

func encode(bom *cdx.BOM) ([]byte, error) {
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6)
	return b.Bytes(), err
}

// bundle is third-party software inside a module: the first part contains the others.
type bundle struct {
	licences string // the file in assets/packaging/licences with the texts, which the module lacks
	file     string // in the module
	version  string // the file in the module with the version of the first part, as "Version: 1"
	parts    []part
}

// part is software compiled into a module's file, with its licences as an SPDX expression (https://spdx.org/licenses).
type part struct{ name, version, licence, home string }

// bundled are the modules that contain the work of others. PDFium's parts are those it links when built without JavaScript
// and XFA (BUILD.gn and third_party there), and the C and C++ libraries of Emscripten, which compiled it to WebAssembly.
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

// found are the parts, with their versions read from the module in dir.
func (b bundle) found(dir string) ([]cdx.Component, error) {
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
	var parts []cdx.Component
	for i, p := range b.parts {
		if i == 0 {
			p.version = string(version[1])
		}
		c := generic(p.name, p.version, p.home)
		c.Licenses = &cdx.Licenses{{Expression: p.licence}}
		parts = append(parts, c)
	}
	parts[0].Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(content))}}
	return parts, nil
}
