package disk

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/windows"
)

// lookedAt is how long a rename waits for a virus scanner that has the new file open.
const lookedAt = 2 * time.Second

// rename is os.Rename that returns when the name is on the disk.
func rename(from, to string) error {
	return move(from, to, windows.MOVEFILE_REPLACE_EXISTING|windows.MOVEFILE_WRITE_THROUGH)
}

// NameNew gives a whole, flushed file its final name, both in an open folder, unless that name is taken (fs.ErrExist).
func NameNew(_ *os.Root, dir *os.File, from, to string) error {
	folder, err := Path(dir)
	if err != nil {
		return err
	}
	return move(filepath.Join(folder, from), filepath.Join(folder, to), windows.MOVEFILE_WRITE_THROUGH)
}

// move waits for whoever else has the file open. That access is denied may be due to such a program as well, which has it
// open to delete it, or to the target being a folder or not ours: those do not pass.
func move(from, to string, flags uint32) error {
	old, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	final, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	pause := 5 * time.Millisecond
	for waited := time.Duration(0); ; waited += pause {
		err = windows.MoveFileEx(old, final, flags)
		busy := errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
		if !busy || waited > lookedAt {
			return os.NewSyscallError("MoveFileEx", err)
		}
		time.Sleep(pause)
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// Path is where an open folder is now, in the form that knows no limit of length.
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

// Flush has nothing to do: names are on the disk in their order, and at the latest when NameNew or Rename returns.
func Flush(*os.File) error { return nil }

// FlushFolder is Flush of the folder at path.
func FlushFolder(string) error { return nil }

func writable(string) bool { return false } // nothing is to be flushed there
