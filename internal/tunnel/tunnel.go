// Package tunnel gives this computer a public HTTPS address and serves an http.Handler on it: through ngrok, behind
// the office's own reverse proxy, or on this computer alone for the demo and for sign-in redirects.
//
// It promises to keep the address open until told otherwise, to come back by itself after every loss, to say what is
// wrong in words a person understands, and to protect the handler from slow, greedy and numerous clients. Requests
// reach the handler as the client sent them: Host, path and body bytes untouched.
//
// It must not know what is served: neither the signing service, nor the agent, nor any storage. It never logs or
// returns the authtoken, not even inside an answer of ngrok that repeats it.
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

// Phase is where a tunnel stands.
type Phase string

const (
	Connecting Phase = "connecting" // the first try, or the first moments after a loss
	Up         Phase = "up"         // requests to URL arrive
	Down       Phase = "down"       // at least one try failed; the tunnel keeps trying
)

// State is what a Tunnel reports.
type State struct {
	Phase Phase
	// URL is the public base URL as ngrok or the settings gave it: no slash at the end added or removed. It is empty
	// until the tunnel is up for the first time and stays known through a loss. A reconnect keeps it; only an ngrok
	// tunnel without a domain may come back under another one, if ngrok assigns one.
	URL string
	// Err is why the tunnel is not up: an *Error, or nil when there is nothing to say.
	Err error
}

// Tunnel keeps a public address open.
type Tunnel interface {
	// Run opens the address and serves h on it until ctx ends, reconnecting by itself for ever. It calls report with
	// where it stands, from one goroutine at a time; report must not block. h is called from many goroutines.
	//
	// Run returns nil once everything is closed after ctx ended, within 5 seconds: requests being answered get 3 of
	// them. It returns an *Error earlier only for what trying again cannot mend, such as a wrong authtoken. A Tunnel
	// may run again after Run returned, but not twice at once.
	Run(ctx context.Context, h http.Handler, report func(State)) error
}

// states reports, with the address as it was last known. It belongs to the goroutine that calls Run.
type states struct {
	report func(State)
	url    string
}

// connecting says that the tunnel is on its way; why is nil on the first try.
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

// keepOpen tries until ctx ends, or what is wrong does not pass. once returns nil when ctx ended.
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

// Open runs a tunnel until its address is open, which it returns; end closes it. When it ends before, or ctx does, the error
// says what was in the way, and is nil where nothing is known. It waits for no port that another program has.
func Open(ctx context.Context, t Tunnel, h http.Handler) (address string, end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	up, ended := make(chan string, 1), make(chan error, 1)
	var last error // read after Run has returned
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

// server is the one hardened HTTP server that every kind of tunnel uses. HTTP/1.1 only: its limits are simple to
// state and ngrok speaks nothing else to an agent.
type server struct {
	http    *http.Server
	limiter *connLimiter
}

// newServer makes a server for h. writeTimeout is 0 for connections inside an ngrok session: an expired write
// deadline can corrupt the whole session, so streamConn bounds writes there in its own way.
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

// serve answers what l accepts until shutdown; it returns nil then, and otherwise why l ended. With a secure
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

// shutdown lets requests that are being answered finish, for at most 3 seconds, and then closes every connection.
func (s *server) shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	// http.Server waits for connections that never said a word; nobody else does.
	s.limiter.dismissSilent()
	if err := s.http.Shutdown(ctx); err != nil {
		_ = s.http.Close()
	}
}

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
