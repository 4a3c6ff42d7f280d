package terminal

import (
	"bytes"
	"strings"
	"testing"
	"unicode"

	"countersign/internal/trytest"
)

var noErr = trytest.NoErr

func TestColoursAreNotForEveryone(t *testing.T) {
	for env, want := range map[string]bool{"": true, "NO_COLOR=1": false, "TERM=dumb": false, "TERM=xterm": true, "NO_COLOR=": true} {
		name, value, _ := strings.Cut(env, "=")
		got := wantsColour(func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		})
		if got != want {
			t.Errorf("%q: %v", env, got)
		}
	}
}

// outside is what the service, a file or a path may contain: colours, clearing the screen, a window title, a link,
// overwriting the line, and text displayed in another order than it is written.
const outside = "Ana\x1b[2J\x1b]0;title\x07\u202egnp.exe\u202c\rroot\n# rm\t-rf\u2028\u009b31m\u200bRuiz\u0085\x7f"

func TestNothingFromOutsideIsAnInstructionToTheTerminal(t *testing.T) {
	for name, print := range map[string]func(w *Writer) error{
		"a line":          func(w *Writer) error { return w.Line("Signed in as %s.", outside) },
		"a line of parts": func(w *Writer) error { return w.Parts(Cell{Text: outside, Tint: Bold}, Cell{Text: outside}) },
		"a table": func(w *Writer) error {
			return w.Table([]Column{{Head: "NAME"}, {Head: "WHO"}}, [][]Cell{{{Text: outside, Tint: Red}, {Text: outside}}})
		},
		"a question":         func(w *Writer) error { return w.Prompt(outside) },
		"progress":           func(w *Writer) error { return w.Progress(strings.ReplaceAll(outside, "\r", "")) },
		"text of many lines": func(w *Writer) error { _, err := w.Write([]byte(outside)); return err },
		"JSON":               func(w *Writer) error { return w.JSON(map[string]string{outside: outside}) },
		"JSON in one line":   func(w *Writer) error { return w.JSONLine([]string{outside}) },
	} {
		for _, width := range []int{0, 80} {
			var out bytes.Buffer
			noErr(t, print(Sized(&out, width, false)))
			text := strings.TrimPrefix(out.String(), "\r") // progress stays in its line
			bad := func(r rune) bool { return r != '\n' && r != '\t' && unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) }
			nothing := name == "progress" && width == 0
			if i := strings.IndexFunc(text, bad); i >= 0 || strings.Contains(text, "Ana") == nothing {
				t.Errorf("%s, %d columns: %q", name, width, text)
			}
			if lines := strings.Count(text, "\n"); lines > 1 && (name == "a line" || name == "a line of parts" || name == "a table" && width == 0) {
				t.Errorf("%s became %d lines: %q", name, lines, text)
			}
		}
	}
}

func TestALineKeepsItsColumns(t *testing.T) {
	var out bytes.Buffer
	w := Sized(&out, 80, true)
	noErr(t, w.Line("%-10s %s", "Account", "Ana  Ruiz"))
	noErr(t, w.Parts(Cell{Text: "done", Tint: Green}, Cell{Text: "  saved"}))
	if want := "Account    Ana  Ruiz\n\x1b[32mdone\x1b[0m  saved\n"; out.String() != want {
		t.Errorf("it printed %q, want %q", out.String(), want)
	}
}

func TestProgressStaysOnItsLineAndLeavesNothing(t *testing.T) {
	var pipe, screen bytes.Buffer
	for _, w := range []*Writer{New(&pipe), Sized(&screen, 80, false)} {
		for _, text := range []string{"Sending 100 %", "Sending 5 %", "", ""} {
			noErr(t, w.Progress(text))
		}
	}
	if want := "\rSending 100 %\rSending 5 %  \r" + strings.Repeat(" ", 11) + "\r"; screen.String() != want || pipe.Len() > 0 {
		t.Errorf("it printed %q to a terminal and %q to a pipe", &screen, &pipe)
	}
}
