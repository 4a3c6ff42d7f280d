package tunnel

import (
	"net"
	"os"
	"sync"
	"time"
)

const (
	// streamWindow is how much an ngrok stream takes without the other end reading (muxado's default).
	streamWindow = 256 << 10
	// stallTime is how long a write waits for a client that does not read.
	stallTime = 20 * time.Second
)

// streamConn makes a stream of an ngrok session behave like a TCP connection. A stream's Write blocks for ever once
// the client has left with a full window in flight, its Close blocks behind such a Write, and an expired write
// deadline can corrupt the whole session. So: writes that may block run beside the caller and are given up after
// stall; Close never waits; write deadlines are ignored. A write that was given up keeps its one small goroutine until
// the session ends, which is why answers ought to stay under streamWindow.
type streamConn struct {
	net.Conn
	stall time.Duration
	once  sync.Once
	gone  chan struct{} // closed by Close

	// These belong to whoever writes; net/http has one writer at a time.
	written int
	broken  error
}

func newStreamConn(conn net.Conn, stall time.Duration) *streamConn {
	return &streamConn{Conn: conn, stall: stall, gone: make(chan struct{})}
}

// Write implements net.Conn.
func (c *streamConn) Write(p []byte) (int, error) {
	if c.broken != nil {
		return 0, c.broken
	}
	if c.written+len(p) <= streamWindow {
		n, err := c.Conn.Write(p)
		c.written += n
		return n, err
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	own := append([]byte(nil), p...) // the caller may reuse p once we gave up
	go func() {
		n, err := c.Conn.Write(own)
		done <- result{n, err}
	}()
	timer := time.NewTimer(c.stall)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.n, r.err
	case <-timer.C:
		c.broken = os.ErrDeadlineExceeded
	case <-c.gone:
		c.broken = net.ErrClosed
	}
	return 0, c.broken
}

// Close implements net.Conn without waiting for writes in progress.
func (c *streamConn) Close() error {
	c.once.Do(func() {
		close(c.gone)
		go c.Conn.Close()
	})
	return nil
}

// SetDeadline implements net.Conn for reading only.
func (c *streamConn) SetDeadline(t time.Time) error { return c.Conn.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn and does nothing: see streamConn.
func (c *streamConn) SetWriteDeadline(time.Time) error { return nil }
