package tunnel

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"golang.ngrok.com/ngrok/v2"
)

// NgrokConfig says how to reach ngrok and which address to request.
type NgrokConfig struct {
	Authtoken string
	// Domain is the public host name, with or without https://; "" means the domain that ngrok assigned to the account.
	Domain     string
	ConnectURL string         // ngrok's server as host:port; "" means ngrok's own
	CAs        *x509.CertPool // accepted issuers of the server's certificate; nil means only ngrok's own authority
	// Dial connects to the server, through a proxy if necessary; nil connects directly. If its errors have a message for
	// people, that is what they are told.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// HeartbeatInterval and HeartbeatTolerance together limit how long a dead connection goes unnoticed. 0 means the SDK's
	// 10 s and 15 s.
	HeartbeatInterval  time.Duration
	HeartbeatTolerance time.Duration
	Log                *slog.Logger // nil logs nothing
}

const ngrokServer = "connect.ngrok-agent.com:443"

// dialTime limits one connection attempt, including proxies and authentication to them.
const dialTime = 30 * time.Second

// Ngrok returns a tunnel through ngrok.
//
// Run ends early only for a wrong authtoken (refused twice), a domain that does not belong to the account, or settings that
// cannot be understood. An address in use is reported at once as DomainInUse and retried every few seconds: after a sleep
// ngrok may keep the computer's own earlier session for a minute, so callers should tell people only later. After Run has
// returned, goroutines of the SDK may live on for a while, because it does not notice the end while it waits: 2 s between
// two attempts, one heartbeat interval and tolerance for a lost session. They hold no connection and cannot reach anything
// of the caller's.
func Ngrok(c NgrokConfig) Tunnel { return ngrokTunnel{c} }

type ngrokTunnel struct{ config NgrokConfig }

func (t ngrokTunnel) Run(ctx context.Context, h http.Handler, report func(State)) error {
	c := t.config
	st := &states{report: report}
	if e := c.check(); e != nil {
		st.down(e)
		return e
	}
	connections := newListener()
	srv := newServer(h, 0, c.log())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.serve(connections, nil)
	}()
	defer func() {
		srv.shutdown()
		<-served
	}()

	return st.keepOpen(ctx, func() *Error { return t.once(ctx, st, srv, connections) })
}

// once runs one session. It returns nil if ctx ended, otherwise why the session is no longer usable.
func (t ngrokTunnel) once(ctx context.Context, st *states, srv *server, connections *listener) *Error {
	l, err := openSession(t.config, connections)
	if err != nil {
		return t.config.explain(err)
	}
	defer l.close()
	e := l.watch(ctx, st)
	if e == nil {
		// Pending answers still need the session, so the server is shut down first.
		srv.shutdown()
	}
	return e
}

// check finds unusable settings before connecting.
func (c NgrokConfig) check() *Error {
	if c.Authtoken == "" {
		return &Error{Kind: Token, permanent: true}
	}
	if host := c.host(); host != "" {
		u, err := url.Parse("https://" + host)
		if err != nil || u.Host != host || u.Hostname() == "" {
			return &Error{Kind: Setting, Address: c.Domain, permanent: true}
		}
	}
	return nil
}

// host is the domain in the form that ngrok expects: people paste whole addresses.
func (c NgrokConfig) host() string {
	host := strings.TrimSpace(c.Domain)
	host = strings.TrimPrefix(host, "https://")
	return strings.TrimSuffix(host, "/")
}

func (c NgrokConfig) server() string { return NgrokServer(c.ConnectURL) }

// NgrokServer is the address to which agents connect, as host:port: connectURL, or ngrok's own server.
func NgrokServer(connectURL string) string { return cmp.Or(connectURL, ngrokServer) }

func (c NgrokConfig) log() *slog.Logger {
	if c.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Log
}

