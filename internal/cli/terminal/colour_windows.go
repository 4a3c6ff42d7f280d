package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// showsColour reports whether a terminal understands colours; consoles before Windows 10 do not.
func showsColour(f *os.File) bool {
	var mode uint32
	console := windows.Handle(f.Fd())
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
