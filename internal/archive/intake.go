package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"
	"path"
	"sync"

	"countersign/internal/disk"
	"countersign/internal/office/filename"
)

const (
	// bufferSize is a compromise between system calls and the processor's cache. The buffers of a save hold what most
	// documents are made of, so that their hash waits until the disk is busy.
	bufferSize  = 256 << 10
	buffersEach = 6

	// behind is how many bytes may wait in memory before the system is asked to begin writing them. A document is then
	// almost on the disk when its last byte comes, and the flush at the end is short.
	behind = 8 << 20
)

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// intake is a body being read and hashed. Hashing is beside the network and the disk, never between them: a document that
// fits the buffers is hashed when its digest is asked for, while the disk is busy with it already, and the chunks of a
// larger one on a goroutine of the intake's own while the caller writes them and reads on. The goroutine is gone when close
// returns.
type intake struct {
	body reader
	head []byte // peeked and not yet handed out
	err  error  // that came with head
	sum  hash.Hash

	all  []*[bufferSize]byte
	free chan []byte   // not in use by anyone
	work chan []byte   // handed out, to be hashed; nil when all is
	done chan struct{} // nil until the goroutine runs

	flushed int64 // bytes the system was asked to begin writing
}

func newIntake(ctx context.Context, body io.Reader, sum hash.Hash) *intake {
	return &intake{body: reader{ctx, body}, sum: sum, free: make(chan []byte, buffersEach), work: make(chan []byte, buffersEach)}
}

// buffer returns one that is free, and waits for it when all of them are to be hashed.
func (in *intake) buffer() []byte {
	select {
	case buf := <-in.free:
		return buf
	default:
	}
	if len(in.all) < buffersEach {
		buf := buffers.Get().(*[bufferSize]byte)
		in.all = append(in.all, buf)
		return buf[:]
	}
	if in.done == nil {
		in.done = make(chan struct{})
		go func() {
			defer close(in.done)
			in.hash()
		}()
	}
	return <-in.free
}

// hash takes what is to be hashed until there will be no more. Each chunk it is done with becomes free, in order, so the
// caller's last chunk is not read into before the caller asks for the next one.
func (in *intake) hash() {
	for chunk := range in.work {
		in.sum.Write(chunk) // never fails
		in.free <- chunk[:bufferSize]
	}
}

// fill reads until buf has n bytes, or the body has ended with an error.
func (in *intake) fill(buf []byte, n int) []byte {
	have := len(buf)
	for buf = buf[:n]; have < n && in.err == nil; {
		var got int
		got, in.err = in.body.Read(buf[have:])
		have += got
	}
	return buf[:have]
}

// peek reads the first n bytes, or fewer with the error that ended the body. The next chunk begins with them.
func (in *intake) peek(n int) ([]byte, error) {
	in.head = in.fill(in.buffer()[:0], n)
	return in.head, in.err
}

// next is the next chunk and the error that ended the body with it. The chunk is valid until the following call.
func (in *intake) next() ([]byte, error) {
	chunk := in.head
	if in.head = nil; chunk == nil {
		chunk = in.buffer()[:0]
	}
	chunk = in.fill(chunk, bufferSize)
	in.work <- chunk // there is a place for each buffer
	return chunk, in.err
}

// stop waits for the hash of all that was handed out.
func (in *intake) stop() {
	if in.work == nil {
		return
	}
	close(in.work)
	if in.done != nil {
		<-in.done
	} else {
		in.hash()
	}
	in.work = nil
}

// digest is the hash of the whole body. Nothing may be read after it.
func (in *intake) digest() hash.Hash {
	in.stop()
	return in.sum
}

// close ends the goroutine and gives the buffers back. Closing again does nothing.
func (in *intake) close() {
	in.stop()
	for _, buf := range in.all {
		buffers.Put(buf)
	}
	in.all = nil
}

// writtenBehind asks the system, now and then, to begin writing the first size bytes of file.
func (in *intake) writtenBehind(file *os.File, size int64) {
	if size-in.flushed < behind {
		return
	}
	beginFlush(file, in.flushed, size-in.flushed)
	in.flushed = size
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

// Taking is a file to be copied into a folder.
type Taking struct {
	Target string   // path below the folder with forward slashes
	Source *os.File // a regular file, open for reading; not closed
	Spare  uint64   // bytes that must stay free on the disk
	Shared bool     // the copy is as readable as any document here; else by its owner alone
}

// Taken is what a copy is made of.
type Taken struct {
	Size   int64  // bytes
	SHA256 string // hex; the copy is checked against it once more when it is sent
}

// Take copies a file of any kind into the folder and returns when the copy is on the disk under its name, or when
// nothing of it is left. The copy is the file as it was at one moment: one that changes meanwhile
// fails with ErrChanged. It never replaces a file.
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

	taken, err := f.copyOver(ctx, t, dir.File(), temp.file, before.Size())
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

// copyOver copies size bytes of the source, and reads them a second time: a time stamp is too coarse, and on a share too
// late, to tell of every change.
func (f *Folder) copyOver(ctx context.Context, t Taking, dir, file *os.File, size int64) (Taken, error) {
	if free, known := disk.Free(dir); known && uint64(size)+t.Spare > free {
		return Taken{}, f.fail(t.Target, ErrFull, nil)
	}
	body := newIntake(ctx, io.NewSectionReader(t.Source, 0, size+1), sha256.New())
	defer body.close()
	copied := int64(0)
	for {
		chunk, err := body.next()
		copied += int64(len(chunk))
		if _, err := file.Write(chunk); err != nil {
			return Taken{}, f.because(t.Target, err)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return Taken{}, f.unread(t.Target, err)
		}
		body.writtenBehind(file, copied)
	}
	taken := Taken{Size: copied, SHA256: hex.EncodeToString(body.digest().Sum(nil))}
	f.step(StepWritten, t.Target)
	again, err := digestOf(ctx, io.NewSectionReader(t.Source, 0, size+1))
	if err != nil {
		return Taken{}, f.unread(t.Target, err)
	}
	if again != taken {
		return Taken{}, f.fail(t.Target, ErrChanged, nil)
	}
	return taken, nil
}

// unread is the error of a source that could not be read.
func (f *Folder) unread(target string, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return f.fail(target, nil, cause)
	}
	return f.fail(target, ErrUnread, cause)
}

func digestOf(ctx context.Context, r io.Reader) (Taken, error) {
	sum := sha256.New()
	n, err := io.Copy(sum, reader{ctx, r})
	return Taken{Size: n, SHA256: hex.EncodeToString(sum.Sum(nil))}, err
}
