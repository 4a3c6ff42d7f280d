//go:build shipping

package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// inWineToo are the packages whose tests also run on Windows; the tests of the Windows keyring skip themselves.
var inWineToo = []string{
	"internal/archive", "internal/store", "internal/secret", "internal/private", "internal/locations", "internal/single", "internal/esign", "internal/inbox",
	"internal/notify", "internal/tunnel", "internal/sandbox", "internal/demo", "internal/preview",
	"internal/agent", "internal/cli", "internal/policy", "ui/autostart", "ui/system", "ui/drop", "internal/agent/dropped",
}

func TestPackagesKeepTheirPromisesOnWindows(t *testing.T) {
	w, _ := newWine(t, "")
	root := shipped(t).p.root
	toWindows := command{dir: root, env: []string{"GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0"}}
	for _, name := range inWineToo {
		t.Run(filepath.Base(name), func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "test.exe")
			toWindows.must(t, "go", "test", "-c", "-o", program, "./"+name)
			there := command{dir: filepath.Join(root, name), env: w.env} // for its testdata
			out, code := there.run(t, "wine", program, "-test.v", "-test.timeout=3m")
			if code != 0 || !strings.Contains(out, "\nPASS") {
				t.Errorf("it ended with %d\n%s", code, out)
			}
			for line := range strings.Lines(out) {
				if strings.Contains(line, "--- SKIP") {
					t.Log(strings.TrimSpace(line))
				}
			}
		})
	}
}

// No Mac is available: code without C is compiled and vetted for it, and for Windows, which is faster than Wine. Fyne needs
// C for its driver, and on macOS even for its widgets.
func TestOtherSystemsCompile(t *testing.T) {
	root := shipped(t).p.root
	for system, needsC := range map[string][]string{
		"GOOS=darwin":  {"fyne.io/fyne/v2/internal/widget", "fyne.io/fyne/v2/app", "fyne.io/fyne/v2/test", "github.com/go-gl/glfw/v3.4/glfw"},
		"GOOS=windows": {"fyne.io/fyne/v2/app", "github.com/go-gl/glfw/v3.4/glfw"},
	} {
		c := command{dir: root, env: []string{system, "GOARCH=amd64", "CGO_ENABLED=0"}}
		packages := []string{"go", "vet"}
		// Ignore its messages about downloading modules.
		list := must(output(t.Context(), root, c.env, "go", "list", "-e", "-f", `{{.ImportPath}} {{join .Deps " "}} {{join .TestImports " "}}`, "./..."))
		for line := range strings.Lines(list) {
			words := strings.Fields(line)
			if !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(needsC, w) }) {
				packages = append(packages, words[0])
			}
		}
		if len(packages) < 20 {
			t.Fatalf("%s: only %q need no C", system, packages)
		}
		c.must(t, packages...)
	}
}
