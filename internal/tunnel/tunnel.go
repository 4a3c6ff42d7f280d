// Package tunnel gives this computer a public HTTPS address and serves an http.Handler on it: through ngrok, behind the
// office's own reverse proxy, or only on this computer for the demo and for sign-in redirects.
//
// It promises to keep the address open until told otherwise, to recover by itself from every loss, to say what is wrong in
// words that people understand, and to protect the handler from slow, greedy and numerous clients. Requests reach the
// handler as the client sent them: Host, path and body bytes unchanged.
//
// It must not know what is served: neither the signing service, nor the agent, nor any storage. It never logs or returns the
// authtoken, even if an answer of ngrok repeats it.
package tunnel

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// Phase is the state of a tunnel's connection.
type Phase string

const (
	Connecting Phase = "connecting" // the first attempt, or just after a loss
	Up         Phase = "up"         // requests to URL arrive
	Down       Phase = "down"       // at least one attempt failed; the tunnel keeps trying
)

// State is what a Tunnel reports.
type State struct {
	Phase Phase
	// URL is the public base URL exactly as ngrok or the settings gave it, with or without a trailing slash. It is empty
	// until the tunnel is up for the first time and then stays known through losses. A reconnect keeps it; only an ngrok
	// tunnel without a domain may get another one, if ngrok assigns it.
	URL string
	// Err says why the tunnel is not up: an *Error, or nil if there is nothing to say.
	Err error
}

// Tunnel keeps a public address open.
type Tunnel interface {
	// Run opens the address and serves h on it until ctx ends, reconnecting by itself for ever. It calls report with its
	// state, from one goroutine at a time; report must not block. h is called from many goroutines.
	//
	// After ctx ends, Run returns nil once everything is closed, within 5 seconds, of which pending requests get 3. It
	// returns an *Error earlier only for a problem that trying again cannot solve, such as a wrong authtoken. A Tunnel may
	// run again after Run has returned, but not twice at once.
	Run(ctx context.Context, h http.Handler, report func(State)) error
}

// states reports the state, with the last known address. Only the goroutine that calls Run uses it.
type states struct {
	report func(State)
	url    string
}

// connecting reports that the tunnel is connecting; why is nil on the first attempt.
func (s *states) connecting(why *Error) { s.tell(Connecting, why) }

func (s *states) down(why *Error) { s.tell(Down, why) }

func (s *states) up(url string) {
	s.url = url
	s.tell(Up, nil)
}

func (s *states) tell(phase Phase, why *Error) {
	now := State{Phase: phase, URL: s.url}
	if why != nil {
		now.Err = why
	}
	s.report(now)
}

// keepOpen retries until ctx ends, or until an error is permanent. once returns nil if ctx ended.
func (s *states) keepOpen(ctx context.Context, once func() *Error) error {
	s.connecting(nil)
	waits := newWaits()
	for {
		began := time.Now()
		e := once()
		if e == nil {
			return nil
		}
		s.down(e)
		if e.permanent {
			return e
		}
		if time.Since(began) > time.Minute {
			waits.Reset()
		}
		if !pause(ctx, min(waits.NextBackOff(), longestFor(e))) {
			return nil
		}
	}
}

// Open runs a tunnel until its address is open, and returns the address; end closes it. If the tunnel or ctx ends first, the
// error says why, if known. It does not wait for a port that another program uses.
func Open(ctx context.Context, t Tunnel, h http.Handler) (address string, end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	up, ended := make(chan string, 1), make(chan error, 1)
	var last error // only read after Run has returned
	go func() {
		ended <- t.Run(ctx, h, func(s State) {
			switch {
			case s.Phase == Up:
				select {
				case up <- s.URL:
				default: // it was up before
				}
			case s.Err != nil:
				last = s.Err
				if e, ok := s.Err.(*Error); ok && e.Kind == Listen {
					cancel()
				}
			}
		})
	}()
	select {
	case address = <-up:
		return address, func() { cancel(); <-ended }, nil
	case err = <-ended:
		cancel()
	case <-ctx.Done():
		cancel()
		err = <-ended
	}
	return "", nil, cmp.Or(err, last)
}

const (
	maxConnections = 256
	shutdownTime   = 3 * time.Second
)

// server is the one hardened HTTP server that all kinds of tunnels use. It speaks only HTTP/1.1: its limits are simple to
// state, and ngrok speaks nothing else to an agent.
type server struct {
	http    *http.Server
	limiter *connLimiter
}

// newServer returns a server for h. writeTimeout is 0 for connections inside an ngrok session: an expired write deadline can
// corrupt the whole session, so streamConn limits writes there in its own way.
func newServer(h http.Handler, writeTimeout time.Duration, log *slog.Logger) *server {
	s := &server{limiter: newConnLimiter(maxConnections)}
	s.http = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
		WriteTimeout:      writeTimeout,
		ConnState:         s.limiter.moved,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	return s
}

// serve answers what l accepts until shutdown, and then returns nil; otherwise it returns why l ended. With a secure
// configuration it speaks TLS.
func (s *server) serve(l net.Listener, secure *tls.Config) error {
	l = s.limiter.listener(l)
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// shutdown gives pending requests at most 3 seconds to finish, and then closes every connection.
func (s *server) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	// http.Server would wait for connections that never sent anything, although nobody uses them.
	s.limiter.dismissSilent()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
}

const (
	// streamWindow is how many bytes an ngrok stream accepts before the other end reads (muxado's default).
	streamWindow = 256 << 10
	// stallTime is how long a write waits for a client that does not read.
	stallTime = 20 * time.Second
)

// streamConn makes a stream of an ngrok session behave like a TCP connection. A stream's Write blocks for ever if the client
// has left with a full window in flight, its Close blocks behind such a Write, and an expired write deadline can corrupt the
// whole session. So a write that may block runs on another goroutine and is abandoned after stall; Close never waits; write
// deadlines are ignored. An abandoned write keeps its small goroutine until the session ends, so answers should stay under
// streamWindow.
type streamConn struct {
	net.Conn
	stall time.Duration
	once  sync.Once
	gone  chan struct{} // closed by Close

	// Only the writer uses these; net/http has one writer at a time.
	written int
	broken  error
}

func newStreamConn(conn net.Conn, stall time.Duration) *streamConn {
	return &streamConn{Conn: conn, stall: stall, gone: make(chan struct{})}
}

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
	own := append([]byte(nil), p...) // the caller may reuse p after the write was abandoned
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

// Close implements net.Conn without waiting for pending writes.
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
