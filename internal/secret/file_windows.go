package secret

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// syncFolder does nothing: renameNew writes through.
func syncFolder(string) error { return nil }

// openFile opens a file to read it, also one that is just being given its name.
func openFile(path string) (in *os.File, err error) {
	err = patiently(func() error {
		in, err = os.Open(path)
		return err
	})
	return in, err
}

// renameNew renames a file and fails with fs.ErrExist when the new name is taken.
func renameNew(from, to string) error {
	oldName, err := windows.UTF16PtrFromString(from)
	if err != nil {
		return err
	}
	newName, err := windows.UTF16PtrFromString(to)
	if err != nil {
		return err
	}
	return patiently(func() error { return windows.MoveFileEx(oldName, newName, windows.MOVEFILE_WRITE_THROUGH) })
}

// patiently tries for up to two seconds while another program, as a virus scanner, has the file open.
func patiently(do func() error) (err error) {
	const pause = 10 * time.Millisecond
	for range 2 * time.Second / pause {
		if err = do(); !errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
			break
		}
		time.Sleep(pause)
	}
	return err
}
