package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// commandsForPeople are those that people are told of.
func commandsForPeople() (list []*kong.Node) {
	for _, c := range Grammar().Children {
		if c.Type == kong.CommandNode && !c.Hidden {
			list = append(list, c)
		}
	}
	return list
}

// The manual, --help and the manual page say the same of each command. The manual page is made from the grammar (package
// release, which tests it); the others are compared here.
func TestTheManualAndHelpTellOfTheSameCommands(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "assets", "docs", "admin.md"))
	must(t, err)
	_, table, found := strings.Cut(string(readme), "| command | what it does |\n|---|---|\n")
	if !found {
		t.Fatal("admin.md has no table of commands")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	var want []string
	s := newShell(t)
	var help bytes.Buffer
	if code := Main([]string{"--help"}, Program{Stdin: strings.NewReader(""), Stdout: &help, Stderr: &help}); code != exitDone {
		t.Fatal(code)
	}
	for _, c := range commandsForPeople() {
		want = append(want, fmt.Sprintf("| `%s` | %s |", c.Name, c.Help))
		if !strings.Contains(strings.Join(strings.Fields(help.String()), " "), c.Name+" "+c.Help) {
			t.Errorf("countersign --help does not tell of %s", c.Name)
		}
		code, own, _ := s.run(c.Name, "--help")
		if code != exitDone || !strings.Contains(strings.Join(strings.Fields(own), " "), c.Help) {
			t.Errorf("countersign %s --help ends with %d:\n%s", c.Name, code, own)
		}
	}
	if got := strings.Split(table, "\n"); !slices.Equal(got, want) {
		t.Errorf("admin.md has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Whoever knows one command knows the others.
func TestCommandsReadAlike(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "assets", "docs", "admin.md"))
	must(t, err)
	for _, c := range Grammar().Leaves(true) {
		called := strings.TrimPrefix(c.FullPath(), Grammar().Name+" ")
		family, _, _ := strings.Cut(called, " ") // which prints the same whatever it does
		for _, f := range c.Flags {
			if f.Name == "json" {
				if !strings.HasPrefix(f.Help, "Print JSON, as countersign help admin documents it") {
					t.Errorf("%s --json is explained as %q", called, f.Help)
				}
				if !strings.Contains(string(readme), "\n`countersign "+family+" --json") {
					t.Errorf("admin.md does not document %s --json", family)
				}
			}
			if !strings.HasSuffix(f.Help, ".") {
				t.Errorf("%s --%s: %q does not end as a sentence does", called, f.Name, f.Help)
			}
		}
	}
}
