package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"countersign/internal/office"

	"github.com/alecthomas/kong"
)

// complete is what may be typed next, without what each word is.
func (s shell) complete(words ...string) string {
	s.t.Helper()
	var out bytes.Buffer
	must(s.t, (&completeCmd{Words: words}).Run(s.here(s.t.Context(), &out, io.Discard)))
	var offered []string
	for line := range strings.Lines(out.String()) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		offered = append(offered, word)
	}
	return strings.Join(offered, " ")
}

func TestWordsAreCompletedWhereTheyMayStand(t *testing.T) {
	s := newShell(t)
	for _, c := range []struct{ typed, want string }{
		{"lo|", "login logout"},
		{"help wi|", "withdraw"},
		{"--data /x vers|", "version"},
		{"Lease|", ":files"},         // for the window
		{"Lease.pdf off|", ":files"}, // and more of them
		{"list --st|", "--state"},
		{"list --state |", "waiting done declined expired withdrawn problem"},
		{"list --state d|", "done declined"},
		{"list --state=w|", "--state=waiting --state=withdrawn"},
		{"list --sort|", "--sort"},
		{"list x|", ""},
		{"status --js|", "--json"},
		{"setup --no-c|", "--no-cac"},
		{"setup --save-to |", ":folders"},
		{"setup --save-to=/ho|", ":folders"},
		{"setup --import |", ":files"},
		{"setup --cac --tunnel |", "ngrok external none loopback"},
		{"events -f --pack|", "--package"},
		{"send |", ":files"},
		{"send a.pdf b|", ":files"},
		{"send a.pdf -- --|", ":files"},
		{"send --name --seq|", ""}, // which is the name
		{"send --name x --seq|", "--sequential"},
		{"--key-file |", ":files"},
		{"--data |", ":folders"},
		{"completion |", "bash zsh fish powershell"},
		{"completion bash |", ""},
		{"folders |", "list add pause resume remove"},
		{"folders --js|", "--json"}, // of its default command
		{"folders a|", "add"},
		{"folders list |", ""},
		{"folders add |", ":folders"},
		{"folders add ~/Scans --d|", "--data --debug --due-days"},
		{"folders remove |", ":folders"},
		{"show |", ""}, // no Countersign runs
	} {
		if got := s.complete(strings.Split(strings.TrimSuffix(c.typed, "|"), " ")...); got != c.want {
			t.Errorf("%s offers %q, want %q", c.typed, got, c.want)
		}
	}
	all := s.complete("")
	for _, name := range []string{"list", "show", "events", "send", "completion"} {
		if !slices.Contains(strings.Fields(all), name) {
			t.Errorf("%s is not offered in %q", name, all)
		}
	}
	if strings.Contains(all, "complete ") || strings.Contains(all, "press") {
		t.Errorf("what is not for people is offered: %q", all)
	}
}

func TestPackagesAndPeopleAreCompletedWhileCountersignRuns(t *testing.T) {
	s := newShell(t)
	s.keep(append(offices(), office.Package{ID: "44444444-eeee", Name: "X" + hostile, State: "open", Created: march(9)}))
	l, err := s.here(t.Context(), io.Discard, io.Discard).start()
	must(t, err)
	defer func() { must(t, l.Close()) }()
	for _, c := range []struct{ typed, want string }{
		{"show |1", "11111111-bbbb 11111111-aaaa"},
		{"show |le", "Lease"}, // whatever the case
		{"show |Of", ""},      // which means two
		{"show |44444444", "44444444-eeee"},
		{"events --package=|2", "--package=22222222-cccc"},
		{"show Lease |", ""},
	} {
		before, word, _ := strings.Cut(c.typed, "|")
		words := strings.Split(before, " ")
		words[len(words)-1] += word
		if got := s.complete(words...); got != c.want {
			t.Errorf("%s offers %q, want %q", c.typed, got, c.want)
		}
	}
	other := newShell(t)
	if got := other.complete("--data", s.data, "show", "33"); got != "33333333-dddd" {
		t.Errorf("with --data typed, %q is offered", got)
	}
}

