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
