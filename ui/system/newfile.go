package system

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"countersign/internal/disk"
)

// NewFile is a file that gets its name when all of it is written, and on the disk: until then it is a hidden one beside it, and
// what has the name stays as it is. It belongs to one goroutine.
type NewFile struct {
	temp    *os.File
	path    string
	replace bool
}

// Create begins a file for its owner alone, which may take the place of another one only with replace.
func Create(path string, replace bool) (*NewFile, error) {
	if _, err := os.Lstat(path); err == nil && !replace {
		return nil, fs.ErrExist
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".countersign-*")
	if err != nil {
		return nil, err
	}
	return &NewFile{temp, path, replace}, nil
}

func (f *NewFile) Write(b []byte) (int, error) { return f.temp.Write(b) }

// Keep gives the file its name. When it fails, nothing of it is left.
func (f *NewFile) Keep() error {
	if f.replace {
		return disk.Replace(f.temp, f.path)
	}
	return disk.Create(f.temp, f.path)
}

func (f *NewFile) Discard() { _ = errors.Join(f.temp.Close(), os.Remove(f.temp.Name())) }
