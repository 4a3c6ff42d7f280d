//go:build !windows

package cli

import "os"

// console is the terminal a command was started from. Here every program has it from the start.
type console struct{}

func (console) attach(*Program) console { return console{} }

func (console) detach() {}

// showsColour reports whether a terminal understands colours.
func showsColour(*os.File) bool { return true }
