package outbox

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"countersign/internal/message"
	"countersign/internal/office"
	"countersign/internal/preview"
)

// hugeFile is the size in bytes above which people are warned.
const hugeFile = 100 << 20

// FileInfo is what can be told of a file before it is sent.
type FileInfo struct {
	Path    string
	Name    string
	Size    int64           // bytes
	Pages   int             // 0 while unknown
	Problem message.Message // why it cannot be sent
	Warning message.Message // what to know before sending it
}

// Inspect looks at a file that is to be sent. It may take a moment; run it off the UI's goroutine.
func (r *Service) Inspect(ctx context.Context, path string) FileInfo {
	d, err := openDocument(path)
	if err != nil {
		return FileInfo{Path: path, Name: filepath.Base(path), Problem: message.For(err)}
	}
	d.file.Close()
	return r.look(ctx, d.DraftFile, d.Path)
}

// look tells of f, the bytes of which are in the file at path.
func (r *Service) look(ctx context.Context, f office.DraftFile, path string) (info FileInfo) {
	info = FileInfo{Path: f.Path, Name: f.Name, Size: f.Size}
	if f.Size > hugeFile {
		info.Warning = message.FileLarge(f.Name, f.Size)
	}
	if !strings.EqualFold(filepath.Ext(f.Name), ".pdf") {
		return info
	}
	var err error
	info.Pages, err = r.deps.Pages(ctx, path)
	switch {
	case errors.Is(err, preview.ErrNotPDF):
		info.Problem = message.FileNotPDF(f.Name)
	case errors.Is(err, preview.ErrPassword):
		info.Problem = message.FileProtected(f.Name)
	case errors.Is(err, preview.ErrUnreadable):
		info.Warning = message.FileMaybeDamaged(f.Name)
	case err != nil:
		r.Log.Debug("the pages of a file were not counted", "err", err)
	}
	return info
}
