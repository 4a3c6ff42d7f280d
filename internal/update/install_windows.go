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

// Here is the kind of file with which this program came here: the installer, when it runs from the folder that the
// installer has noted for this person.
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

// variable holds what the program is to be started with once it is installed; the installer reads it.
const variable = "COUNTERSIGN_RESTART"

// longest is what an installer can read of it.
const longest = 900

// Start starts an installer that Hold has opened, which waits for a minute until this program has ended, installs, and starts it
// again with args, whatever became of the installation. It returns at once; who calls it ends the program. The installer inherits
// the hold, and so is what was checked for as long as it runs, for it reads its own file all the time.
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
	cmd.Dir = filepath.Dir(filepath.Dir(installer.Name())) // its own folder can be removed then
	if err := cmd.Start(); err != nil {
		return message.Error(message.UpdateNotStarted(), err)
	}
	return cmd.Process.Release()
}

// hold opens a file that others may read meanwhile, and run, but neither write nor remove.
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
