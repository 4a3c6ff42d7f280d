package cli

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// attachParentProcess means the console of the program that started this one (AttachConsole, wincon.h).
const attachParentProcess = ^uintptr(0)

var (
	kernel32      = windows.NewLazySystemDLL("kernel32.dll")
	attachConsole = kernel32.NewProc("AttachConsole")
	freeConsole   = kernel32.NewProc("FreeConsole")
)

// console is the terminal a command was started from. The program is linked for windows, not for consoles, so that no
// black box opens beside it; Windows then gives it none, and commands would print into nothing.
type console struct {
	attached, detached bool
	err                io.Writer
}

// attach takes the console of the program that started this one, for each of the streams that lead nowhere; a file or
// a pipe stays.
func (console) attach(p *Program) console {
	out, err := leads(p.Stdout), leads(p.Stderr)
	if out && err {
		return console{err: p.Stderr}
	}
	// Access is denied to who has a console already, if without streams.
	if ok, _, reason := attachConsole.Call(attachParentProcess); ok == 0 && !errors.Is(reason, windows.ERROR_ACCESS_DENIED) {
		return console{err: p.Stderr} // it was not started from one
	}
	if f, openErr := os.OpenFile("CONOUT$", os.O_RDWR, 0); openErr == nil {
		if !out {
			p.Stdout = f
		}
		if !err {
			p.Stderr = f
		}
	}
	if f, openErr := os.OpenFile("CONIN$", os.O_RDWR, 0); openErr == nil && !leads(p.Stdin) {
		p.Stdin = f
	}
	return console{attached: true, err: p.Stderr}
}

// detach lets go of the console before a window opens: its Ctrl+C and its end would end the window too.
func (c *console) detach() {
	if c.attached {
		_, _, _ = freeConsole.Call() // what is printed from now on is lost, as without a console
		c.detached = true
	}
}

// read reports whether what goes wrong is printed anywhere: to the console that a command was started from, a file or a pipe.
func (c console) read() bool { return leads(c.err) && !c.detached }

// leads reports whether a stream is somewhere; one of the caller's making always is.
func leads(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return true
	}
	kind, err := windows.GetFileType(windows.Handle(f.Fd()))
	return err == nil && kind != windows.FILE_TYPE_UNKNOWN
}

// heard reports whether somebody learns of wrong usage from what is printed and the exit code.
func (c console) heard() bool { return c.read() }
