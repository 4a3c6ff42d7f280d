package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"os"
	"sync"
)

const (
	// bufferSize is a compromise between system calls and the processor's cache; three of them go round in a save.
	bufferSize  = 256 << 10
	buffersEach = 3

	// alone is how many bytes are hashed between read and write. Waking another goroutine costs more than it saves on
	// the few chunks of a usual document.
	alone = 4 << 20

	// behind is how many bytes may wait in memory before the system is asked to begin writing them. A document is then
	// almost on the disk when its last byte comes, and the flush at the end is short.
	behind = 8 << 20
)

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// intake is a body being read and hashed. The chunks of a large document are hashed on a goroutine of the intake's own
// while the caller writes them and reads on, because either costs about as much as a fast disk. The goroutine is gone when
// close returns.
type intake struct {
	body reader
	head []byte // peeked and not yet handed out
	err  error  // that came with head
	sum  hash.Hash

	all  []*[bufferSize]byte
	free chan []byte // not in use by anyone
	work chan []byte // to be hashed; nil until the goroutine runs
	done chan struct{}

	read    int64 // bytes handed out after head
	flushed int64 // bytes the system was asked to begin writing
}

func newIntake(ctx context.Context, body io.Reader) *intake {
	in := &intake{body: reader{ctx, body}, sum: sha256.New(), free: make(chan []byte, buffersEach)}
	in.grow()
	return in
}

// grow adds a buffer.
func (in *intake) grow() {
	buf := buffers.Get().(*[bufferSize]byte)
	in.all = append(in.all, buf)
	in.free <- buf[:]
}

// peek reads the first n bytes, or fewer with the error that ended the body. The next chunk begins with them.
func (in *intake) peek(n int) ([]byte, error) {
	buf := <-in.free
	have := 0
	for have < n && in.err == nil {
		var got int
		got, in.err = in.body.Read(buf[have:n])
		have += got
	}
	in.head = buf[:have]
	return in.head, in.err
}

// next is the next chunk and the error that ended the body with it. The chunk is valid until the following call.
func (in *intake) next() ([]byte, error) {
	if head := in.head; head != nil {
		in.head = nil
		in.sum.Write(head) // never fails
		in.free <- head[:bufferSize]
		return head, in.err
	}
	buf := <-in.free
	n, err := in.body.Read(buf)
	in.read += int64(n)
	switch {
	case in.work != nil:
		in.work <- buf[:n]
	case in.read <= alone:
		in.sum.Write(buf[:n])
		in.free <- buf
	default:
		in.start()
		in.work <- buf[:n]
	}
	return buf[:n], err
}

// start runs the goroutine that hashes. Each chunk it is done with becomes free, in order, so the caller's last chunk is
// not read into before the caller asks for the next one.
func (in *intake) start() {
	for len(in.all) < buffersEach {
		in.grow()
	}
	in.work = make(chan []byte, buffersEach)
	in.done = make(chan struct{})
	go func() {
		defer close(in.done)
		for chunk := range in.work {
			in.sum.Write(chunk)
			in.free <- chunk[:bufferSize]
		}
	}()
}

// stop waits for the hash of all that was handed out.
func (in *intake) stop() {
	if in.work == nil {
		return
	}
	close(in.work)
	<-in.done
	in.work = nil
}

// digest is the SHA-256 of the whole body in hex. Nothing may be read after it.
func (in *intake) digest() string {
	in.stop()
	return hex.EncodeToString(in.sum.Sum(nil))
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
