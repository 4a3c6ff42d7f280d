package archive

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"unsafe"

	"countersign/internal/disk"

	"golang.org/x/sys/windows"
)

// isMissing also recognises a share or a memory stick that disappeared under an open folder.
func isMissing(err error) bool {
	return isAny(err, windows.ERROR_PATH_NOT_FOUND, windows.ERROR_NOT_READY, windows.ERROR_INVALID_DRIVE, windows.ERROR_BAD_NETPATH,
		windows.ERROR_BAD_NET_NAME, windows.ERROR_NETNAME_DELETED, windows.ERROR_DEV_NOT_EXIST,
		windows.ERROR_NO_SUCH_DEVICE, windows.ERROR_DEVICE_NOT_CONNECTED)
}

func isReadOnly(err error) bool { return errors.Is(err, windows.ERROR_WRITE_PROTECT) }

// isNotFolder does not test for ENOTDIR, which equals ERROR_PATH_NOT_FOUND here.
func isNotFolder(err error) bool {
	return errors.Is(err, windows.ERROR_DIRECTORY) || errors.Is(err, disk.ErrNotFolder)
}

// writable cannot be checked cheaply on Windows: the first save finds out.
func writable(string) error { return nil }

// basicInfo is FILE_BASIC_INFO (winbase.h). Zero times leave the file's times unchanged.
type basicInfo struct {
	created, accessed, written, changed int64
	attributes                          uint32
	_                                   uint32
}

// conceal hides an unfinished document: on Windows a leading dot hides nothing.
func conceal(file *os.File) error { return setAttributes(file, windows.FILE_ATTRIBUTE_HIDDEN) }

// reveal makes a finished document visible. Its folder decides who may read it.
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

// flushRead does nothing: a file open for reading cannot be flushed, and this one was flushed before it got its name.
func flushRead(*os.File) error { return nil }

// beginFlush does nothing: Windows has no equivalent, and the final flush does it all.
func beginFlush(*os.File, int64, int64) {}

// lockFile keeps other instances of this program from writing until the file is closed, on this computer and on others.
// While another has the lock, it fails with an error that isBusy recognises. The locked range is far past the end: a lock
// inside the file would keep others from reading.
func lockFile(file *os.File) error {
	at := &windows.Overlapped{Offset: math.MaxUint32 - 1, OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_NOT_SUPPORTED) || errors.Is(err, windows.ERROR_INVALID_FUNCTION) {
		return nil // a share without locks: Append reads back what it wrote
	}
	return err
}

// isBusy reports whether somebody else has the file open, as Excel does while it shows it.
func isBusy(err error) bool {
	return isAny(err, ErrBusy, windows.ERROR_SHARING_VIOLATION, windows.ERROR_LOCK_VIOLATION)
}
