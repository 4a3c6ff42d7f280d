package archive

import (
	"errors"
	"io/fs"
	"os"
	"unsafe"

	"countersign/internal/disk"

	"golang.org/x/sys/windows"
)

// isMissing also knows a share or a stick that went away under an open folder.
func isMissing(err error) bool {
	return isAny(err, windows.ERROR_PATH_NOT_FOUND, windows.ERROR_NOT_READY, windows.ERROR_INVALID_DRIVE, windows.ERROR_BAD_NETPATH,
		windows.ERROR_BAD_NET_NAME, windows.ERROR_NETNAME_DELETED, windows.ERROR_DEV_NOT_EXIST,
		windows.ERROR_NO_SUCH_DEVICE, windows.ERROR_DEVICE_NOT_CONNECTED)
}

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

// isNotFolder does not ask for ENOTDIR, which is the same as ERROR_PATH_NOT_FOUND here.
func isNotFolder(err error) bool {
	return errors.Is(err, windows.ERROR_DIRECTORY) || errors.Is(err, disk.ErrNotFolder)
}

// writable cannot be asked cheaply here: the first save tells.
func writable(string) error { return nil }

// basicInfo is FILE_BASIC_INFO (winbase.h). Zero times stay as they are.
type basicInfo struct {
	created, accessed, written, changed int64
	attributes                          uint32
	_                                   uint32
}

// conceal hides an unfinished document: a leading dot hides nothing here.
func conceal(file *os.File) error { return setAttributes(file, windows.FILE_ATTRIBUTE_HIDDEN) }

// reveal makes a complete document visible. Who may read it follows from its folder.
func reveal(file *os.File, _ fs.FileMode) error {
	return setAttributes(file, windows.FILE_ATTRIBUTE_NORMAL)
}

// setAttributes does nothing on a disk without attributes.
func setAttributes(file *os.File, attributes uint32) error {
	info := basicInfo{attributes: attributes}
	err := windows.SetFileInformationByHandle(windows.Handle(file.Fd()), windows.FileBasicInfo,
		(*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_NOT_SUPPORTED) {
		return nil
	}
	return os.NewSyscallError("SetFileInformationByHandle", err)
}

// flushRead has nothing to do: a file open for reading cannot be flushed, and it was before it got its name.
func flushRead(*os.File) error { return nil }

// beginFlush has no like here; the flush at the end does it all.
func beginFlush(*os.File, int64, int64) {}
