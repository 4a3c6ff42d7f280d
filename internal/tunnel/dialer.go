package tunnel

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// lifeline dials for one ngrok agent and holds the agent's connections, so that cut ends them whatever the SDK does.
//
// It keeps trying by itself: a failed dial is reported and repeated here, where a cancelled context ends the wait at
// once, and the SDK's own wait between tries (up to 30 s, not to be interrupted) is left to failures after the dial.
// Its methods may be called from any goroutine.
type lifeline struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error) // one try
	failed  func(error)                                                          // called after each failed try

	mu    sync.Mutex
	ended bool
	conns map[*heldConn]bool
}

// Dial implements ngrok.Dialer.
func (l *lifeline) Dial(network, address string) (net.Conn, error) {
	return l.DialContext(context.Background(), network, address)
}

// DialContext implements ngrok.Dialer: it returns a connection, or an error once ctx or the lifeline ended.
func (l *lifeline) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	waits := newWaits()
	for {
		conn, err := l.connect(ctx, network, address)
		if err == nil {
			return l.hold(conn)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		l.failed(err)
		if !pause(ctx, min(waits.NextBackOff(), longestWait)) {
			return nil, ctx.Err()
		}
	}
}

func (l *lifeline) hold(conn net.Conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		conn.Close()
		return nil, errors.New("the tunnel was closed")
	}
	held := &heldConn{Conn: conn, line: l}
	if l.conns == nil {
		l.conns = make(map[*heldConn]bool)
	}
	l.conns[held] = true
	return held, nil
}

// cut closes every connection and refuses new ones.
func (l *lifeline) cut() {
	l.mu.Lock()
	l.ended = true
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	for conn := range conns {
		conn.Conn.Close()
	}
}

type heldConn struct {
	net.Conn
	line *lifeline
}

// Close implements net.Conn.
func (c *heldConn) Close() error {
	c.line.mu.Lock()
	delete(c.line.conns, c)
	c.line.mu.Unlock()
	return c.Conn.Close()
}

const (
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second
	// longestQuotaWait is for limits and refusals that pass, if at all, in hours.
	longestQuotaWait = 5 * time.Minute
	// longestInUseWait keeps the return quick: after a sleep, ngrok frees the address within a minute.
	longestInUseWait = 8 * time.Second
)

// newWaits doubles from firstWait on, with some jitter. The caller caps what it returns.
func newWaits() *backoff.ExponentialBackOff {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval = firstWait
	waits.Multiplier = 2
	waits.RandomizationFactor = 0.1
	waits.MaxInterval = longestQuotaWait
	waits.Reset()
	return waits
}

// longestFor is the cap on waits after e.
func longestFor(e *Error) time.Duration {
	switch e.Kind {
	case DomainInUse:
		return longestInUseWait
	case Quota, Refused:
		return longestQuotaWait
	}
	return longestWait
}

// pause waits and says whether ctx is still alive after it.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
