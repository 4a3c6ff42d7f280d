package secret

import (
	"io/fs"

	"golang.org/x/sys/windows"
)

// openToOthers knows nothing here: Go's modes do not show access lists.
func openToOthers(fs.FileInfo) bool { return false }

// syncFolder does nothing: renameNew writes through.
func syncFolder(string) error { return nil }

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
	return windows.MoveFileEx(oldName, newName, windows.MOVEFILE_WRITE_THROUGH)
}
