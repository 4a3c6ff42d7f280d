package system

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
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
