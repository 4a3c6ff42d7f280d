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

// NgrokConfig says how to reach ngrok and which address to ask for.
type NgrokConfig struct {
	Authtoken string
	// Domain is the public host name, with or without https://; "" is the domain ngrok assigned to the account.
	Domain     string
	ConnectURL string         // ngrok's server as host:port; "" is ngrok's own
	CAs        *x509.CertPool // what the server's certificate may be signed by; nil is ngrok's own authority alone
	// Dial connects to the server, through whatever proxy is on the way; nil goes straight. What people are told of its
	// errors is their message, where they have one.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// HeartbeatInterval and HeartbeatTolerance bound how long a silent network goes unnoticed: their sum. 0 means the
	// SDK's 10 s and 15 s.
	HeartbeatInterval  time.Duration
	HeartbeatTolerance time.Duration
	Log                *slog.Logger // nil logs nothing
}

const ngrokServer = "connect.ngrok-agent.com:443"

// dialTime bounds one try to connect, proxies and their sign-in included.
const dialTime = 30 * time.Second

// Ngrok returns a tunnel through ngrok.
//
// Run ends early only for a wrong authtoken (refused twice), a domain that is not the account's, or settings that
// cannot be understood. An address in use is reported at once as DomainInUse and tried again every few seconds: after a
// sleep ngrok may hold the computer's own earlier session for a minute, so callers do well to tell people only then.
// After Run returned, goroutines of the SDK may live on for a while, because it does not look up while it waits: 2 s
// between two tries, one heartbeat interval and tolerance for a session that was lost. They hold no connection and
// reach nothing of the caller's.
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

// once runs one session. It returns nil when ctx ended, else why the session is of no more use.
func (t ngrokTunnel) once(ctx context.Context, st *states, srv *server, connections *listener) *Error {
	l, err := openSession(t.config, connections)
	if err != nil {
		return t.config.explain(err)
	}
	defer l.close()
	e := l.watch(ctx, st)
	if e == nil {
		// Answers under way still need the session, so the server goes first.
		srv.shutdown()
	}
	return e
}

// check finds settings that cannot work before anything connects.
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

// host is the domain as ngrok wants it: people paste whole addresses.
func (c NgrokConfig) host() string {
	host := strings.TrimSpace(c.Domain)
	host = strings.TrimPrefix(host, "https://")
	return strings.TrimSuffix(host, "/")
}

func (c NgrokConfig) server() string { return NgrokServer(c.ConnectURL) }

// NgrokServer is where agents connect to, as host:port: connectURL, or ngrok's own server.
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

// dial returns a connection, or an error once ctx or the lifeline ended.
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

// maxMisses is after how many failed tries in a row an agent is given up for a fresh one. The SDK's waits between
// them are 0.5, 1 and 2 s, which bounds how long its goroutine can outlive the agent.
const maxMisses = 3

// maxTokenMisses is how often ngrok must refuse the authtoken before we believe it.
const maxTokenMisses = 2

// session is one ngrok agent with one listener, used once: the SDK's agents cannot be started again, and a listener that
// ngrok stopped would be bound again beside its successor. The SDK reconnects inside a session and keeps
// the URL.
//
// One goroutine (serve) belongs to the session; it, the SDK's event handler and the dialer hand events to the goroutine that calls
// watch, which never waits for any of them.
type session struct {
	config NgrokConfig
	events chan event
	line   *lifeline
	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{} // closed when serve returned

	mu       sync.Mutex
	listener ngrok.EndpointListener
}

// openSession starts an agent whose connections go to f. The session must be closed.
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
	// The context given to the connecting call is the session's lifetime, so it must neither have a deadline nor end
	// with the caller's: close decides.
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

// options are those of every agent, however it dials.
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

// tell hands an event to whoever watches, as long as the session is of use.
func (l *session) tell(e event) {
	select {
	case l.events <- e:
	case <-l.ctx.Done():
	}
}

// happened is the SDK's event handler. It runs while the agent holds its mutex.
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

// serve connects, binds and hands connections on until the SDK's listener ends.
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
		// The SDK blocks for ever behind a connection that nobody accepts, so this goes on until the listener's end.
		conn, err := listener.Accept()
		if err != nil {
			l.tell(event{kind: ended, err: err})
			return
		}
		f.push(newStreamConn(conn, stallTime))
	}
}

// watch reports what happens to the session. It returns nil when ctx ends, and an *Error when the session is of no more
// use: a permanent one, or a reason to try with a fresh one.
func (l *session) watch(ctx context.Context, st *states) *Error {
	var (
		url         string // set once bound
		online      bool   // a session is authenticated and bound again
		misses      int    // failed tries in a row
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
				online = false // lost; the SDK dials again without waiting
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

// Waits of close; together with the server's shutdown they stay under 5 s.
const (
	unbindTime = 500 * time.Millisecond
	endTime    = time.Second
)

// close gives the address back, ends the session and waits for serve. The SDK may keep a goroutine longer: one that
// waits between two tries (at most 2 s, see maxMisses) or for its next heartbeat; neither can reach the network any
// more.
func (l *session) close() {
	l.mu.Lock()
	listener := l.listener
	l.mu.Unlock()
	if listener != nil {
		// Close asks ngrok and has no time limit of its own; cut ends it on a silent network.
		go listener.Close()
		l.ended(unbindTime)
	}
	l.cancel()
	l.line.cut()
	if !l.ended(endTime) {
		l.config.log().Debug("the ngrok session ends later")
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

// listener is a net.Listener whose connections come from whichever ngrok session is alive. The HTTP server keeps it
// through every reconnect, and closing it never waits for the SDK.
type listener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newListener() *listener { return &listener{conns: make(chan net.Conn), done: make(chan struct{})} }

// push hands a connection to the server, or closes it when nobody accepts any more.
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
	dialFailed eventKind = iota // no connection to ngrok or the proxy; the dialer tries again
	missed                      // the session was lost, or a try to open one failed; the SDK tries again
	connected                   // the session is authenticated and its address bound again, if it had one
	listening                   // the address is bound for the first time
	refused                     // the address could not be bound; the agent is of no more use
	ended                       // the listener ended; the agent is of no more use
)

// fairTime is how long a connection may go without a step while others wait.
const fairTime = 50 * time.Millisecond

// connLimiter bounds the connections of a server. When it is full, the connection that has gone longest without a step (first
// byte, request begun, request answered) is closed for the newcomer, once it has had its fair time: clients that send slowly
// cannot keep others out, they only lose their own place. Its methods may be called from any goroutine.
type connLimiter struct {
	max int

	mu      sync.Mutex
	members map[*member]bool
}

func newConnLimiter(limit int) *connLimiter {
	return &connLimiter{max: limit, members: make(map[*member]bool)}
}

// member is a connection that counts.
type member struct {
	net.Conn
	limiter *connLimiter
	// Both belong to the limiter's mutex.
	step   time.Time
	silent bool // has not sent a byte
}

func (m *member) Close() error {
	m.limiter.mu.Lock()
	delete(m.limiter.members, m)
	m.limiter.mu.Unlock()
	return m.Conn.Close()
}

// listener returns l with every accepted connection as a member.
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

// enter lets m in if there is room, or somebody has to give way.
func (c *connLimiter) enter(m *member) (in bool) {
	var slowest *member
	c.mu.Lock()
	defer func() {
		c.mu.Unlock()
		if in && slowest != nil {
			_ = slowest.Conn.Close() // which serves nobody any more, and may take as long as it likes
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

// dismissSilent closes the connections on which nothing was ever sent.
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
