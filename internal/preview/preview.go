// Package preview draws the first page of a PDF, small, for a list. Documents come from outside and are taken to be
// hostile: they are read by PDFium compiled to WebAssembly, which sees nothing but the bytes it is given, in a process
// of its own that ends with the picture and costs its memory only meanwhile. It knows nothing of the office.
package preview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"
)

// Limits of what is drawn.
const (
	maxFile  = 64 << 20    // bytes
	maxWidth = 2000        // pixels
	patience = time.Minute // on a slow and busy computer compiling PDFium alone takes a good part of it
)

// errTooLarge is a file that is not drawn.
var errTooLarge = errors.New("too large for a preview")

// Draw writes page 1 of the PDF file at path to w as a PNG of that width in pixels. It needs about 100 MB while it
// runs: it is what the child process of Page does.
func Draw(ctx context.Context, path string, width int, w io.Writer) (err error) {
	if width < 1 || width > maxWidth {
		return fmt.Errorf("a width of %d pixels cannot be drawn", width)
	}
	doc, err := read(path)
	if err != nil {
		return err
	}
	// Compiling PDFium takes more than a second; the result is kept for the next time.
	compiled := wazero.NewRuntimeConfig()
	if dir, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "countersign", "preview")); err == nil {
			defer cache.Close(ctx)
			compiled = compiled.WithCompilationCache(cache)
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		MinIdle: 1, MaxIdle: 1, MaxTotal: 1, RuntimeConfig: compiled,
		FSConfig: wazero.NewFSConfig(), // nothing of the disk is shown to it
	})
	if err != nil {
		return fmt.Errorf("start the PDF renderer: %w", err)
	}
	defer func() { err = errors.Join(err, pool.Close()) }()
	instance, err := pool.GetInstance(patience)
	if err != nil {
		return fmt.Errorf("start the PDF renderer: %w", err)
	}
	defer instance.Close()
	opened, err := instance.OpenDocument(&requests.OpenDocument{File: &doc})
	if err != nil {
		return fmt.Errorf("open %s: %w", filepath.Base(path), err)
	}
	page, err := instance.RenderPageInPixels(&requests.RenderPageInPixels{
		Page: requests.Page{ByIndex: &requests.PageByIndex{Document: opened.Document, Index: 0}}, Width: width,
	})
	if err != nil {
		return fmt.Errorf("draw page 1 of %s: %w", filepath.Base(path), err)
	}
	defer page.Cleanup()
	return png.Encode(w, page.Result.Image)
}

func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, errTooLarge
	}
	return os.ReadFile(path)
}

// Page draws page 1 of the PDF file at path in a child process: program, started with args, the path and the width,
// must call Draw and print the PNG. It gives up after a minute or with ctx.
func Page(ctx context.Context, program string, args []string, path string, width int) (image.Image, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	abs, err := filepath.Abs(path) // so that it cannot be read as a flag
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program, append(args, abs, strconv.Itoa(width))...)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("draw %s: %w", filepath.Base(path), err)
	}
	img, err := png.Decode(&out)
	if err != nil {
		return nil, fmt.Errorf("read the picture of %s: %w", filepath.Base(path), err)
	}
	return img, nil
}
