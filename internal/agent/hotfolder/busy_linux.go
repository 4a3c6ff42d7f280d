package hotfolder

import (
	"errors"
	"io/fs"

	"countersign/internal/disk"

	"golang.org/x/sys/unix"
)

// busy reports whether another program has the file open for writing, if that can be found out: then a read lease is refused
// (fcntl(2), F_SETLEASE). Network shares, and files of other users, do not support leases.
func busy(dir *disk.Dir, info fs.FileInfo) bool {
	file, err := dir.Open(info.Name(), info, 0)
	if err != nil {
		return disk.Busy(err) // for any other error, taking the file reports why it cannot be read
	}
	defer file.Close()
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK) // held until it is closed
	return errors.Is(err, unix.EAGAIN)
}

// hidden reports whether the file is hidden from people; here only its name decides.
func hidden(fs.FileInfo) bool { return false }
