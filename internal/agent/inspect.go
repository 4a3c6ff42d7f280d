package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
)

// hugeFile is the size in bytes above which people are warned.
const hugeFile = 100 << 20

// inspectMost is the size in bytes up to which a PDF's pages are counted: pdfcpu reads the whole file.
const inspectMost = 64 << 20

// FileInfo is what can be told of a file before it is sent.
type FileInfo struct {
	Path    string
	Name    string
	Size    int64  // bytes
	Pages   int    // 0 while unknown
	Problem string // why it cannot be sent, one sentence
	Warning string // what to know before sending it, one sentence
}

var pdfcpuQuiet = sync.OnceFunc(api.DisableConfigDir) // it would make a folder in the user's settings

// Inspect looks at a file that is to be sent. It may take a moment for a large one; run it off the UI's goroutine.
func (a *Agent) Inspect(ctx context.Context, path string) FileInfo {
	f, err := draftFile(path)
	info := FileInfo{Path: f.Path, Name: f.Name, Size: f.Size}
	if err != nil {
		info.Path, info.Name, info.Problem = path, filepath.Base(path), Sentence(err)
		return info
	}
	if f.Size > hugeFile {
		info.Warning = fmt.Sprintf("%s is %d MB large; sending it takes a while.", quote(f.Name), f.Size/1_000_000)
	}
	if !strings.EqualFold(filepath.Ext(f.Name), ".pdf") || ctx.Err() != nil {
		return info
	}
	info.Pages, err = countPages(f.Path, f.Size)
	switch {
	case err == nil:
	case errors.Is(err, errNotPDF):
		info.Problem = fmt.Sprintf("%s is not a PDF document, although its name says so.", quote(f.Name))
	case errors.Is(err, pdfcpu.ErrWrongPassword):
		info.Problem = fmt.Sprintf("%s is protected by a password. Remove the protection and add it again.", quote(f.Name))
	default:
		info.Warning = fmt.Sprintf("%s may be damaged; the service may refuse it.", quote(f.Name))
	}
	return info
}

var errNotPDF = errors.New("not a PDF document")

// countPages counts the pages of a PDF. It is 0 for one too large to be looked into.
func countPages(path string, size int64) (pages int, err error) {
	// A damaged file must not take the program along.
	defer func() {
		if r := recover(); r != nil {
			pages, err = 0, fmt.Errorf("read %s: %v", filepath.Base(path), r)
		}
	}()
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	head := make([]byte, 1024)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return 0, err
	}
	if !bytes.Contains(head[:n], []byte("%PDF-")) {
		return 0, errNotPDF
	}
	if size > inspectMost {
		return 0, nil
	}
	pdfcpuQuiet()
	conf := model.NewDefaultConfiguration()
	conf.ValidationMode = model.ValidationRelaxed
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return 0, err
	}
	return api.PageCount(f, conf)
}
