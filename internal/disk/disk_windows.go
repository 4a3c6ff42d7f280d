package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// lookedAt is how long a rename waits for a virus scanner that has the new file open.
const lookedAt = 2 * time.Second

// nonBlocking is not needed: on Windows, folders contain no pipes.
const nonBlocking = 0

// notInNames are the characters that no entry's name can contain, or that begin the name of a stream of a file.
const notInNames = "/\\:\x00"

// rename is os.Rename, but returns only when the name is on the disk.
func rename(from, to string) error {
	old, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	final, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	return patiently("MoveFileEx", func() error {
		return windows.MoveFileEx(old, final, windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH)
	})
}

// patiently retries while another program has a file open. One that has opened it for deletion can also cause access denied;
// so can a target that is a folder or not ours, which waiting does not cure.
func patiently(call string, do func() error) error {
	pause := 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		err := do()
		if !Busy(err) && !errors.Is(err, windows.ERROR_ACCESS_DENIED) || waited > lookedAt {
			return os.NewSyscallError(call, err)
		}
		time.Sleep(pause)
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// openFile waits for a program that has the file locked, as happens while it gets its name.
func openFile(path string) (file *os.File, err error) {
	err = patiently("open", func() error {
		file, err = os.Open(path)
		return err
	})
	return file, err
}

// Busy reports whether a file could not be opened because another program has it open right now.
func Busy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_LOCK_VIOLATION)
}

// rename renames without replacing, from one open folder to another, not by path, because a path might lead elsewhere by
// then. The name is on the disk when it returns.
func (d *Dir) rename(name string, to *Dir, as string, _ bool) error {
	return patiently("NtSetInformationFile", func() error { return renameAt(d.self, name, to.self, as) })
}

// renameInformation is FILE_RENAME_INFORMATION (ntifs.h).
type renameInformation struct {
	replace uint32
	folder  windows.Handle
	length  uint32 // of the name, in bytes
	name    [windows.MAX_PATH]uint16
}

func renameAt(dir *os.File, from string, there *os.File, to string) error {
	object, err := windows.NewNTUnicodeString(from)
	if err != nil {
		return err
	}
	at := &windows.OBJECT_ATTRIBUTES{RootDirectory: windows.Handle(dir.Fd()), ObjectName: object}
	at.Length = uint32(unsafe.Sizeof(*at))
	var file windows.Handle
	var status windows.IO_STATUS_BLOCK
	err = windows.NtCreateFile(&file, windows.DELETE|windows.SYNCHRONIZE|windows.FILE_READ_ATTRIBUTES, at, &status, nil, 0,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, windows.FILE_OPEN,
		windows.FILE_OPEN_REPARSE_POINT|windows.FILE_OPEN_FOR_BACKUP_INTENT|windows.FILE_SYNCHRONOUS_IO_NONALERT|windows.FILE_WRITE_THROUGH, 0, 0)
	if err != nil {
		return ofStatus(err)
	}
	defer windows.CloseHandle(file)
	name, err := windows.UTF16FromString(to)
	if err != nil {
		return err
	}
	info := renameInformation{folder: windows.Handle(there.Fd()), length: uint32(len(name)-1) * 2}
	if len(name) > len(info.name) {
		return windows.ERROR_FILENAME_EXCED_RANGE
	}
	copy(info.name[:], name)
	return ofStatus(windows.NtSetInformationFile(file, &status, (*byte)(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), windows.FileRenameInformation))
}

// ofStatus converts a kernel status into the error that the rest of Windows uses.
func ofStatus(err error) error {
	var status windows.NTStatus
	if errors.As(err, &status) {
		return status.Errno()
	}
	return err
}

// Path is where an open folder is now, in the form without a length limit.
func Path(dir *os.File) (string, error) {
	buf := make([]uint16, 512)
	for {
		n, err := windows.GetFinalPathNameByHandle(windows.Handle(dir.Fd()), &buf[0], uint32(len(buf)), 0)
		if err != nil {
			return "", os.NewSyscallError("GetFinalPathNameByHandle", err)
		}
		if int(n) < len(buf) {
			return windows.UTF16ToString(buf[:n]), nil
		}
		buf = make([]uint16, n+1)
	}
}

// Mount is the volume of a path. One that is mounted in a folder and gone leaves no folder that can be opened.
func Mount(path string) (string, error) { return filepath.VolumeName(path), nil }

// Flush does nothing: names reach the disk in order, at the latest when a rename returns.
func Flush(*os.File) error { return nil }

// FlushFolder is Flush for the folder at path.
func FlushFolder(string) error { return nil }

func writable(string) bool { return false } // nothing has to be flushed there

// Full reports whether err says that the disk is full, or this user's quota. bbolt returns some errors as text only.
func Full(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL) ||
		errors.Is(err, windows.ERROR_DISK_QUOTA_EXCEEDED) || err != nil && strings.Contains(err.Error(), windows.ERROR_DISK_FULL.Error())
}

// Free is how many bytes this user may still write to the disk of an open folder.
func Free(dir *os.File) (free uint64, known bool) {
	path, err := Path(dir)
	if err != nil {
		return 0, false
	}
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, false
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err == nil
}
