package update

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"countersign/internal/message"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// Here is the kind of file from which this program was installed: the installer, if it runs from the folder that the
// installer recorded for this person.
func Here(bool) string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	key, err := registry.OpenKey(registry.CURRENT_USER, `Software\Countersign`, registry.QUERY_VALUE)
	if err != nil {
		return ""
	}
	defer key.Close()
	folder, _, err := key.GetStringValue("InstallDir")
	if err != nil || !strings.EqualFold(filepath.Clean(folder), filepath.Dir(self)) {
		return ""
	}
	return Installer
}

// variable passes the arguments of the restarted program to the installer.
const variable = "COUNTERSIGN_RESTART"

// longest is how much of it the installer can read.
const longest = 900

// Start starts an installer that Hold has opened. The installer waits up to a minute for this program to end, installs, and
// starts it again with args, whether or not the installation worked. Start returns immediately; the caller ends the program.
// The installer inherits the hold, so what was checked stays unchanged while it runs and reads its own file.
func Start(installer *os.File, args []string) error {
	var quoted []string
	for _, a := range args {
		quoted = append(quoted, syscall.EscapeArg(a))
	}
	line := strings.Join(quoted, " ")
	if len(line) > longest {
		return message.Error(message.UpdateNotStarted(), errors.New("the arguments are too long to come back with"))
	}
	held := syscall.Handle(installer.Fd())
	if err := syscall.SetHandleInformation(held, syscall.HANDLE_FLAG_INHERIT, syscall.HANDLE_FLAG_INHERIT); err != nil {
		return message.Error(message.UpdateNotStarted(), err)
	}
	cmd := exec.Command(installer.Name(), "/S", "/UPDATE")
	cmd.SysProcAttr = &syscall.SysProcAttr{AdditionalInheritedHandles: []syscall.Handle{held}}
	cmd.Env = append(os.Environ(), variable+"="+line)
	cmd.Dir = filepath.Dir(filepath.Dir(installer.Name())) // so that the installer's own folder can be removed
	if err := cmd.Start(); err != nil {
		return message.Error(message.UpdateNotStarted(), err)
	}
	return cmd.Process.Release()
}

// hold opens a file that others may meanwhile read and execute, but neither write nor remove.
func hold(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	handle, err := windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}
