package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"countersign/internal/office"
	"countersign/internal/preview"
)

// hugeFile is the size in bytes above which people are warned.
const hugeFile = 100 << 20

// FileInfo is what can be told of a file before it is sent.
type FileInfo struct {
	Path    string
	Name    string
	Size    int64  // bytes
	Pages   int    // 0 while unknown
	Problem string // why it cannot be sent, one sentence
	Warning string // what to know before sending it, one sentence
}

// Inspect looks at a file that is to be sent. It may take a moment; run it off the UI's goroutine.
func (a *Agent) Inspect(ctx context.Context, path string) FileInfo {
	f, err := a.draftFile(path)
	info := FileInfo{Path: f.Path, Name: f.Name, Size: f.Size}
	if err != nil {
		info.Path, info.Name, info.Problem = path, filepath.Base(path), Sentence(err)
		return info
	}
	a.hold(ctx, f)
	if f.Size > hugeFile {
		info.Warning = fmt.Sprintf("%s is %d MB large; sending it takes a while.", office.Quote(f.Name), f.Size/1_000_000)
	}
	if !strings.EqualFold(filepath.Ext(f.Name), ".pdf") {
		return info
	}
	info.Pages, err = a.documents.Pages(ctx, a.bytesOf(f))
	switch {
	case errors.Is(err, preview.ErrNotPDF):
		info.Problem = fmt.Sprintf("%s is not a PDF document, although its name says so.", office.Quote(f.Name))
	case errors.Is(err, preview.ErrPassword):
		info.Problem = fmt.Sprintf("%s is protected by a password. Remove the protection and add it again.", office.Quote(f.Name))
	case errors.Is(err, preview.ErrUnreadable):
		info.Warning = fmt.Sprintf("%s cannot be read on this computer and may be damaged; it can still be sent.", office.Quote(f.Name))
	case err != nil:
		a.Log.Debug("the pages of a file were not counted", "err", err)
	}
	return info
}
