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

// onDialogThread runs show on its own thread in a single-threaded apartment, as Microsoft requires for shell dialogs
// (https://learn.microsoft.com/windows/win32/shell/common-file-dialog): zenity by itself uses the multi-threaded one, in which
// Wine's dialog lists nothing. When ctx ends, it closes what the thread shows; zenity would call into the apartment from outside.
func onDialogThread(ctx context.Context, show func(...zenity.Option)) {
	runtime.LockOSThread() // never unlocked, so that the thread and its apartment end with the goroutine
	err := windows.CoInitializeEx(0, windows.COINIT_APARTMENTTHREADED|windows.COINIT_DISABLE_OLE1DDE)
	if err == nil || errors.Is(err, windows.Errno(windows.S_FALSE)) {
		defer windows.CoUninitialize()
	}
	over := make(chan struct{})
	defer close(over)
	go closeDialogs(ctx, windows.GetCurrentThreadId(), over)
	show()
}

// closeDialogs closes what a thread shows, now and later, from the end of ctx until over.
func closeDialogs(ctx context.Context, thread uint32, over <-chan struct{}) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	}
	again := time.NewTicker(dialogCloses / 10)
	defer again.Stop()
	for {
		_ = windows.EnumWindows(closeOfThread, unsafe.Pointer(&thread)) // retried
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
