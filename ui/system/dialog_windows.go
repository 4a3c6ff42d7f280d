package system

import (
	"context"
	"errors"
	"runtime"
	"time"
	"unsafe"

	"github.com/ncruces/zenity"
	"golang.org/x/sys/windows"
)

// onDialogThread runs show on a thread of its own in a single-threaded apartment, as Microsoft has it for the shell's dialogs
// (https://learn.microsoft.com/windows/win32/shell/common-file-dialog): zenity alone asks in the multi-threaded one, where
// Wine's dialog lists nothing. The end of ctx closes what the thread shows; zenity would call into the apartment from outside.
func onDialogThread(ctx context.Context, show func(...zenity.Option)) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine, and its apartment with it
	err := windows.CoInitializeEx(0, windows.COINIT_APARTMENTTHREADED|windows.COINIT_DISABLE_OLE1DDE)
	if err == nil || errors.Is(err, windows.Errno(windows.S_FALSE)) {
		defer windows.CoUninitialize()
	}
	over := make(chan struct{})
	defer close(over)
	go closeDialogs(ctx, windows.GetCurrentThreadId(), over)
	show()
}

// closeDialogs closes what a thread shows, and what it still comes to show, from the end of ctx on until over.
func closeDialogs(ctx context.Context, thread uint32, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	}
	again := time.NewTicker(dialogCloses / 10)
	defer again.Stop()
	for {
		_ = windows.EnumWindows(closeOfThread, unsafe.Pointer(&thread)) // it is asked again
		select {
		case <-over:
			return
		case <-again.C:
		}
	}
}

var (
	postMessage   = windows.NewLazySystemDLL("user32.dll").NewProc("PostMessageW")
	closeOfThread = windows.NewCallback(func(window windows.HWND, thread *uint32) uintptr {
		const wmClose, goOn = 0x10, 1
		if id, err := windows.GetWindowThreadProcessId(window, nil); err == nil && id == *thread && windows.IsWindowVisible(window) {
			_, _, _ = postMessage.Call(uintptr(window), wmClose, 0, 0)
		}
		return goOn
	})
)
