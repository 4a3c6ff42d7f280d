package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path"
	"sync"

	"countersign/internal/disk"
	"countersign/internal/office/filename"
)

const (
	// bufferSize is a compromise between the number of system calls and the size of the processor's cache.
	bufferSize = 256 << 10

	// writeBehind is how many bytes may wait in memory before the system is asked to begin writing them. So when the last byte of
	// a document arrives, most of it is on the disk already and the final flush is short.
	writeBehind = 8 << 20
)

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

type intake struct {
	body   Reader
	buffer *[bufferSize]byte
	have   int   // bytes in the buffer that were not returned yet
	err    error // what ended the body

	flushed int64 // bytes the system was asked to begin writing
}

// newIntake writes the body to sum as it arrives, not from the file afterwards: in a folder that others write to, the file
// may have been swapped by then.
func newIntake(ctx context.Context, body io.Reader, sum io.Writer) *intake {
	return &intake{body: Reader{ctx, io.TeeReader(body, sum)}, buffer: buffers.Get().(*[bufferSize]byte)}
}

// peek reads the first n bytes, or fewer with the error that ended the body. The next chunk begins with them.
func (in *intake) peek(n int) ([]byte, error) {
	for in.have < n && in.err == nil {
		var got int
		got, in.err = in.body.Read(in.buffer[in.have:n])
		in.have += got
	}
	return in.buffer[:in.have], in.err
}

// next is the next chunk and the error that ended the body with it. The chunk is valid until the following call.
func (in *intake) next() ([]byte, error) {
	chunk, err := in.peek(bufferSize)
	in.have = 0
	return chunk, err
}

func (in *intake) close() { buffers.Put(in.buffer) }

// writtenBehind asks the system, every now and then, to begin writing the first size bytes of file.
func (in *intake) writtenBehind(file *os.File, size int64) {
	if size-in.flushed < writeBehind {
		return
	}
	beginFlush(file, in.flushed, size-in.flushed)
	in.flushed = size
}

// Reader stops reading when its context ends.
type Reader struct {
	Ctx context.Context
	io.Reader
}

func (r Reader) Read(p []byte) (int, error) {
	if err := r.Ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

// Taking describes a file to be copied into a folder.
type Taking struct {
	Target string   // path below the folder with forward slashes
	Source *os.File // a regular file, open for reading; not closed
	Spare  uint64   // bytes that must stay free on the disk
	Shared bool     // the copy gets the mode of other documents; otherwise only its owner can read it
}

type Taken struct {
	Size   int64  // bytes
	SHA256 string // hex; checked again when the copy is sent
}

// Take copies a file of any kind into the folder. It returns when the copy is on the disk under its name, or when nothing of
// it is left. The copy shows the file as it was at one moment; if the file changes meanwhile, Take fails with ErrChanged. It
// never replaces a file.
func (f *Folder) Take(ctx context.Context, t Taking) (Taken, error) {
	if !filename.Safe(t.Target) {
		return Taken{}, f.fail(t.Target, ErrBadName, nil)
	}
	before, err := t.Source.Stat()
	if err != nil {
		return Taken{}, f.fail(t.Target, ErrUnread, err)
	}
	dir, err := f.prepare(path.Dir(t.Target))
	if err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	defer dir.Close()
	temp, err := createTemp(dir, t.Target)
	if err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	defer temp.discard()
	if !t.Shared {
		temp.mode = 0o600
	}

	taken, err := f.copyOver(ctx, t, dir, temp, before.Size())
	if err != nil {
		return Taken{}, err
	}
	after, err := t.Source.Stat()
	if err != nil {
		return Taken{}, f.fail(t.Target, ErrUnread, err)
	}
	if after.Size() != taken.Size || !after.ModTime().Equal(before.ModTime()) {
		return Taken{}, f.fail(t.Target, ErrChanged, nil)
	}
	if err := f.Syncs.file(ctx, temp.finish); err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	if err := dir.NameNew(temp.name, path.Base(t.Target)); err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	if err := f.flushFolders(path.Dir(t.Target)); err != nil {
		return Taken{}, f.because(t.Target, err)
	}
	return taken, nil
}

// copyOver copies size bytes of the source and then reads them again to detect changes: time stamps are too coarse, and on a
// share too late, to show every change.
func (f *Folder) copyOver(ctx context.Context, t Taking, dir *disk.Dir, temp *temp, size int64) (Taken, error) {
	if free, known := disk.Free(dir.File()); known && uint64(size)+t.Spare > free {
		return Taken{}, f.fail(t.Target, ErrFull, nil)
	}
	sum := sha256.New()
	body := newIntake(ctx, io.NewSectionReader(t.Source, 0, size+1), sum)
	defer body.close()
	copied := int64(0)
	for {
		chunk, err := body.next()
		copied += int64(len(chunk))
		if _, err := temp.file.Write(chunk); err != nil {
			return Taken{}, f.because(t.Target, err)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return Taken{}, f.unread(t.Target, err)
		}
		body.writtenBehind(temp.file, copied)
	}
	f.step(StepWritten, t.Target)
	again := sha256.New()
	n, err := io.Copy(again, Reader{ctx, io.NewSectionReader(t.Source, 0, size+1)})
	if err != nil {
		return Taken{}, f.unread(t.Target, err)
	}
	if n != copied || !bytes.Equal(again.Sum(nil), sum.Sum(nil)) {
		return Taken{}, f.fail(t.Target, ErrChanged, nil)
	}
	return Taken{Size: copied, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

// unread is the error for a source that could not be read.
func (f *Folder) unread(target string, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return f.fail(target, nil, cause)
	}
	return f.fail(target, ErrUnread, cause)
}
