// Package preview looks into PDF documents: how many pages there are, and what the first one looks like. It is the one
// place that reads documents from outside, and takes them to be hostile.
//
// It promises:
//   - A document is read in a process of its own that ends with the answer, by PDFium compiled to WebAssembly, which
//     reaches nothing but the bytes it is given. One such process runs at a time.
//   - That process is bounded, see Confine, and gets no secrets: neither the environment nor the path of the document.
//     When it takes too long, or when nobody waits any more, it is killed.
//   - The size of a picture is decided before it is drawn.
//   - Nothing is decoded here. An answer is a few numbers and as many raw pixels as they say, checked before they are read.
//
// It knows nothing of the office, and what to tell people of a document that cannot be read is the caller's business.
package preview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What is told of a document that cannot be looked into.
var (
	ErrNotPDF     = errors.New("not a PDF document") // no %PDF- within the first KiB
	ErrPassword   = errors.New("protected by a password")
	ErrUnreadable = errors.New("cannot be read") // damaged, or reading it takes more than it may
	ErrTooLarge   = errors.New("too large to be looked into")
)

// errNoReader is the answer where no program reads documents.
var errNoReader = errors.New("nothing here reads documents")

// Limits of what is read and drawn.
const (
	maxFile  = 64 << 20 // bytes
	maxWidth = 1000     // pixels
	maxTall  = 4        // times the width

	startPatience = time.Minute      // compiling PDFium, the first time, on a slow and busy computer
	readPatience  = 30 * time.Second // from then on
)

// Reader looks into documents. Its methods may be called from several goroutines; they wait for each other.
type Reader struct {
	program []string
	turn    chan struct{} // held by whoever has a process

	// What a test sees and changes.
	patience time.Duration
	ended    func(*os.ProcessState)
}

// NewReader returns a Reader whose processes are the program, started with its arguments and a width. It must call
// Serve. Without a program nothing is read.
func NewReader(program ...string) *Reader {
	return &Reader{program: program, turn: make(chan struct{}, 1), patience: readPatience}
}

// Pages counts the pages of the document at path.
func (r *Reader) Pages(ctx context.Context, path string) (int, error) {
	got, _, err := r.look(ctx, path, 0)
	return int(got.Pages), err
}

// FirstPage draws page 1 of the document at path, width pixels wide; one that is very tall is drawn narrower.
func (r *Reader) FirstPage(ctx context.Context, path string, width int) (image.Image, error) {
	if width < 1 || width > maxWidth {
		return nil, fmt.Errorf("a width of %d pixels cannot be drawn", width)
	}
	_, img, err := r.look(ctx, path, width)
	if err != nil {
		return nil, err
	}
	return img, nil
}

// look has the document at path read, and page 1 drawn when width is not 0.
func (r *Reader) look(ctx context.Context, path string, width int) (reply, *image.RGBA, error) {
	f, err := openDocument(path)
	if err != nil {
		return reply{}, nil, err
	}
	defer f.Close()
	if len(r.program) == 0 {
		return reply{}, nil, errNoReader
	}
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return reply{}, nil, ctx.Err()
	}
	got, img, err := r.ask(ctx, f, width)
	if err != nil {
		return reply{}, nil, fmt.Errorf("look into %s: %w", filepath.Base(path), err)
	}
	return got, img, nil
}

// openDocument opens a file that may be read: a regular one, not too large, that begins as a PDF does.
func openDocument(path string) (*os.File, error) {
	info, err := os.Stat(path) // opening a pipe would wait for its other end
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), ErrNotPDF)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 1024)
	n, err := f.ReadAt(head, 0) // the process reads from the beginning, too
	switch {
	case err != nil && err != io.EOF:
	case !bytes.Contains(head[:n], []byte("%PDF-")):
		err = fmt.Errorf("%s: %w", filepath.Base(path), ErrNotPDF)
	case info.Size() > maxFile:
		err = fmt.Errorf("%s: %w", filepath.Base(path), ErrTooLarge)
	default:
		return f, nil
	}
	f.Close()
	return nil, err
}

// ask runs a process that reads the document and returns its answer.
func (r *Reader) ask(ctx context.Context, document *os.File, width int) (reply, *image.RGBA, error) {
	caller := ctx
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	cmd := exec.CommandContext(ctx, r.program[0], slices.Concat(r.program[1:], []string{strconv.Itoa(width)})...)
	cmd.Stdin, cmd.Env = document, harmlessEnvironment(os.Environ())
	out, err := cmd.StdoutPipe()
	if err != nil {
		return reply{}, nil, err
	}
	if err := cmd.Start(); err != nil {
		return reply{}, nil, fmt.Errorf("start the reader of documents: %w", err)
	}
	defer func() {
		kill()
		_ = cmd.Wait() // it was killed, or said all
		if r.ended != nil {
			r.ended(cmd.ProcessState)
		}
	}()

	timer := time.AfterFunc(startPatience, kill)
	defer timer.Stop()
	var ready [1]byte
	if _, err := io.ReadFull(out, ready[:]); err != nil || ready[0] != isReady {
		return reply{}, nil, fmt.Errorf("the reader of documents did not start: %w", errors.Join(caller.Err(), err))
	}
	// From here on whatever goes wrong is the document's fault.
	timer.Reset(r.patience)
	got, img, err := receive(out, width)
	if err != nil && caller.Err() != nil {
		return reply{}, nil, caller.Err()
	}
	return got, img, err
}

// harmlessEnvironment is what of an environment a process that reads documents gets: where it may keep the compiled
// PDFium, and nothing secret.
func harmlessEnvironment(all []string) []string {
	kept := []string{} // nil would be everything
	for _, e := range all {
		name, _, _ := strings.Cut(e, "=")
		switch strings.ToUpper(name) {
		case "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "SYSTEMROOT":
			kept = append(kept, e)
		}
	}
	return kept
}
