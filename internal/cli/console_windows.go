package cli

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// attachParentProcess selects the console of the program that started this one (AttachConsole, wincon.h).
const attachParentProcess = ^uintptr(0)

var (
	kernel32      = windows.NewLazySystemDLL("kernel32.dll")
	attachConsole = kernel32.NewProc("AttachConsole")
	freeConsole   = kernel32.NewProc("FreeConsole")
)

// console is the console from which a command was started. The program is linked as a GUI program, so that no black console
// window opens beside it; so Windows gives it no console, and commands would print nowhere.
type console struct {
	attached, detached bool
	err                io.Writer
}

// attach connects every stream that leads nowhere to the console of the program that started this one; a file or a pipe is
// kept.
func (console) attach(p *Program) console {
	out, err := leads(p.Stdout), leads(p.Stderr)
	if out && err {
		return console{err: p.Stderr}
	}
	// A process that already has a console gets access denied, even if it has no streams.
	if ok, _, reason := attachConsole.Call(attachParentProcess); ok == 0 && !errors.Is(reason, windows.ERROR_ACCESS_DENIED) {
		return console{err: p.Stderr} // not started from a console
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

// detach disconnects the console before a window opens: otherwise Ctrl+C or closing the console would end the window, too.
func (c *console) detach() {
	if c.attached {
		_, _, _ = freeConsole.Call() // later output is lost, as without a console
		c.detached = true
	}
}

// read reports whether error output goes anywhere: to the console from which a command was started, a file or a pipe.
func (c console) read() bool { return leads(c.err) && !c.detached }

// leads reports whether a stream goes anywhere; one supplied by the caller always does.
func leads(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return true
	}
	kind, err := windows.GetFileType(windows.Handle(f.Fd()))
	return err == nil && kind != windows.FILE_TYPE_UNKNOWN
}

// heard reports whether anyone notices printed usage errors and the exit code.
func (c console) heard() bool { return c.read() }
