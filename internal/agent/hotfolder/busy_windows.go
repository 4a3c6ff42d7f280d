package hotfolder

import (
	"io/fs"
	"path/filepath"
	"syscall"

	"countersign/internal/disk"

	"golang.org/x/sys/windows"
)

// busy reports whether another program has the file open: then it cannot be opened exclusively.
func busy(dir *disk.Dir, info fs.FileInfo) bool {
	path, err := disk.Path(dir.File())
	if err != nil {
		return false
	}
	name, err := windows.UTF16PtrFromString(filepath.Join(path, info.Name()))
	if err != nil {
		return false
	}
	const asItIs = windows.FILE_ATTRIBUTE_NORMAL | windows.FILE_FLAG_OPEN_REPARSE_POINT // does not follow links
	h, err := windows.CreateFile(name, windows.GENERIC_READ, 0, nil, windows.OPEN_EXISTING, asItIs, 0)
	if err == nil {
		_ = windows.CloseHandle(h)
	}
	return disk.Busy(err)
}

func hidden(info fs.FileInfo) bool {
	data, ok := info.Sys().(*syscall.Win32FileAttributeData)
	return ok && data.FileAttributes&(windows.FILE_ATTRIBUTE_HIDDEN|windows.FILE_ATTRIBUTE_SYSTEM) != 0
}