func (c NgrokConfig) dial(ctx context.Context, network, address string) (net.Conn, error) {
	dial := c.Dial
	if dial == nil {
		dial = (&net.Dialer{KeepAlive: 15 * time.Second}).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	return dial(ctx, network, address)
}

// lifeline dials for one ngrok agent and keeps track of its connections, so that cut closes them whatever the SDK does.
//
// It retries by itself: it reports a failed dial and repeats it here, where a cancelled context ends the wait immediately.
// So the SDK's own wait between attempts (up to 30 s, not interruptible) applies only to failures after the dial. Its
// methods may be called from any goroutine.
type lifeline struct {
	connect func(ctx context.Context, network, address string) (net.Conn, error) // one attempt
	failed  func(error)                                                          // called after each failed attempt

	mu    sync.Mutex
	ended bool
	conns map[*heldConn]bool
}

// dial returns a connection, or an error once ctx or the lifeline has ended.
func (l *lifeline) dial(ctx context.Context, network, address string) (net.Conn, error) {
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

func (c *heldConn) Close() error {
	c.line.mu.Lock()
	delete(c.line.conns, c)
	c.line.mu.Unlock()
	return c.Conn.Close()
}

const (
	firstWait   = 500 * time.Millisecond
	longestWait = 30 * time.Second
	// longestQuotaWait is for limits and refusals that take hours to pass, if they do.
	longestQuotaWait = 5 * time.Minute
	// longestInUseWait keeps recovery fast: after a sleep, ngrok frees the address within a minute.
	longestInUseWait = 8 * time.Second
)

// newWaits grows from firstWait, with some jitter. The caller caps the result.
func newWaits() *backoff.ExponentialBackOff {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval = firstWait
	waits.MaxInterval = longestQuotaWait
	waits.Reset()
	return waits
}

// longestFor is the maximum wait after e.
func longestFor(e *Error) time.Duration {
	switch e.Kind {
	case DomainInUse:
		return longestInUseWait
	case Quota, Refused:
		return longestQuotaWait
	}
	return longestWait
}

// pause waits, and reports whether ctx is still alive afterwards.
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

// maxMisses is the number of consecutive failures after which an agent is replaced. The SDK's waits between them are 0.5, 1
// and 2 s, which limits how long its goroutine can outlive the agent.
const maxMisses = 3

// maxTokenMisses is how often ngrok must refuse the authtoken before we believe it.
const maxTokenMisses = 2

// session is one ngrok agent with one listener, used once: the SDK's agents cannot be restarted, and a listener that ngrok
// stopped would be bound again beside its successor. The SDK reconnects within a session and keeps the URL.
//
// The session owns one goroutine (serve); it, the SDK's event handler and the dialer send events to the goroutine that calls
// watch, which never waits for any of them.
type session struct {
	config NgrokConfig
	events chan event
	line   *lifeline
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when serve has returned

	mu       sync.Mutex
	listener ngrok.EndpointListener
}

// openSession starts an agent whose connections go to f. The caller must close the session.
func openSession(config NgrokConfig, f *listener) (*session, error) {
	l := &session{config: config, events: make(chan event, 64), done: make(chan struct{})}
	l.line = &lifeline{
		connect: config.dial,
		failed:  func(err error) { l.tell(event{kind: dialFailed, err: err}) },
	}
	agent, err := ngrok.NewAgent(l.options()...)
	if err != nil {
		return nil, err
	}
	// The context of the connecting call is the session's lifetime, so it must neither have a deadline nor end with the
	// caller's: close ends it.
	l.ctx, l.cancel = context.WithCancel(context.Background())
	go l.serve(agent, f)
	return l, nil
}

func (l *session) options() []ngrok.AgentOption {
	c := l.config
	return append(c.options(l.line.dial),
		ngrok.WithAuthtoken(c.Authtoken),
		ngrok.WithClientInfo("countersign", "1"),
		ngrok.WithEventHandler(l.happened),
		ngrok.WithHeartbeatInterval(c.HeartbeatInterval),
		ngrok.WithHeartbeatTolerance(c.HeartbeatTolerance),
	)
}

// options are common to all agents, however they dial.
func (c NgrokConfig) options(dial directly) []ngrok.AgentOption {
	options := []ngrok.AgentOption{ngrok.WithDialer(dial), ngrok.WithLogger(silent)}
	if c.ConnectURL != "" {
		options = append(options, ngrok.WithAgentConnectURL(c.ConnectURL))
	}
	if c.CAs != nil {
		options = append(options, ngrok.WithAgentConnectCAs(c.CAs))
	}
	return options
}

// tell sends an event to watch, while the session is usable.
func (l *session) tell(e event) {
	select {
	case l.events <- e:
	case <-l.ctx.Done():
	}
}

// happened is the SDK's event handler. The agent's mutex is held while it runs.
func (l *session) happened(e ngrok.Event) {
	switch e := e.(type) {
	case *ngrok.EventAgentConnectSucceeded:
		l.tell(event{kind: connected})
	case *ngrok.EventAgentDisconnected:
		if e.Error != nil && l.ctx.Err() == nil {
			l.tell(event{kind: missed, err: e.Error})
		}
	}
}

// serve connects, binds and passes connections on until the SDK's listener ends.
func (l *session) serve(agent ngrok.Agent, f *listener) {
	defer close(l.done)
	var options []ngrok.EndpointOption
	if host := l.config.host(); host != "" {
		options = append(options, ngrok.WithURL("https://"+host))
	}
	listener, err := agent.Listen(l.ctx, options...)
	if err != nil {
		l.tell(event{kind: refused, err: err})
		return
	}
	l.mu.Lock()
	l.listener = listener
	l.mu.Unlock()
	l.tell(event{kind: listening, url: listener.URL().String()})
	for {
		// The SDK blocks for ever on a connection that is not accepted, so keep accepting until the listener ends.
		conn, err := listener.Accept()
		if err != nil {
			l.tell(event{kind: ended, err: err})
			return
		}
		f.push(newStreamConn(conn, stallTime))
	}
}

// watch reports what happens to the session. It returns nil if ctx ends, and an *Error if the session is no longer usable: a
// permanent one, or a reason to try a new session.
func (l *session) watch(ctx context.Context, st *states) *Error {
	var (
		url         string // set once bound
		online      bool   // a session is authenticated and bound again
		misses      int    // consecutive failures
		tokenMisses int
	)
	for {
		var e event
		select {
		case <-ctx.Done():
			return nil
		case e = <-l.events:
		}
		switch e.kind {
		case dialFailed:
			st.down(l.config.explain(e.err))
		case connected:
			online, misses, tokenMisses = true, 0, 0
			if url != "" {
				st.up(url)
			}
		case listening:
			url = e.url
			if online {
				st.up(url)
			}
		case refused:
			return l.config.explain(e.err)
		case ended:
			return l.config.explainEnd(e.err)
		case missed:
			why := l.config.explain(e.err)
			if online {
				online = false // lost; the SDK redials immediately
				st.connecting(why)
				continue
			}
			misses++
			if why.Kind == Token {
				tokenMisses++
			}
			if tokenMisses >= maxTokenMisses {
				return why
			}
			why.permanent = false // not believed yet
			if misses >= maxMisses {
				return why
			}
			st.down(why)
		}
	}
}

// Time limits of close; together with the server's shutdown they stay under 5 s.
const (
	unbindTime = 500 * time.Millisecond
	endTime    = time.Second
)

// close releases the address, ends the session and waits for serve. The SDK may keep a goroutine longer: one that waits
// between two attempts (at most 2 s, see maxMisses) or for its next heartbeat; neither can reach the network any more.
func (l *session) close() {
	l.mu.Lock()
	listener := l.listener
	l.mu.Unlock()
	if listener != nil {
		// Close calls ngrok without a time limit; cut ends it if the network is dead.
		go listener.Close()
		l.ended(unbindTime)
	}
	l.cancel()
	l.line.cut()
	if !l.ended(endTime) {
		l.config.log().Debug("the ngrok session did not end in time")
	}
}

func (l *session) ended(within time.Duration) bool {
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-l.done:
		return true
	case <-timer.C:
		return false
	}
}

// listener is a net.Listener whose connections come from whichever ngrok session is alive. The HTTP server keeps it across
// reconnects, and closing it never waits for the SDK.
type listener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newListener() *listener { return &listener{conns: make(chan net.Conn), done: make(chan struct{})} }

// push passes a connection to the server, or closes it if nobody accepts any more.
func (f *listener) push(conn net.Conn) {
	select {
	case f.conns <- conn:
	case <-f.done:
		conn.Close()
	}
}

func (f *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-f.conns:
		return conn, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

func (f *listener) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

func (f *listener) Addr() net.Addr { return listenerAddr{} }

type listenerAddr struct{}

func (listenerAddr) Network() string { return "ngrok" }
func (listenerAddr) String() string  { return "ngrok" }

// event is something that happened to a session.
type event struct {
	kind eventKind
	err  error
	url  string // listening
}

type eventKind int

const (
	dialFailed eventKind = iota // no connection to ngrok or the proxy; the dialer retries
	missed                      // the session was lost, or opening one failed; the SDK retries
	connected                   // the session is authenticated and its address bound again, if it had one
	listening                   // the address is bound for the first time
	refused                     // the address could not be bound; the agent is no longer usable
	ended                       // the listener ended; the agent is no longer usable
)

// fairTime is how long a connection may go without progress while others wait.
const fairTime = 50 * time.Millisecond

// connLimiter limits a server's connections. When it is full, a new connection replaces the one that has gone longest
// without progress (first byte, request begun, request answered), once that has had its fair time: so slow clients cannot
// keep others out, they only lose their own place. Its methods may be called from any goroutine.
type connLimiter struct {
	max int

	mu      sync.Mutex
	members map[*member]bool
}

func newConnLimiter(limit int) *connLimiter {
	return &connLimiter{max: limit, members: make(map[*member]bool)}
}

// member is a counted connection.
type member struct {
	net.Conn
	limiter *connLimiter
	// Guarded by the limiter's mutex.
	step   time.Time
	silent bool // has not sent a byte yet
}

func (m *member) Close() error {
	m.limiter.mu.Lock()
	delete(m.limiter.members, m)
	m.limiter.mu.Unlock()
	return m.Conn.Close()
}

// listener returns l; it makes every accepted connection a member.
func (c *connLimiter) listener(l net.Listener) net.Listener { return limitedListener{l, c} }

type limitedListener struct {
	net.Listener
	limiter *connLimiter
}

func (l limitedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.limiter.join(conn), nil
}

// join waits until there is room.
func (c *connLimiter) join(conn net.Conn) net.Conn {
	m := &member{Conn: conn, limiter: c}
	for !c.enter(m) {
		time.Sleep(fairTime / 20)
	}
	return m
}

// enter admits m if there is room, or if another member must give way.
func (c *connLimiter) enter(m *member) (in bool) {
	var slowest *member
	c.mu.Lock()
	defer func() {
		c.mu.Unlock()
		if in && slowest != nil {
			_ = slowest.Conn.Close() // nobody uses it any more, so closing may take its time
		}
	}()
	if len(c.members) >= c.max {
		for other := range c.members {
			if slowest == nil || other.step.Before(slowest.step) {
				slowest = other
			}
		}
		if time.Since(slowest.step) < fairTime {
			return false
		}
		delete(c.members, slowest)
	}
	c.members[m] = true
	return true
}

// moved is the server's ConnState hook, also for a connection that has just joined.
func (c *connLimiter) moved(conn net.Conn, state http.ConnState) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	m := conn.(*member)
	c.mu.Lock()
	defer c.mu.Unlock()
	m.step = time.Now()
	m.silent = state == http.StateNew
}

// dismissSilent closes connections on which nothing was ever sent.
func (c *connLimiter) dismissSilent() {
	c.mu.Lock()
	var silent []*member
	for m := range c.members {
		if m.silent {
			silent = append(silent, m)
		}
	}
	c.mu.Unlock()
	for _, m := range silent {
		m.Close()
	}
}
