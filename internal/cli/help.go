package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"countersign/assets"
	"countersign/internal/cli/terminal"

	"github.com/alecthomas/kong"
)

type helpCmd struct {
	Command []string `arg:"" optional:"" help:"The command, or a page of the manual: admin, develop, interface, service-facts, changes."`
}

func (c *helpCmd) Run(r *run) error {
	if len(c.Command) == 1 {
		if page, ok := assets.Doc(c.Command[0]); ok {
			_, err := r.out.Write(page)
			return err
		}
	}
	k := parser(new(commands), r.program.Version, r.out, r.err)
	k.Model.DefaultCmd = nil                       // so that every word is taken for a command
	_, err := k.Parse(append(c.Command, "--help")) // exits as --help does
	switch {
	case err == nil: // Parse succeeds if the command was given after --
		return &usage{"help takes a command."}
	case errors.Is(err, terminal.ErrUnwritable):
		return err
	}
	return &usage{asSentence(err)}
}

// asSentence turns kong's error text into a sentence.
func asSentence(err error) string {
	text := err.Error()
	if !strings.HasSuffix(text, "?") {
		text += "."
	}
	return text
}

// namesCommand reports whether args begin with a command: then a person at a terminal or a program typed them.
func namesCommand(k *kong.Kong, args []string) bool {
	return len(args) > 0 && slices.ContainsFunc(k.Model.Children, func(c *kong.Node) bool { return c.Name == args[0] })
}

// nearest returns a suggestion for a mistyped command in args, or err if there is none. It disables default commands,
// because with one kong takes every word for its argument.
func nearest(args []string, err error) error {
	k := parser(new(commands), "", io.Discard, io.Discard)
	k.Model.DefaultCmd = nil
	for _, group := range k.Model.Children {
		group.DefaultCmd = nil
	}
	if _, meant := k.Parse(args); meant != nil && strings.Contains(meant.Error(), "did you mean") {
		return meant
	}
	return err
}

// wrong says which of the files does not exist, and what may have been meant: a mistyped command ends here, because any word
// that is no command is a document to send.
func (c *openCmd) wrong() error {
	for i, f := range c.Files {
		_, err := os.Stat(f)
		if err == nil || errors.Is(err, fs.ErrPermission) { // the window reports that
			continue
		}
		if i == 0 && filepath.Base(f) == f {
			return nearest([]string{f}, fmt.Errorf("there is no file or command %q", f))
		}
		return fmt.Errorf("there is no file %q", f)
	}
	return nil
}
