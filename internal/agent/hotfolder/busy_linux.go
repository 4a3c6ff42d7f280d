package hotfolder

import (
	"errors"
	"io/fs"

	"countersign/internal/disk"

	"golang.org/x/sys/unix"
)

// busy reports whether somebody has the file open for writing, as far as that can be found out: a read lease is refused
// then (fcntl(2), F_SETLEASE). Shares, and files of other users, have no leases.
func busy(dir *disk.Dir, info fs.FileInfo) bool {
	file, err := dir.Open(info.Name(), info, 0)
	if err != nil {
		return disk.Busy(err) // of anything else, whoever takes it will say why it cannot be read
	}
	defer file.Close()
	_, err = unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_RDLCK) // until it is closed
	return errors.Is(err, unix.EAGAIN)
}

// hidden reports whether people do not see the file. Its name tells.
func hidden(fs.FileInfo) bool { return false }