// A tag that nothing answers would complete nothing, silently.
func TestEveryKindOfWordIsKnown(t *testing.T) {
	var visit func(n *kong.Node)
	kinds := map[string]bool{}
	visit = func(n *kong.Node) {
		for _, v := range n.Positional {
			kinds[v.Tag.Get("complete")] = true
		}
		for _, f := range n.Flags {
			kinds[f.Tag.Get("complete")] = true
			if takesFile := strings.Contains(f.Tag.Type, "path"); takesFile && f.Tag.PlaceHolder != "FILE" && f.Tag.PlaceHolder != "DIR" {
				t.Errorf("--%s of %s takes a path, and its placeholder %q does not say of what", f.Name, n.Name, f.Tag.PlaceHolder)
			}
		}
		for _, c := range n.Children {
			visit(c)
		}
	}
	visit(Grammar().Node)
	for kind := range kinds {
		if !slices.Contains([]string{"", ofPackage, ofWaiting, ofPerson, ofTemplate, ofCommand}, kind) {
			t.Errorf("nothing completes %q", kind)
		}
	}
}

// countersign is a folder in which the program is called so, for shells.
func countersign(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	self, err := os.Executable()
	must(t, err)
	must(t, os.Symlink(self, filepath.Join(folder, "countersign")))
	return folder
}

// Each shell is asked what it would offer, by its own means.
func TestTheShellsOfferWhatTheProgramSays(t *testing.T) {
	folder := countersign(t)
	must(t, os.Mkdir(filepath.Join(folder, "Old leases"), 0o700))
	must(t, os.WriteFile(filepath.Join(folder, "Lease 1.pdf"), nil, 0o600))
	s := newShell(t)
	s.keep([]office.Package{{ID: "1", Name: "Lease of Jan's \"house\"", State: "open", Created: march(1)}})
	l, err := s.here(t.Context(), io.Discard, io.Discard).start()
	must(t, err)
	defer func() { must(t, l.Close()) }()
	ask := map[string]func(script string, words ...string) *exec.Cmd{
		"bash": func(script string, words ...string) *exec.Cmd {
			do := fmt.Sprintf("source '%s'; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _countersign; printf '%%s\\n' \"${COMPREPLY[@]}\"", script)
			return exec.Command("bash", append([]string{"-c", do, "bash"}, words...)...)
		},
		"zsh": func(script string, words ...string) *exec.Cmd {
			do := fmt.Sprintf("compdef() {}; compadd() { print -rl -- \"${values[@]}\" }; compset() { PREFIX=${PREFIX#*=} }; _files() { print -rl -- ${PREFIX}*(N) }; words=(\"$@\"); CURRENT=$#; PREFIX=$words[-1]; source '%s'; _countersign", script)
			return exec.Command("zsh", append([]string{"-f", "-c", do, "zsh"}, words...)...)
		},
		"fish": func(script string, words ...string) *exec.Cmd {
			return exec.Command("fish", "--no-config", "-c", fmt.Sprintf("source '%s'; complete -C '%s' | string replace -r '\\t.*' ''", script, strings.Join(words, " ")))
		},
	}
	for name, command := range ask {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(name); err != nil {
				t.Skip("there is no " + name)
			}
			script := filepath.Join(t.TempDir(), "countersign."+name)
			text, err := Completion(name)
			must(t, err)
			must(t, os.WriteFile(script, text, 0o600))
			for typed, want := range map[string][]string{
				"countersign lo":                  {"login", "logout"},
				"countersign list --state d":      {"done", "declined"},
				"countersign list --rev":          {"--reverse"},
				"countersign show Lea":            {`Lease of Jan's "house"`},
				"countersign send Lea":            {"Lease 1.pdf"},
				"countersign setup --save-to Old": {"Old leases"},
			} {
				cmd := command(script, strings.Fields(typed)...)
				cmd.Dir = folder
				cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "COUNTERSIGN_DATA="+s.data)
				var failed bytes.Buffer
				cmd.Stderr = &failed
				out, err := cmd.Output()
				if err != nil && failed.Len() > 0 {
					t.Errorf("%s: %v %s", typed, err, &failed)
				}
				var got []string
				for line := range strings.Lines(strings.ReplaceAll(string(out), `\`, "")) {
					if line = strings.TrimRight(line, "/\n"); line != "" {
						got = append(got, line)
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("%s offers %q, want %q (%s)", typed, got, want, &failed)
				}
			}
		})
	}
}

func TestEveryShellHasItsScript(t *testing.T) {
	s := newShell(t)
	for _, name := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, stderr := s.run("completion", name)
		if code != exitDone || !strings.Contains(stdout, "complete") || stderr != "" {
			t.Errorf("%s: %d %q", name, code, stderr)
		}
	}
	if code, _, stderr := s.run("completion", "csh"); code != exitUsage || strings.Count(stderr, "\n") != 1 {
		t.Errorf("csh: %d %q", code, stderr)
	}
}
