package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path/filepath"
	"strings"

	"countersign/internal/office/filename"
)

// SHA256 is that of the file at rel, in hex, if it is the one of this size in bytes and this digest, as Saved has it. It is
// empty when there is another one, or none.
func (f *Folder) SHA256(rel string, size int64, digest string) (string, error) {
	if !filename.Safe(rel) {
		return "", f.fail(rel, ErrBadName, nil)
	}
	name := filepath.FromSlash(rel)
	info, err := f.root.Lstat(name)
	if err != nil {
		return "", f.because(rel, err)
	}
	if !info.Mode().IsRegular() || info.Size() != size {
		return "", nil
	}
	file, err := f.root.Open(name)
	if err != nil {
		return "", f.because(rel, err)
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
