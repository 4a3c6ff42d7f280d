package system

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"
)

func TestTheWindowsBelongToTheStartMenusEntry(t *testing.T) {
	NameProcess()
	var name *uint16
	get := windows.NewLazySystemDLL("shell32.dll").NewProc("GetCurrentProcessExplicitAppUserModelID")
	code, _, _ := get.Call(uintptr(unsafe.Pointer(&name)))
	if windows.Handle(code) == windows.E_NOTIMPL {
		t.Skip("nobody can ask for it here, as in Wine 8")
	}
	if code != 0 {
		t.Fatalf("the process has no name: %#x", code)
	}
	defer windows.CoTaskMemFree(unsafe.Pointer(name))
	if text := windows.UTF16PtrToString(name); text != "Countersign" {
		t.Errorf("it is called %q", text)
	}
}
