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
)

// complete returns what may follow, without descriptions.
func (s shell) complete(words ...string) string {
	s.t.Helper()
	var out bytes.Buffer
	noErr(s.t, (&completeCmd{Words: words}).Run(s.here(s.t.Context(), &out, io.Discard)))
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
		{"--data /x vers|", "version"},
		{"Lease|", ":files"},         // to show in the window
		{"Lease.pdf off|", ":files"}, // and further ones
		{"list --st|", "--state"},
		{"list --state |", "waiting done declined expired withdrawn problem"},
		{"list --state d|", "done declined"},
		{"list --sort|", "--sort"},
		{"list x|", ""},
		{"status --js|", "--json"},
		{"setup --no-c|", "--no-cac"},
		{"setup --save-to |", ":folders"},
		{"setup --import |", ":files"},
		{"setup --cac --tunnel |", "ngrok external office none loopback"},
		{"events -f --pack|", "--package"},
		{"send |", ":files"},
		{"send a.pdf b|", ":files"},
		{"send --name --seq|", ""}, // --seq is the name here
		{"send --name x --seq|", "--sequential"},
		{"--key-file |", ":files"},
		{"--data |", ":folders"},
		{"completion |", "bash zsh fish powershell"},
		{"completion bash |", ""},
		{"folders |", "list add pause resume remove"},
		{"folders --js|", "--json"}, // a flag of its default command
		{"folders a|", "add"},
		{"folders list |", ""},
		{"folders add |", ":folders"},
		{"folders add ~/Scans --d|", "--data --debug --due-days"},
		{"folders remove |", ":folders"},
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

// countersign is a folder in which shells find the program under its name.
func countersign(t *testing.T) (folder string) {
	t.Helper()
	folder = t.TempDir()
	self := must(os.Executable())
	noErr(t, os.Symlink(self, filepath.Join(folder, "countersign")))
	return folder
}

// Each shell is asked for its completions by its own means.
func TestTheShellsOfferWhatTheProgramSays(t *testing.T) {
	folder := countersign(t)
	noErr(t, os.Mkdir(filepath.Join(folder, "Old leases"), 0o700))
	noErr(t, os.WriteFile(filepath.Join(folder, "Lease 1.pdf"), nil, 0o600))
	ask := map[string]func(script string, words ...string) *exec.Cmd{
		"bash": func(script string, words ...string) *exec.Cmd {
			do := fmt.Sprintf("source '%s'; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _countersign; printf '%%s\\n' \"${COMPREPLY[@]}\"", script)
			return exec.Command("bash", append([]string{"-c", do, "bash"}, words...)...)
		},
		"zsh": func(script string, words ...string) *exec.Cmd {
			do := fmt.Sprintf("compdef() {}; compadd() { print -rl -- \"${values[@]}\" }; _files() { print -rl -- ${PREFIX}*(N) }; words=(\"$@\"); CURRENT=$#; PREFIX=$words[-1]; source '%s'; _countersign", script)
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
			text := must(Completion(name))
			noErr(t, os.WriteFile(script, text, 0o600))
			for typed, want := range map[string][]string{
				"countersign lo":                  {"login", "logout"},
				"countersign list --state d":      {"done", "declined"},
				"countersign list --rev":          {"--reverse"},
				"countersign send Lea":            {"Lease 1.pdf"},
				"countersign setup --save-to Old": {"Old leases"},
			} {
				cmd := command(script, strings.Fields(typed)...)
				cmd.Dir = folder
				cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
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
