// Package preview looks into PDF documents: how many pages they have, and what a page looks like. It also runs other code,
// of which it knows nothing, over documents in the same safe way. It is the only place that reads documents from outside,
// and treats them as hostile.
//
// It promises:
//   - A document is read in a process of its own that ends with the answer, by PDFium compiled to WebAssembly, which can
//     access nothing but the bytes it is given. A Reader runs one such process at a time.
//   - That process is restricted, see Confine, and gets no secrets: neither the environment nor the path of the document.
//     It is killed when it takes too long, or when nobody waits for it any more.
//   - The size of a picture is decided before it is drawn.
//   - This process decodes nothing. An answer is a few numbers and as many raw pixels as they announce, checked before the
//     pixels are read.
//
// It knows nothing of the office. The caller tells people about a document that cannot be read.
package preview

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/enums"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	"github.com/tetratelabs/wazero"

	"countersign/internal/disk"
)

// Why a document cannot be read.
var (
	ErrNotPDF     = errors.New("not a PDF document") // no %PDF- within the first KiB
	ErrPassword   = errors.New("protected by a password")
	ErrUnreadable = errors.New("cannot be read") // it is damaged, or reading it exceeds a limit
	ErrTooLarge   = errors.New("too large to be looked into")
)

// ErrNotStarted means that no process could read the document, through no fault of the document: another attempt may
// succeed.
var ErrNotStarted = errors.New("the reader of documents did not start")

// errNoReader is returned when there is no program that reads documents.
var errNoReader = fmt.Errorf("%w: nothing here reads documents", ErrNotStarted)

// Limits of what is read and drawn.
const (
	maxFile  = 64 << 20 // bytes
	maxWidth = 1000     // pixels
	maxTall  = 4        // times the width

	startPatience   = time.Minute      // compiling PDFium, the first time, on a slow and busy computer
	readPatience    = 30 * time.Second // for everything else
	comparePatience = 5 * time.Minute  // for two documents
)

// Reader looks into documents. Its methods may be called from several goroutines; they take turns.
type Reader struct {
	program []string
	turn    chan struct{} // held while a process runs

	// For tests.
	patience time.Duration
	ended    func(*os.ProcessState)
}

// NewReader returns a Reader that starts program, with its arguments followed by a width; the program must call Serve.
// Without a program nothing can be read.
func NewReader(program ...string) *Reader {
	return &Reader{program: program, turn: make(chan struct{}, 1), patience: readPatience}
}

// Pages counts the pages of the document at path.
func (r *Reader) Pages(ctx context.Context, path string) (int, error) {
	f, err := openDocument(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	got, _, err := r.ask(ctx, f, 0, 1)
	return int(got.Pages), err
}

// FirstPage draws page 1 of the document at path, width pixels wide; a very tall page is drawn narrower.
func (r *Reader) FirstPage(ctx context.Context, path string, width int) (image.Image, error) {
	f, err := openDocument(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return r.Page(ctx, f, 1, width)
}

// Page draws a page of an open document, counted from 1, in the same way.
func (r *Reader) Page(ctx context.Context, document *os.File, page, width int) (image.Image, error) {
	if width < 1 || width > maxWidth || page < 1 {
		return nil, fmt.Errorf("page %d cannot be drawn %d pixels wide", page, width)
	}
	info, err := document.Stat()
	if err == nil && info.Size() > maxFile {
		err = ErrTooLarge
	}
	if err != nil {
		return nil, err
	}
	_, img, err := r.ask(ctx, document, width, page)
	if err != nil {
		return nil, err
	}
	return img, nil
}

// openDocument opens a file that may be read: a regular file, not too large, that begins like a PDF.
func openDocument(path string) (*os.File, error) {
	f, info, err := disk.OpenFile(path)
	if errors.Is(err, disk.ErrNotFile) {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), ErrNotPDF)
	}
	if err != nil {
		return nil, err
	}
	if err = CheckHeader(f); err == nil && info.Size() <= maxFile {
		return f, nil
	}
	f.Close()
	return nil, fmt.Errorf("%s: %w", filepath.Base(path), cmp.Or(err, ErrTooLarge))
}

// CheckHeader fails with ErrNotPDF if a file does not begin like a PDF.
func CheckHeader(f *os.File) error {
	head := make([]byte, 1024)
	n, err := f.ReadAt(head, 0) // ReadAt, because the process must read from the beginning, too
	if err != nil && err != io.EOF {
		return err
	}
	if !bytes.Contains(head[:n], []byte("%PDF-")) {
		return ErrNotPDF
	}
	return nil
}

// Ask runs a process that answers another question about an open file, of any type and size, and returns its output, at most
// most bytes. The process gets what instead of a width, and must call Begin.
func (r *Reader) Ask(ctx context.Context, document *os.File, what string, most int64) ([]byte, error) {
	return r.askFor(ctx, document, what, most, r.patience)
}

