package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/message"

	"github.com/alecthomas/kong"
)

func TestWhatIsNeitherACommandNorAFileOpensNothing(t *testing.T) {
	document := filepath.Join(t.TempDir(), "Lease.pdf")
	noErr(t, os.WriteFile(document, []byte("%PDF-1.7"), 0o600))
	for args, says := range map[string]string{
		"widthdraw 6761b":                 `did you mean "withdraw"?`,
		"folders ad Scans":                `did you mean "add"?`,
		"folders /tmp/Scans":              `unexpected argument /tmp/Scans.`,
		"status --bogus":                  `unknown flag --bogus.`,
		"stauts":                          `did you mean "status"?`,
		"nonsense":                        `there is no file or command "nonsense".`,
		"Offer.pdf":                       `there is no file or command "Offer.pdf".`,
		"no/Offer.pdf":                    `there is no file "no/Offer.pdf".`,
		document + " Offer.pdf":           `there is no file "Offer.pdf".`,
		"open Offer.pdf":                  `there is no file or command "Offer.pdf".`,
		"--hidden Offer.pdf":              `there is no file or command "Offer.pdf".`,
		document + "\x1b[2J\u202eexe.pdf": `there is no file`,
	} {
		var out, err bytes.Buffer
		code := Main(append(strings.Fields(args), "--data", t.TempDir()), Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err,
			Window:  func(context.Context, Window) error { t.Errorf("%s opens the window", args); return nil },
			Display: func(context.Context) error { return nil },
			Alert:   func(m message.Message) bool { t.Errorf("%s raises a box: %s", args, m); return true }})
		if code != exitUsage || out.Len() > 0 || !strings.Contains(err.String(), says) || strings.Count(err.String(), "\n") != 1 || strings.ContainsAny(err.String(), "\x1b\u202e") {
			t.Errorf("%s: %d, %q", args, code, &err)
		}
	}
}

func TestDocumentsOpenTheWindow(t *testing.T) {
	folder := t.TempDir()
	document := filepath.Join(folder, "send") // also the name of a command
	noErr(t, os.WriteFile(document, []byte("%PDF-1.7"), 0o600))
	t.Chdir(folder)
	var got []string
	p := Program{Version: "1", Stdin: strings.NewReader(""), Stdout: new(bytes.Buffer), Stderr: new(bytes.Buffer),
		Window:  func(_ context.Context, w Window) error { got = w.Files; return nil },
		Display: func(context.Context) error { return nil }}
	for _, args := range [][]string{{"./send", folder}, {"open", "send", folder}} {
		if code := Main(append(args, "--data", t.TempDir(), "--key-file", filepath.Join(t.TempDir(), "key")), p); code != exitDone || !slices.Equal(got, []string{document, folder}) {
			t.Errorf("%v: %d %v", args, code, got)
		}
	}
}

// A message box about wrong usage is for people who clicked on something: whoever sees printed output, or started the
// program with a command, knows already.
func TestOnlyWhoCannotHearOtherwiseIsToldOfWrongUsageInABox(t *testing.T) {
	read, pipe, err := os.Pipe()
	noErr(t, err)
	defer read.Close()
	defer pipe.Close()
	for _, c := range []struct {
		args   []string
		stderr *os.File
		want   int
	}{
		{[]string{"gone.pdf"}, unread(t), 1},
		{[]string{"--tomato"}, unread(t), 1},
		{[]string{"gone.pdf"}, pipe, 0},
		{[]string{"send", "--tomato"}, unread(t), 0},
		{[]string{"list", "--state", "sad"}, unread(t), 0},
	} {
		boxes := 0
		code := Main(c.args, Program{Stdin: strings.NewReader(""), Stdout: unread(t), Stderr: c.stderr,
			Alert: func(message.Message) bool { boxes++; return true }})
		if code != exitUsage || boxes != c.want {
			t.Errorf("%v: %d, %d boxes, want %d", c.args, code, boxes, c.want)
		}
	}
}

func TestHelpAndVersionAreThereAsPeopleTypeThem(t *testing.T) {
	s := newShell(t)
	for args, want := range map[string]string{"help": "--help", "help send": "send --help", "help folders add": "folders add --help", "--version": "version"} {
		code, got, stderr := s.run(strings.Fields(args)...)
		_, same, _ := s.run(strings.Fields(want)...)
		if code != exitDone || got != same || got == "" || stderr != "" {
			t.Errorf("%s: %d %q %q, want %q", args, code, got, stderr, same)
		}
	}
	if code, stdout, stderr := s.run("help", "sned"); code != exitUsage || stdout != "" || !strings.Contains(stderr, `"send"`) {
		t.Errorf("help sned: %d %q %q", code, stdout, stderr)
	}
}

// commandsForPeople are the commands that the help shows.
func commandsForPeople() (list []*kong.Node) {
	for _, c := range Grammar().Children {
		if c.Type == kong.CommandNode && !c.Hidden {
			list = append(list, c)
		}
	}
	return list
}

// The manual, --help and the manual page describe the same commands. The manual page is generated from the grammar (package
// release tests that); the others are compared here.
func TestTheManualAndHelpTellOfTheSameCommands(t *testing.T) {
	readme := must(os.ReadFile(filepath.Join("..", "..", "assets", "docs", "admin.md")))
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

// Commands behave alike, so that knowing one means knowing them all.
func TestCommandsReadAlike(t *testing.T) {
	readme := must(os.ReadFile(filepath.Join("..", "..", "assets", "docs", "admin.md")))
	for _, c := range Grammar().Leaves(true) {
		called := strings.TrimPrefix(c.FullPath(), Grammar().Name+" ")
		family, _, _ := strings.Cut(called, " ") // all of a family print the same
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
