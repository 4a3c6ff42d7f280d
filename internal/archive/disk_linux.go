package archive

import (
	"os"

	"golang.org/x/sys/unix"
)

// beginFlush asks the system to start writing part of a file to disk. It is only advice and never fails.
func beginFlush(file *os.File, from, size int64) {
	_ = unix.SyncFileRange(int(file.Fd()), from, size, unix.SYNC_FILE_RANGE_WRITE)
}