// AskAboutBoth is Ask for two documents, which the process reads with ReadBoth.
func (r *Reader) AskAboutBoth(ctx context.Context, first, second *os.File, what string, most int64) ([]byte, error) {
	var all int64
	var parts []io.Reader
	for _, f := range []*os.File{first, second} {
		if err := CheckHeader(f); err != nil {
			return nil, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		if all += info.Size(); all > maxFile {
			return nil, ErrTooLarge
		}
		head := binary.LittleEndian.AppendUint32(nil, uint32(info.Size()))
		parts = append(parts, bytes.NewReader(head), io.NewSectionReader(f, 0, info.Size()))
	}
	return r.askFor(ctx, io.MultiReader(parts...), what, most, comparePatience)
}

// ReadBoth reads the documents that AskAboutBoth sends.
func ReadBoth(in io.Reader) (first, second []byte, err error) {
	for _, document := range []*[]byte{&first, &second} {
		var size uint32
		if err := binary.Read(in, binary.LittleEndian, &size); err != nil {
			return nil, nil, err
		}
		if size > maxFile {
			return nil, nil, ErrTooLarge
		}
		*document = make([]byte, size)
		if _, err := io.ReadFull(in, *document); err != nil {
			return nil, nil, err
		}
	}
	return first, second, nil
}

func (r *Reader) askFor(ctx context.Context, in io.Reader, what string, most int64, patience time.Duration) (answer []byte, err error) {
	err = r.run(ctx, in, what, patience, func(out io.Reader) (err error) {
		answer, err = io.ReadAll(io.LimitReader(out, most+1))
		if err == nil && (int64(len(answer)) > most || len(answer) == 0) {
			err = ErrUnreadable
		}
		return err
	})
	return answer, err
}

// ask runs a process that reads the document, and returns its answer.
func (r *Reader) ask(ctx context.Context, document *os.File, width, page int) (got reply, img *image.RGBA, err error) {
	what := strconv.Itoa(width)
	if page > 1 {
		what += "/" + strconv.Itoa(page)
	}
	err = r.run(ctx, document, what, r.patience, func(out io.Reader) (err error) {
		got, img, err = receive(out, width)
		return err
	})
	return got, img, err
}

// run runs a process that reads from in, limited to patience once it is ready, and passes its output to receive.
func (r *Reader) run(ctx context.Context, in io.Reader, what string, patience time.Duration, receive func(io.Reader) error) error {
	if len(r.program) == 0 {
		return errNoReader
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	caller := ctx
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	cmd := exec.CommandContext(ctx, r.program[0], slices.Concat(r.program[1:], []string{what})...)
	cmd.Stdin, cmd.Env = in, harmlessEnvironment(os.Environ())
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	defer func() {
		kill()
		_ = cmd.Wait() // it was killed, or has said everything
		if r.ended != nil {
			r.ended(cmd.ProcessState)
		}
	}()

	timer := time.AfterFunc(startPatience, kill)
	defer timer.Stop()
	var ready [1]byte
	if _, err := io.ReadFull(out, ready[:]); err != nil || ready[0] != isReady {
		return fmt.Errorf("%w: %w", ErrNotStarted, errors.Join(caller.Err(), err))
	}
	// From here on, any failure is the document's fault.
	timer.Reset(patience)
	err = receive(out)
	if err != nil && caller.Err() != nil {
		return caller.Err()
	}
	return err
}

// harmlessEnvironment is the part of the environment that a document-reading process gets: where it may cache the compiled
// PDFium, and nothing secret.
func harmlessEnvironment(all []string) []string {
	kept := []string{} // nil would mean the whole environment
	for _, e := range all {
		name, _, _ := strings.Cut(e, "=")
		switch strings.ToUpper(name) {
		case "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "SYSTEMROOT":
			kept = append(kept, e)
		}
	}
	return kept
}

// isReady is the first byte of an answer: the process is restricted and about to read the document.
const isReady = 'R'

type verdict uint32

const (
	isRead verdict = iota + 1
	isProtected
	isUnreadable
)

// reply follows, with a fixed number of bytes, and then the picture's pixels in the format of image.RGBA.
type reply struct {
	Verdict       verdict
	Pages         uint32
	Width, Height uint32 // of the picture, 0 if there is none
}

// send writes an answer. img is nil if no picture was requested.
func send(out io.Writer, r reply, img *image.RGBA) error {
	if img != nil {
		size := img.Bounds().Size()
		r.Width, r.Height = uint32(size.X), uint32(size.Y)
	}
	if err := binary.Write(out, binary.LittleEndian, r); err != nil {
		return err
	}
	if img == nil {
		return nil
	}
	for y := range int(r.Height) {
		if _, err := out.Write(img.Pix[y*img.Stride:][:4*r.Width]); err != nil {
			return err
		}
	}
	return nil
}

// receive reads what send wrote. It does not trust the sender: it accepts nothing larger than width allows.
func receive(in io.Reader, width int) (reply, *image.RGBA, error) {
	var r reply
	if err := binary.Read(in, binary.LittleEndian, &r); err != nil {
		return reply{}, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	switch {
	case r.Verdict == isProtected:
		return reply{}, nil, ErrPassword
	case r.Verdict != isRead:
		return reply{}, nil, ErrUnreadable
	case width == 0:
		return r, nil, nil
	case r.Width == 0, r.Height == 0, r.Width > uint32(width), r.Height > uint32(maxTall*width):
		return reply{}, nil, fmt.Errorf("%w: a picture of %d x %d pixels", ErrUnreadable, r.Width, r.Height)
	}
	img := image.NewRGBA(image.Rect(0, 0, int(r.Width), int(r.Height)))
	if _, err := io.ReadFull(in, img.Pix); err != nil {
		return reply{}, nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return r, img, nil
}

// Limits of a process that reads a document.
const (
	maxCPU    = 6 * time.Second // for reading a document, excluding compiling PDFium
	maxPDFium = 256 << 20       // bytes for PDFium, including the document
	maxMemory = 640 << 20       // bytes for the whole process: PDFium's memory is copied when it grows

	wasmPage = 64 << 10 // bytes
)

// Serve is the main function of a Reader's process: it reads a document from in and writes to out how many pages it has and,
// if what is a width other than 0, a picture of page 1 that many pixels wide; "width/page" selects another page. The process
// is restricted for good and can do nothing else afterwards.
func Serve(ctx context.Context, in *os.File, out io.Writer, what string) (err error) {
	first, number, _ := strings.Cut(what, "/")
	page, _ := strconv.Atoi(cmp.Or(number, "1"))
	width, err := strconv.Atoi(first)
	if err != nil || width < 0 || width > maxWidth || page < 1 {
		return fmt.Errorf("%q cannot be drawn", what)
	}
	engine, stop, err := Start(ctx)
	if err != nil {
		return fmt.Errorf("start the PDF reader: %w", err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := Begin(out, maxCPU); err != nil {
		return err
	}
	document, err := readAll(in)
	if err != nil {
		return err
	}
	r, img := read(engine, document, width, page)
	return send(out, r, img)
}

// Begin restricts this process for good before it reads the document, and reports that it is ready. cpu is the processor
// time it may use.
func Begin(out io.Writer, cpu time.Duration) error {
	if err := Confine(maxMemory, cpu); err != nil {
		return fmt.Errorf("confine the PDF reader: %w", err)
	}
	_, err := out.Write([]byte{isReady})
	return err
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

// Start compiles PDFium, which takes more than a second; the result is cached for the next process.
func Start(ctx context.Context) (engine pdfium.Pdfium, stop func() error, err error) {
	config := wazero.NewRuntimeConfig().WithMemoryLimitPages(maxPDFium / wasmPage)
	if dir, err := os.UserCacheDir(); err == nil {
		if cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "countersign", "preview")); err == nil {
			defer cache.Close(ctx)
			config = config.WithCompilationCache(cache)
		}
	}
	pool, err := webassembly.Init(webassembly.Config{
		MinIdle: 1, MaxIdle: 1, MaxTotal: 1, RuntimeConfig: config, Stdout: io.Discard, Stderr: io.Discard,
		FSConfig: wazero.NewFSConfig(), // it sees nothing of the disk
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

// read looks into a document. If its pages can be counted but not drawn, it counts as unreadable if a picture was requested.
func read(engine pdfium.Pdfium, document []byte, width, number int) (reply, *image.RGBA) {
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
	first := requests.Page{ByIndex: &requests.PageByIndex{Document: opened.Document, Index: number - 1}}
	size, err := engine.GetPageSize(&requests.GetPageSize{Page: first})
	if err != nil {
		return reply{Verdict: isUnreadable}, nil
	}
	w, h, ok := fit(size.Width, size.Height, width)
	if !ok {
		return reply{Verdict: isUnreadable}, nil
	}
	page, err := engine.RenderPageInPixels(&requests.RenderPageInPixels{Page: first, Width: w, Height: h, RenderFlags: enums.FPDF_RENDER_FLAG_ANNOT, RenderForm: true})
	if err != nil {
		return reply{Verdict: isUnreadable}, nil
	}
	return r, page.Result.Image
}

// fit is the size of a page's picture in pixels: width pixels wide, or narrower if it would become too tall. ok is false for
// a page without a size.
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

// watch ends this process when Go has obtained that much memory from the system, or when it has used that much processor
// time. It serves systems that ignore some of Confine's limits: macOS for memory, Wine for time. When it returns, a timer is
// running and the runtime has opened everything it needs for timers.
func watch(memory uint64, cpu time.Duration) {
	debug.SetMemoryLimit(int64(memory / 2)) // the garbage collector works harder from there on
	have := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	var look func()
	look = func() {
		metrics.Read(have)
		used, err := cpuTime()
		if err != nil || used > cpu || have[0].Value.Uint64()-have[1].Value.Uint64() > memory {
			os.Exit(1)
		}
		time.AfterFunc(50*time.Millisecond, look)
	}
	look()
}
