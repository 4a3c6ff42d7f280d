package disk

import (
	"io/fs"
	"os"
)

// OpenFile opens a regular file that somebody named, to be read, and says what it is; links are followed. What was opened is what
// is judged: the path may lead to another file a moment later. It never waits for the other end of a pipe.
func OpenFile(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotFile}
	}
	if err != nil {
		file.Close()
		return nil, info, err
	}
	return file, info, nil
}
