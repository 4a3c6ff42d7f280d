package system

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	user32   = windows.NewLazySystemDLL("user32.dll")
	kernel32 = windows.NewLazySystemDLL("kernel32.dll")
	mapi32   = windows.NewLazySystemDLL("mapi32.dll")

	createWindow     = user32.NewProc("CreateWindowExW")
	destroyWindow    = user32.NewProc("DestroyWindow")
	openClipboard    = user32.NewProc("OpenClipboard")
	emptyClipboard   = user32.NewProc("EmptyClipboard")
	setClipboardData = user32.NewProc("SetClipboardData")
	closeClipboard   = user32.NewProc("CloseClipboard")
	globalAlloc      = kernel32.NewProc("GlobalAlloc")
	globalFree       = kernel32.NewProc("GlobalFree")
	globalLock       = kernel32.NewProc("GlobalLock")
	globalUnlock     = kernel32.NewProc("GlobalUnlock")
	moveMemory       = kernel32.NewProc("RtlMoveMemory")
	sendMail         = mapi32.NewProc("MAPISendMailW")
)

const (
	formatFiles   = 15          // CF_HDROP
	movable       = 2           // GMEM_MOVEABLE
	messageWindow = ^uintptr(2) // HWND_MESSAGE, -3

	headerSize = 20 // DROPFILES (shlobj_core.h)

	clipboardTries = 10 // another program may hold it for a moment
	clipboardPause = 30 * time.Millisecond
)

// copyFiles puts files on the clipboard like Explorer (CF_HDROP).
func copyFiles(ctx context.Context, paths []string) error {
	runtime.LockOSThread() // the clipboard and the window belong to a thread
	defer runtime.UnlockOSThread()
	memory, err := shared(dropList(paths))
	if err != nil {
		return err
	}
	if err := onClipboard(ctx, memory); err != nil {
		globalFree.Call(memory)
		return err
	}
	return nil // the clipboard owns the memory now
}

// dropList encodes paths as a DROPFILES followed by zero-terminated paths and one more zero, in UTF-16.
func dropList(paths []string) []byte {
	list := make([]byte, headerSize)
	binary.LittleEndian.PutUint32(list, headerSize)       // pFiles: offset of the paths
	binary.LittleEndian.PutUint32(list[headerSize-4:], 1) // fWide
	for _, path := range paths {
		for _, unit := range append(utf16.Encode([]rune(path)), 0) {
			list = binary.LittleEndian.AppendUint16(list, unit)
		}
	}
	return append(list, 0, 0)
}

// shared copies bytes to memory that can be given to another program.
func shared(b []byte) (memory uintptr, err error) {
	memory, _, err = globalAlloc.Call(movable, uintptr(len(b)))
	if memory == 0 {
		return 0, fmt.Errorf("GlobalAlloc: %w", err)
	}
	at, _, err := globalLock.Call(memory)
	if at == 0 {
		globalFree.Call(memory)
		return 0, fmt.Errorf("GlobalLock: %w", err)
	}
	moveMemory.Call(at, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	globalUnlock.Call(memory)
	return memory, nil
}

// onClipboard gives memory to the clipboard, whose owner must be a window (EmptyClipboard).
func onClipboard(ctx context.Context, memory uintptr) error {
	class, err := windows.UTF16PtrFromString("STATIC")
	if err != nil {
		return err
	}
	window, _, err := createWindow.Call(0, uintptr(unsafe.Pointer(class)), 0, 0, 0, 0, 0, 0, messageWindow, 0, 0, 0)
	if window == 0 {
		return fmt.Errorf("CreateWindowEx: %w", err)
	}
	defer destroyWindow.Call(window)
	for try := 1; ; try++ {
		opened, _, err := openClipboard.Call(window)
		if opened != 0 {
			break
		}
		if try == clipboardTries || ctx.Err() != nil {
			return fmt.Errorf("OpenClipboard: %w", err)
		}
		time.Sleep(clipboardPause)
	}
	defer closeClipboard.Call()
	if ok, _, err := emptyClipboard.Call(); ok == 0 {
		return fmt.Errorf("EmptyClipboard: %w", err)
	}
	if ok, _, err := setClipboardData.Call(formatFiles, memory); ok == 0 {
		return fmt.Errorf("SetClipboardData: %w", err)
	}
	return nil
}

type mapiFile struct {
	reserved, flags, position uint32
	path, name                *uint16
	kind                      unsafe.Pointer
}

type mapiPerson struct {
	reserved, class uint32
	name, address   *uint16
	idSize          uint32
	id              unsafe.Pointer
}

type mapiMessage struct {
	reserved                          uint32
	subject, text, kind, date, thread *uint16
	flags                             uint32
	from                              unsafe.Pointer
	recipients                        uint32
	to                                *mapiPerson
	files                             uint32
	file                              *mapiFile
}

// Arguments and results of MAPISendMailW.
const (
	mapiLogonUI  = 0x1
	mapiDialog   = 0x8
	mapiTo       = 1
	mapiNowhere  = ^uint32(0) // the attachment has no position in the text
	mapiUserEnds = 1          // MAPI_USER_ABORT: the person cancelled
)

// mailFiles shows a new mail with attachments in the default mail program (Simple MAPI). ended fires when the person has sent or
// discarded it.
func mailFiles(m Mail) (ended <-chan error, err error) {
	if err := sendMail.Find(); err != nil {
		return nil, err
	}
	var wrong error
	text := func(s string) *uint16 {
		p, err := windows.UTF16PtrFromString(s)
		wrong = errors.Join(wrong, err)
		return p
	}
	files, people := make([]mapiFile, len(m.Files)), make([]mapiPerson, len(m.To))
	for i, path := range m.Files {
		files[i] = mapiFile{position: mapiNowhere, path: text(path)}
	}
	for i, to := range m.To {
		people[i] = mapiPerson{class: mapiTo, name: text(to), address: text("SMTP:" + to)}
	}
	mail := &mapiMessage{subject: text(m.Subject), recipients: uint32(len(people)), to: unsafe.SliceData(people), files: uint32(len(files)), file: &files[0]}
	if wrong != nil {
		return nil, wrong
	}
	end := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		answer, _, _ := sendMail.Call(0, 0, uintptr(unsafe.Pointer(mail)), mapiLogonUI|mapiDialog, 0)
		runtime.KeepAlive(mail)
		if answer != 0 && answer != mapiUserEnds {
			end <- fmt.Errorf("MAPISendMail answers %d", answer)
			return
		}
		end <- nil
	}()
	return end, nil
}

// printFile lets the program for such files print one (ShellExecute, "print").
func printFile(path string) (ended <-chan error, err error) {
	verb, err1 := windows.UTF16PtrFromString("print")
	file, err2 := windows.UTF16PtrFromString(path)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	end := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		end <- windows.ShellExecute(0, verb, file, nil, nil, windows.SW_SHOWNORMAL)
	}()
	return end, nil
}
