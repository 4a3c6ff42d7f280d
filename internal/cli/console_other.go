//go:build !windows

package cli

import (
	"io"
	"os"

	"golang.org/x/term"
)

// console is the terminal a command was started from. Here every program has it from the start.
type console struct{}

func (console) attach(*Program) console { return console{} }

func (*console) detach() {}

// read reports whether a person sees what is printed to a stream: of what a panel or a menu starts, it goes into a log.
func (console) read(stream io.Writer) bool {
	f, ok := stream.(*os.File)
	return !ok || term.IsTerminal(int(f.Fd()))
}

// showsColour reports whether a terminal understands colours.
func showsColour(*os.File) bool { return true }
