package main

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"countersign/internal/cli"
)

// here is this source tree as version 1.2.3 of an arbitrary commit.
func here(t *testing.T) product {
	t.Helper()
	root := must(filepath.Abs(filepath.Join("..", "..")))
	return product{root: root, out: t.TempDir(), version: "1.2.3", commit: "0123456789ab", arch: "amd64", made: time.Unix(1_790_000_000, 0).UTC()}
}

var (
	flag      = regexp.MustCompile(`--(?:\[no-\])?[a-z][a-z-]*`)
	commandIn = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?) `)
)

// help is the program's own output.
func help(t *testing.T, args ...string) string {
	t.Helper()
	var out, failed bytes.Buffer
	code := cli.Main(append(args, "--help"), cli.Program{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &failed})
	if code != 0 || failed.Len() > 0 {
		t.Fatalf("%q --help ends with %d: %s", args, code, &failed)
	}
	return out.String()
}

func TestTheManualPageAgreesWithTheProgram(t *testing.T) {
	page := must(here(t).manual())
	plain := strings.NewReplacer(`\-`, "-", `\(dq`, `"`, `\&`, "", `\e`, `\`).Replace(string(page))
	_, list, _ := strings.Cut(help(t), "Commands:")
	named := commandIn.FindAllStringSubmatch(list, -1)
	if len(named) < 8 {
		t.Fatalf("the help names %d commands:\n%s", len(named), list)
	}
	var commands [][]string
	for _, c := range named {
		_, below, group := strings.Cut(help(t, c[1]), "\nCommands:")
		if !group {
			commands = append(commands, c)
		}
		commands = append(commands, commandIn.FindAllStringSubmatch(below, -1)...)
	}
	said := map[string]bool{}
	for _, c := range commands {
		head := regexp.MustCompile(`\n\.SS ` + regexp.QuoteMeta(c[1]) + `\b`).FindStringIndex(plain)
		if head == nil {
			t.Errorf("the page does not know the command %s", c[1])
			continue
		}
		section, _, _ := strings.Cut(plain[head[1]:], "\n.SS ")
		_, options, _ := strings.Cut(plain, "\n.SH OPTIONS")
		options, _, _ = strings.Cut(options, "\n.SH ")
		_, flags, _ := strings.Cut(help(t, strings.Fields(c[1])...), "Flags:")
		for _, f := range flag.FindAllString(flags, -1) {
			f = strings.Replace(f, "[no-]", "", 1)
			said[f] = true
			if !strings.Contains(section, f) && !strings.Contains(options, f) {
				t.Errorf("the page does not know %s %s", c[1], f)
			}
		}
	}
	_, body, _ := strings.Cut(plain, ".SH OPTIONS")
	for _, f := range flag.FindAllString(body, -1) {
		if !said[strings.Replace(f, "[no-]", "", 1)] {
			t.Errorf("the page tells of %s, which the program does not", f)
		}
	}
}
