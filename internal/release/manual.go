package main

import (
	"fmt"
	"strings"

	"countersign/internal/cli"

	"github.com/alecthomas/kong"
)

// manual is the manual page (man-pages(7)): the form in assets/packaging, with the commands and options that the
// program itself knows.
func (p product) manual() ([]byte, error) {
	grammar := cli.Grammar()
	var commands strings.Builder
	for _, c := range grammar.Leaves(true) {
		if c.Type != kong.CommandNode {
			continue
		}
		fmt.Fprintf(&commands, ".SS %s\n%s\n", roff(synopsis(c)), roff(c.Help))
		for _, a := range c.Positional {
			item(&commands, a.Summary(), a.Help)
		}
		for _, f := range c.Flags {
			option(&commands, f)
		}
	}
	var options strings.Builder
	for _, f := range grammar.Flags {
		option(&options, f)
	}
	return p.form("linux/countersign.1", map[string]string{
		"Version": p.version, "Date": p.made.Format("2006-01-02"), "Description": paragraphs(grammar.Help),
		"Commands": strings.TrimSpace(commands.String()), "Options": strings.TrimSpace(options.String()),
	})
}

// synopsis is a command with what it takes: "send FILE... [OPTION]".
func synopsis(c *kong.Node) string {
	s := c.Path()
	for _, a := range c.Positional {
		s += " " + a.Summary()
	}
	return s
}

func option(b *strings.Builder, f *kong.Flag) {
	if f.Hidden {
		return
	}
	item(b, f.String(), f.Help)
}

// item is one entry of a list with a hanging indent.
func item(b *strings.Builder, term, text string) {
	fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(term), roff(text))
}

func paragraphs(text string) string {
	var parts []string
	for part := range strings.SplitSeq(text, "\n\n") {
		parts = append(parts, roff(strings.TrimSpace(part)))
	}
	return strings.Join(parts, "\n.PP\n")
}

// roff makes text mean itself: the page's own signs are a backslash, a hyphen that may be copied, a quote after a
// request, and a point or a quote where a line begins.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, `-`, `\-`, `"`, `\(dq`).Replace(text)
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
