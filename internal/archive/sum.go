package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"

	"countersign/internal/disk"
	"countersign/internal/office/filename"
)

// SHA256 is that of the file at rel, in hex, if it is the one of this size in bytes and this digest, as Saved has it. It is
// empty when there is another one, or none.
func (f *Folder) SHA256(rel string, size int64, digest string) (string, error) {
	if !filename.Safe(rel) {
		return "", f.fail(rel, ErrBadName, nil)
	}
	file, err := f.openSized(rel, size)
	if err != nil {
		return "", f.because(rel, err)
	}
	if file == nil {
		return "", nil
	}
	defer file.Close()
	known, want := likeDigest(digest)
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(known, sum), io.LimitReader(file, size+1)); err != nil {
		return "", f.because(rel, err)
	}
	if !strings.EqualFold(hex.EncodeToString(known.Sum(nil)), want) {
		return "", nil
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// OpenSaved opens a saved document, rel below the folder, for reading. It may lie where nothing can be written. The error is that of
// the system or of package disk.
func OpenSaved(folder, rel string) (*os.File, error) {
	dir, err := disk.OpenDir(folder)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	at, name, err := dir.Parent(rel)
	if err != nil {
		return nil, err
	}
	defer at.Close()
	return at.Open(name, nil, 0)
}
