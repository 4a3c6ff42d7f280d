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

// The questions of SystemParametersInfo, and what one of them answers with.
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

// readAccessibility asks Windows: the contrast themes, "Text size" and "Animation effects" of Settings, Accessibility.
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
