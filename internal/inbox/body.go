package inbox

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
)

const (
	smallBody   = 16 << 10 // bytes; every real event is far smaller
	largeBodies = 4        // that may grow beyond smallBody at the same time
)

// bodies bounds what a request that nobody has vouched for yet may cost: 16 KiB, but for four that may grow to 1 MiB.
// Package tunnel bounds how many there are, and has those who send slowly lose their place.
type bodies struct {
	large chan struct{}
	small *sync.Pool // *[]byte of smallBody+1
}

func newBodies() *bodies {
	return &bodies{
		large: make(chan struct{}, largeBodies),
		small: &sync.Pool{New: func() any { b := make([]byte, smallBody+1); return &b }},
	}
}

// read returns the whole body, or why not. The body is good until release, which must be called in any case.
func (b *bodies) read(r *http.Request) (body []byte, release func(), reason Reason) {
	buffer := b.small.Get().(*[]byte)
	hasLarge := false
	release = func() {
		if hasLarge {
			<-b.large
		}
		b.small.Put(buffer)
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
