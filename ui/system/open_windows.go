package system

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// windowsTool names a program of Windows by its full path, so that a file of the same name elsewhere is not started.
func windowsTool(parts ...string) string {
	return filepath.Join(append([]string{os.Getenv("SystemRoot")}, parts...)...)
}

func addressCommand(address string) []string {
	return []string{windowsTool("System32", "rundll32.exe"), "url.dll,FileProtocolHandler", address}
}

func fileCommand(path string) []string {
	return []string{windowsTool("System32", "rundll32.exe"), "url.dll,FileProtocolHandler", path}
}

func revealCommand(path string) []string {
	return []string{windowsTool("explorer.exe"), "/select,", path}
}

// prepare writes explorer's command line as it wants it: it does not follow the quoting rules that Go applies. A path
// cannot contain a double quote on Windows.
func prepare(cmd *exec.Cmd, command []string) {
	if len(command) == 3 && command[1] == "/select," {
		cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `explorer.exe /select,"` + command[2] + `"`}
	}
}

// Alert shows a message in a box of the desktop's own, beside the program's window or without one, and reports whether anybody
// can have seen it. It returns when the person has read it, on Linux as soon as the box is there. The text is for people.
func Alert(title, text string) bool {
	t, errTitle := windows.UTF16PtrFromString(title)
	m, errText := windows.UTF16PtrFromString(text)
	if errTitle != nil || errText != nil {
		return false
	}
	runtime.LockOSThread() // the box belongs to a thread
	defer runtime.UnlockOSThread()
	answer, err := windows.MessageBox(0, m, t, windows.MB_OK|windows.MB_ICONWARNING|windows.MB_SETFOREGROUND)
	return err == nil && answer != 0
}

// NameProcess tells Windows whose windows these are: the same as the Start menu's entry and the notifications say, so that the
// taskbar keeps them together. A Windows that does not take it goes by the program's path.
func NameProcess() {
	name, err := windows.UTF16PtrFromString("Countersign")
	if err != nil {
		return
	}
	set := windows.NewLazySystemDLL("shell32.dll").NewProc("SetCurrentProcessExplicitAppUserModelID")
	if set.Find() == nil {
		_, _, _ = set.Call(uintptr(unsafe.Pointer(name)))
	}
}
