package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
)

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
