package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync"
)

// Request is one document to be saved.
type Request struct {
	Target   string    // path below the folder with forward slashes, as Template.Name makes it
	Key      string    // names the job for Sweep, see Token; the same at every try
	Declared int64     // bytes the sender announced, -1 when it did not; a short or long body is refused
	Body     io.Reader // read to its end, not closed

	// Commit, when set, is called once the bytes are on the disk under their temporary name, with what the file will
	// be. What it records lets a restart recognise the finished file with Matches instead of loading it again. An error
	// from it gives the save up.
	Commit func(Saved) error
}

// Saved is what a file is made of.
type Saved struct {
	Size   int64  // bytes
	SHA256 string // hex
}

// Step is a point on the way of a save, for Folder.Steps.
type Step string

const (
	StepCreated Step = "created" // the temporary file is there, empty
	StepWritten Step = "written" // all bytes are in it, checked but not flushed
	StepFlushed Step = "flushed" // and flushed
	StepNamed   Step = "named"   // the file has its final name
	StepDone    Step = "done"    // the folder is flushed too
)

// sniffed is where "%PDF-" must begin: readers accept some bytes before it, and 970 of 971 documents keep to this.
const sniffed = 1024

// bufferSize is a compromise between system calls and the processor's cache.
const bufferSize = 256 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Save writes one document. It returns when the file is on the disk under its final name, or when nothing of it is left:
// any error removes the temporary file. It never replaces a file. When the target appears before the rename it fails with
// ErrExists and still says what it had received, so the caller can ask Matches whether that is the very same document.
//
// The context stops it between two reads of the body; a body that blocks in Read must end by the same context, as that of
// an HTTP answer does. After the rename it no longer stops.
func (f *Folder) Save(ctx context.Context, r Request) (Saved, error) {
	if !safe(r.Target) {
		return Saved{}, f.fail(r.Target, ErrBadName, nil)
	}
	buf := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buf)

	body := &intake{reader: reader{ctx, r.Body}, buf: buf[:]}
	if err := f.sniff(body, r); err != nil {
		return Saved{}, err
	}
	root, dir, err := f.prepare(path.Dir(r.Target))
	if err != nil {
		return Saved{}, f.because(r.Target, err)
	}
	defer root.Close()
	defer dir.Close()
	if free, known := freeSpace(dir); known && r.Declared > 0 && uint64(r.Declared) > free {
		return Saved{}, f.fail(r.Target, ErrFull, nil)
	}

	temp, err := createTemp(root, r.Key)
	if err != nil {
		return Saved{}, f.because(r.Target, err)
	}
	defer temp.discard()
	f.step(StepCreated, r.Target)

	saved, err := f.fill(temp.file, body, r)
	if err != nil {
		return Saved{}, err
	}
	f.step(StepWritten, r.Target)
	if err := temp.finish(); err != nil {
		return Saved{}, f.because(r.Target, err)
	}
	f.step(StepFlushed, r.Target)

	if err := ctx.Err(); err != nil {
		return Saved{}, f.fail(r.Target, nil, err)
	}
	if r.Commit != nil {
		if err := r.Commit(saved); err != nil {
			return Saved{}, f.fail(r.Target, nil, fmt.Errorf("record what will be saved: %w", err))
		}
	}
	if err := renameNew(root, dir, temp.name, path.Base(r.Target)); err != nil {
		return saved, f.because(r.Target, err)
	}
	temp.kept = true
	f.step(StepNamed, r.Target)
	if err := flushFolder(dir); err != nil {
		return saved, f.because(r.Target, err)
	}
	f.step(StepDone, r.Target)
	return saved, nil
}

func (f *Folder) step(step Step, target string) {
	if f.Steps != nil {
		f.Steps(step, target)
	}
}

// intake is a body being read: the bytes at hand and the error that came with them.
type intake struct {
	reader
	buf []byte
	n   int
	err error
}

// sniff reads the beginning of the body and refuses what is not a PDF before a file is made.
func (f *Folder) sniff(body *intake, r Request) error {
	for body.n < sniffed && body.err == nil {
		var n int
		n, body.err = body.Read(body.buf[body.n:sniffed])
		body.n += n
	}
	switch {
	case body.err != nil && body.err != io.EOF:
		return f.download(r.Target, body.err)
	case body.err == io.EOF && int64(body.n) < r.Declared:
		return f.length(r, ErrShort, int64(body.n))
	case !bytes.Contains(body.buf[:body.n], []byte("%PDF-")):
		return f.fail(r.Target, ErrNotPDF, nil)
	}
	return nil
}

// prepare makes the subfolder and opens it, both as a root for names and as a file to flush. A new subfolder is flushed
// into the folders above it: a document is only as durable as the way to it.
func (f *Folder) prepare(sub string) (*os.Root, *os.File, error) {
	name := filepath.FromSlash(sub)
	if _, err := f.root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		if err := f.root.MkdirAll(name, 0o777); err != nil {
			return nil, nil, err
		}
		if err := f.flushFolders(path.Dir(sub)); err != nil {
			return nil, nil, err
		}
	}
	root, err := f.root.OpenRoot(name)
	if err != nil {
		return nil, nil, err
	}
	dir, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, dir, nil
}

// fill copies the body into file, what was sniffed of it first, hashing as it goes, and checks the length.
func (f *Folder) fill(file io.Writer, body *intake, r Request) (Saved, error) {
	sum := sha256.New()
	size := int64(0)
	for {
		chunk := body.buf[:body.n]
		size += int64(len(chunk))
		if r.Declared >= 0 && size > r.Declared {
			return Saved{}, f.length(r, ErrLong, size)
		}
		if _, err := file.Write(chunk); err != nil {
			return Saved{}, f.because(r.Target, err)
		}
		sum.Write(chunk) // never fails
		if body.err != nil {
			break
		}
		body.n, body.err = body.Read(body.buf)
	}
	if body.err != io.EOF {
		return Saved{}, f.download(r.Target, body.err)
	}
	if size < r.Declared {
		return Saved{}, f.length(r, ErrShort, size)
	}
	return Saved{Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// length is the error of a body that was longer or shorter than announced.
func (f *Folder) length(r Request, kind error, got int64) error {
	return &Error{Kind: kind, Folder: f.dir, File: r.Target, Got: got, Want: r.Declared}
}

// download is the error of a body that broke off.
func (f *Folder) download(rel string, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return f.fail(rel, nil, cause)
	}
	return f.fail(rel, ErrDownload, cause)
}

// reader stops reading when its context ends.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
