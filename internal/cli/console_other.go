//go:build !windows

package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// console is the terminal from which a command was started. On this system a program has it from the start.
type console struct {
	in       io.Reader
	out, err io.Writer
}

func (console) attach(p *Program) console { return console{p.Stdin, p.Stdout, p.Stderr} }

func (*console) detach() {}

// read reports whether a person can see error output: if a panel or a menu started the program, it goes to a log.
func (c console) read() bool {
	f, ok := c.err.(*os.File)
	return !ok || term.IsTerminal(int(f.Fd()))
}

// heard reports whether anyone notices printed usage errors and the exit code: a person at a terminal, or a program at the
// other end of a pipe. Output of a program started by a panel or a menu goes to a log.
func (c console) heard() bool {
	for _, stream := range []any{c.in, c.out, c.err} {
		if f, ok := stream.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return true
		}
	}
	f, ok := c.err.(*os.File)
	if !ok {
		return true
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeNamedPipe != 0
}
