package system

import (
	"runtime"

	"golang.org/x/sys/windows"
)

func alert(title, text string) bool {
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
