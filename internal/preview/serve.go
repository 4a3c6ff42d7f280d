package preview

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/klippa-app/go-pdfium"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

// Limits of a process that reads a document.
const (
	maxCPU    = 6 * time.Second // of reading, not of compiling PDFium
	maxPDFium = 256 << 20       // bytes that PDFium may have, the document among them
	maxMemory = 640 << 20       // bytes of the whole process: PDFium's are copied when they become more

	wasmPage = 64 << 10 // bytes
)

// Serve is what the process of a Reader does: it reads a document from in and writes to out how many pages it has and,
// when width is not 0, page 1, that many pixels wide. The process is confined for good, and fit for nothing else then.
func Serve(ctx context.Context, in *os.File, out io.Writer, width int) (err error) {
	if width < 0 || width > maxWidth {
		return fmt.Errorf("a width of %d pixels cannot be drawn", width)
	}
	engine, stop, err := startPDFium(ctx)
	if err != nil {
		return fmt.Errorf("start the PDF reader: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := Confine(maxMemory, maxCPU); err != nil {
		return fmt.Errorf("confine the PDF reader: %w", err)
	}
	if _, err := out.Write([]byte{isReady}); err != nil {
		return err
	}
	document, err := readAll(in)
	if err != nil {
		return err
	}
	r, img := read(engine, document, width)
	return send(out, r, img)
}

func readAll(in *os.File) ([]byte, error) {
	info, err := in.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, ErrTooLarge
	}
	document := make([]byte, info.Size())
	_, err = io.ReadFull(in, document)
	return document, err
}

// startPDFium compiles PDFium, which takes more than a second; the result is kept for the next time.
func startPDFium(ctx context.Context) (engine pdfium.Pdfium, stop func() error, err error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(maxPDFium / wasmPage)
	if dir, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "countersign", "preview")); err == nil {
			defer cache.Close(ctx)
			config = config.WithCompilationCache(cache)
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		MinIdle: 1, MaxIdle: 1, MaxTotal: 1, RuntimeConfig: config, Stdout: io.Discard, Stderr: io.Discard,
		FSConfig: wazero.NewFSConfig(), // nothing of the disk is shown to it
	})
	if err != nil {
		return nil, nil, err
	}
	instance, err := pool.GetInstance(startPatience)
	if err != nil {
		return nil, nil, errors.Join(err, pool.Close())
	}
	return instance, pool.Close, nil
}

// read looks into a document. One whose pages can be counted but not drawn is unreadable to whoever wants a picture.
func read(engine pdfium.Pdfium, document []byte, width int) (reply, *image.RGBA) {
	opened, err := engine.OpenDocument(&requests.OpenDocument{File: &document})
	switch {
	case errors.Is(err, pdfiumerrors.ErrPassword):
		return reply{Verdict: isProtected}, nil
	case err != nil:
		return reply{Verdict: isUnreadable}, nil
	}
	count, err := engine.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: opened.Document})
	if err != nil || count.PageCount < 1 {
		return reply{Verdict: isUnreadable}, nil
	}
	r := reply{Verdict: isRead, Pages: uint32(count.PageCount)}
	if width == 0 {
		return r, nil
	}
	first := requests.Page{ByIndex: &requests.PageByIndex{Document: opened.Document, Index: 0}}
	size, err := engine.GetPageSize(&requests.GetPageSize{Page: first})
	if err != nil {
		return reply{Verdict: isUnreadable}, nil
	}
	w, h, ok := fit(size.Width, size.Height, width)
	if !ok {
		return reply{Verdict: isUnreadable}, nil
	}
	page, err := engine.RenderPageInPixels(&requests.RenderPageInPixels{Page: first, Width: w, Height: h})
	if err != nil {
		return reply{Verdict: isUnreadable}, nil
	}
	return r, page.Result.Image
}

// fit is the size in pixels of the picture of a page: width pixels wide, and narrower when it would be too tall. It is
// not ok for a page without a size.
func fit(pageWidth, pageHeight float64, width int) (w, h int, ok bool) {
	ratio := pageHeight / pageWidth
	if math.IsNaN(ratio) || math.IsInf(ratio, 0) || pageWidth <= 0 || pageHeight <= 0 {
		return 0, 0, false
	}
	if ratio > maxTall {
		return max(1, int(maxTall*float64(width)/ratio)), maxTall * width, true
	}
	return width, max(1, int(math.Round(float64(width)*ratio))), true
}
