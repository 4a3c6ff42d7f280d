package inbox

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	maxBodies   = 64       // read at the same time
	smallBody   = 64 << 10 // bytes; every real event is far smaller
	largeBodies = 4        // of maxBodies, those that may grow beyond smallBody

	fairTime  = 250 * time.Millisecond // for one body while others wait
	queueTime = 2 * time.Second        // to wait for room
)

// bodies bounds what requests that nobody has vouched for yet may cost: at most 64 in memory, of 64 KiB each but for
// four that may grow to 1 MiB. That is 8 MiB at the worst. When there is no room, whoever has been sending longest, beyond
// a fair time, loses it to the next: strangers who send slowly cannot keep events out. Who finds no room all the same is
// told to come back.
type bodies struct {
	slots chan struct{}
	large chan struct{}
	small *sync.Pool // *[]byte of smallBody+1

	mu      sync.Mutex
	readers []*reader // the longest first
}

// reader is a body that is being read.
type reader struct {
	began     time.Time
	interrupt func()
}

func newBodies() *bodies {
	return &bodies{
		slots: make(chan struct{}, maxBodies),
		large: make(chan struct{}, largeBodies),
		small: &sync.Pool{New: func() any { b := make([]byte, smallBody+1); return &b }},
	}
}

// enter waits for room and reports whether there is some.
func (b *bodies) enter(r *http.Request) bool {
	select {
	case b.slots <- struct{}{}:
		return true
	default:
	}
	limit := time.NewTimer(queueTime)
	defer limit.Stop()
	for {
		again := time.NewTimer(b.hurry())
		select {
		case b.slots <- struct{}{}:
			again.Stop()
			return true
		case <-again.C:
			continue
		case <-limit.C:
		case <-r.Context().Done():
		}
		again.Stop()
		return false
	}
}

// hurry interrupts the body that has been read longest, if it has had its fair time, and returns how long to wait
// before looking again.
func (b *bodies) hurry() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.readers) == 0 {
		return fairTime
	}
	longest := b.readers[0]
	if left := fairTime - time.Since(longest.began); left > 0 {
		return left
	}
	b.readers = b.readers[1:]
	longest.interrupt()
	return fairTime
}

func (b *bodies) begin(interrupt func()) *reader {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &reader{time.Now(), interrupt}
	b.readers = append(b.readers, x)
	return x
}

// end makes sure that x is interrupted no more.
func (b *bodies) end(x *reader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readers = slices.DeleteFunc(b.readers, func(other *reader) bool { return other == x })
}

// read returns the whole body, or why not. The body is good until release, which must be called in any case. interrupt
// ends the reading with os.ErrDeadlineExceeded; it is not called after release.
func (b *bodies) read(r *http.Request, interrupt func()) (body []byte, release func(), reason Reason) {
	if !b.enter(r) {
		return nil, func() {}, Busy
	}
	self := b.begin(interrupt)
	buffer := b.small.Get().(*[]byte)
	hasLarge := false
	release = func() {
		b.end(self)
		if hasLarge {
			<-b.large
		}
		b.small.Put(buffer)
		<-b.slots
	}

	n, err := io.ReadFull(r.Body, *buffer)
	switch {
	case err == io.EOF:
		return nil, release, Unsigned // an empty body cannot be signed
	case err == io.ErrUnexpectedEOF && (r.ContentLength < 0 || int64(n) == r.ContentLength):
		return (*buffer)[:n], release, ""
	case err != nil:
		return nil, release, broken(err)
	}

	select {
	case b.large <- struct{}{}:
		hasLarge = true
	default:
		return nil, release, Busy
	}
	return b.rest(r, *buffer, release)
}

// rest reads on where the small buffer ended.
func (b *bodies) rest(r *http.Request, start []byte, release func()) ([]byte, func(), Reason) {
	body := make([]byte, maxBody+1)
	copy(body, start)
	n, err := io.ReadFull(r.Body, body[len(start):])
	n += len(start)
	switch {
	case err == nil:
		return nil, release, TooLarge
	case (err == io.EOF || err == io.ErrUnexpectedEOF) && (r.ContentLength < 0 || int64(n) == r.ContentLength):
		return body[:n], release, ""
	}
	return nil, release, broken(err)
}

// broken is what a body that did not arrive was.
func broken(err error) Reason {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return Slow
	}
	return Cut
}
