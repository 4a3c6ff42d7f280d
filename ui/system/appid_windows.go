package system

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

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
