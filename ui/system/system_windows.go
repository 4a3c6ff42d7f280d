package system

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/sys/windows/registry"
)

// windowsTool returns the full path of a Windows program, so that no file of the same name elsewhere is started.
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

// prepare writes the command line in the form explorer expects, which differs from Go's quoting rules. A path cannot contain a
// double quote on Windows.
func prepare(cmd *exec.Cmd, command []string) {
	if len(command) == 3 && command[1] == "/select," {
		cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `explorer.exe /select,"` + command[2] + `"`}
	}
}

// Alert shows a message box of the desktop, with or without a window of ours, and reports whether anybody can have seen it. It
// returns when the person has read it; on Linux, as soon as the box is open. The text is for people.
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

// NameProcess gives our windows the same identity as the Start menu entry and the notifications, so that the taskbar groups them. If
// Windows rejects it, it identifies the program by its path.
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

// Requests to SystemParametersInfo, and a result of one of them.
const (
	spiGetHighContrast        = 0x0042
	spiGetClientAreaAnimation = 0x1042
	hcfHighContrastOn         = 1
)

type highContrast struct {
	size   uint32
	flags  uint32
	scheme *uint16
}

var systemParametersInfo = windows.NewLazySystemDLL("user32.dll").NewProc("SystemParametersInfoW")

// readAccessibility asks Windows: the contrast themes, "Text size" and "Animation effects" in Settings, Accessibility.
func readAccessibility(context.Context) (c Accessibility, err error) {
	contrast := highContrast{size: uint32(unsafe.Sizeof(highContrast{}))}
	if ok, _, _ := systemParametersInfo.Call(spiGetHighContrast, uintptr(contrast.size), uintptr(unsafe.Pointer(&contrast)), 0); ok != 0 {
		c.Contrast = contrast.flags&hcfHighContrastOn != 0
	}
	moves := int32(1)
	if ok, _, _ := systemParametersInfo.Call(spiGetClientAreaAnimation, 0, uintptr(unsafe.Pointer(&moves)), 0); ok != 0 {
		c.ReducedMotion = moves == 0
	}
	key, err := registry.OpenKey(registry.CURRENT_USER, `Software\Microsoft\Accessibility`, registry.QUERY_VALUE)
	if errors.Is(err, registry.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer key.Close()
	if percent, _, err := key.GetIntegerValue("TextScaleFactor"); err == nil {
		c.Text = int(min(percent, 1000))
	}
	return c, nil
}
