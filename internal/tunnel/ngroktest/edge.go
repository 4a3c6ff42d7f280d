// Package ngroktest is a stand-in for ngrok's servers on this computer: the real ngrok SDK connects to it, binds an
// address and serves requests through it, without an account and without the internet. The tests of package tunnel
// and the end-to-end tests use it.
//
// It promises to speak the agent protocol so closely that the SDK cannot tell the difference (Auth, Bind, Unbind,
// heartbeats, Proxy, StopTunnel over muxado and TLS) and to misbehave on demand: refuse a token, hold a domain, kill a
// session, fall silent, disappear, show a wrong certificate. It does not change request bytes and the Host header.
//
// It must not know package tunnel or anything else of Countersign, and is not part of the shipped program.
package ngroktest

import (
	"cmp"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"golang.ngrok.com/muxado/v2"
)

// Options say whom an Edge accepts. The zero value accepts every non-empty token.
type Options struct {
	Authtoken string // the only token accepted; "" accepts any
	Assigned  string // the domain for an agent that requests none; "" means assigned.ngrok.test
}

// Edge is a running stand-in. Its methods may be called from any goroutine; a control takes effect before its method
// returns.
type Edge struct {
	right   identity
	wrong   identity // untrusted, for the agents' side
	opts    Options
	agents  string // host:port of the agent side, kept while it refuses connections
	public  net.Listener
	server  *http.Server
	gate    gate
	running sync.WaitGroup

	mu        sync.Mutex
	listener  net.Listener // nil while refusing connections
	closed    bool
	wrongCert bool
	rejection map[stage]string // ERR_NGROK code to answer with, per stage
	held      map[string]int   // domain -> binds still to refuse, negative for ever
	sessions  map[*session]bool
	opened    map[*gatedConn]bool
	tokens    map[string]string // bind token -> URL, so that a reconnecting agent gets its address again
	counts    Counts
	requests  []Request
}

// Start listens on free ports of 127.0.0.1 on both sides: for agents, and for browsers and webhooks. The caller closes it.
func Start(opts Options) (*Edge, error) {
	opts.Assigned = cmp.Or(opts.Assigned, "assigned.ngrok.test")
	right, err := newIdentity("Countersign test edge")
	wrong, wrongErr := newIdentity("Nobody trusts this")
	if err := errors.Join(err, wrongErr); err != nil {
		return nil, fmt.Errorf("edge: make certificates: %w", err)
	}
	agents, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("edge: listen for agents: %w", err)
	}
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		agents.Close()
		return nil, fmt.Errorf("edge: listen for the public: %w", err)
	}
	e := &Edge{
		right: right, wrong: wrong, opts: opts, public: public,
		agents: agents.Addr().String(), listener: agents,
		rejection: make(map[stage]string), held: make(map[string]int),
		sessions: make(map[*session]bool), opened: make(map[*gatedConn]bool),
		tokens: make(map[string]string),
	}
	e.gate.open()
	e.server = newPublicServer(e)
	e.running.Go(func() { e.acceptAgents(agents) })
	e.running.Go(func() {
		config := &tls.Config{Certificates: []tls.Certificate{right.certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
		_ = e.server.Serve(tls.NewListener(public, config))
	})
	return e, nil
}

// Close ends every session and both listeners and waits for all goroutines. It may be called more than once.
func (e *Edge) Close() error {
	e.mu.Lock()
	e.closed = true
	listener := e.listener
	e.listener = nil
	e.mu.Unlock()
	var errs []error
	if listener != nil {
		errs = append(errs, listener.Close())
	}
	e.KillSessions()
	e.gate.open()
	if err := e.server.Close(); !errors.Is(err, net.ErrClosed) {
		errs = append(errs, err)
	}
	e.running.Wait()
	return errors.Join(errs...)
}

// ConnectAddr is the host:port to which an agent connects (tunnel.NgrokConfig.ConnectURL). It stays the same while the edge
// refuses connections.
func (e *Edge) ConnectAddr() string { return e.agents }

// PublicAddr is the host:port on which the public side accepts HTTPS for every bound host; hosts must be below ngrok.test.
func (e *Edge) PublicAddr() string { return e.public.Addr().String() }

// Authority issued the certificates of both sides.
func (e *Edge) Authority() *Authority { return e.right.Authority }

func (e *Edge) acceptAgents(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		gated := newGatedConn(conn, &e.gate)
		e.mu.Lock()
		if e.closed {
			e.mu.Unlock()
			conn.Close()
			return
		}
		certificate := e.right.certificate
		if e.wrongCert {
			certificate = e.wrong.certificate
		}
		e.counts.Connections++
		e.opened[gated] = true
		e.mu.Unlock()
		e.running.Go(func() {
			config := &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
			serveSession(e, tls.Server(gated, config))
			gated.Close()
			e.mu.Lock()
			delete(e.opened, gated)
			e.mu.Unlock()
		})
	}
}

// gate can stop all connections of an edge at once, as if the network had gone silently.
type gate struct {
	mu      sync.Mutex
	passing chan struct{} // closed while traffic passes; nil means shut until the first open
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.passing == nil {
		g.passing = make(chan struct{})
	}
	select {
	case <-g.passing:
	default:
		close(g.passing)
	}
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.passing = make(chan struct{})
}

func (g *gate) wait(closed <-chan struct{}) error {
	g.mu.Lock()
	passing := g.passing
	g.mu.Unlock()
	select {
	case <-passing:
		return nil
	case <-closed:
		return net.ErrClosed
	}
}

// gatedConn reads and writes only while its gate is open; meanwhile the other end sees neither data nor FIN.
type gatedConn struct {
	net.Conn
	gate   *gate
	once   sync.Once
	closed chan struct{}
}

func newGatedConn(conn net.Conn, g *gate) *gatedConn {
	return &gatedConn{Conn: conn, gate: g, closed: make(chan struct{})}
}

func (c *gatedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	// Check after the read, too: a read that was already waiting must not deliver data that arrived during the silence.
	if gateErr := c.gate.wait(c.closed); gateErr != nil {
		return 0, gateErr
	}
	return n, err
}

func (c *gatedConn) Write(p []byte) (int, error) {
	if err := c.gate.wait(c.closed); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// Close ends the connection with a reset, as a killed process or a rebooted router would.
func (c *gatedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return c.Conn.Close()
}

// The types that begin a stream of the agent protocol, as a big-endian uint32 (ngrok.md, "The agent protocol").
const (
	typeAuth       muxado.StreamType = 0
	typeBind       muxado.StreamType = 1
	typeUnbind     muxado.StreamType = 2
	typeProxy      muxado.StreamType = 3
	typeSrvInfo    muxado.StreamType = 8
	typeStopTunnel muxado.StreamType = 9
	typePatch      muxado.StreamType = 10
	typeHeartbeat  muxado.StreamType = 0xFFFFFFFF
)

type authRequest struct {
	ClientID string `json:"ClientId"`
	Extra    struct{ Authtoken, Cookie string }
}

type authResponse struct {
	Version  string
	ClientID string `json:"ClientId"`
	Error    string
	Extra    authExtra
}

type authExtra struct {
	Version, Region, Cookie, AccountName, PlanName, AgentSessionID string
}

type bindRequest struct {
	ID    string `json:"Id"`
	Proto string
	Opts  struct{ URL, Domain string }
	Extra struct{ Token string }
}

type bindResponse struct {
	ID    string `json:"Id"`
	URL   string
	Proto string
	Opts  any
	Error string
	Extra bindExtra
}

type bindExtra struct{ Token, TunnelID string }

type bindOptions struct{ URL string }

type unbindRequest struct {
	ID string `json:"Id"`
}

type plainResponse struct{ Error string }

type srvInfoResponse struct{ Region string }

type stopTunnel struct {
	ID        string `json:"Id"`
	Message   string
	ErrorCode string
}

type proxyHeader struct {
	ID             string `json:"Id"`
	ClientAddr     string
	Proto          string
	EdgeType       string
	PassthroughTLS bool
}

// refusal is an error text in ngrok's format: the code is on its own line at the end.
func refusal(message, code string) string {
	return fmt.Sprintf("%s\r\n\r\n%s\r\n", message, code)
}

// writeProxyHeader writes the length (little-endian, unlike everything else in the protocol) and the header.
func writeProxyHeader(w io.Writer, header proxyHeader) error {
	text, err := json.Marshal(header)
	if err != nil {
		return err
	}
	framed := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	_, err = w.Write(append(framed, text...))
	return err
}

func readJSON(stream muxado.Stream, into any) error { return json.NewDecoder(stream).Decode(into) }

func writeJSON(stream muxado.Stream, value any) error { return json.NewEncoder(stream).Encode(value) }

// session is one agent connection. Its binds are guarded by the edge's mutex, like everything else that public requests and
// controls access.
type session struct {
	edge     *Edge
	mux      muxado.TypedStreamSession
	clientID string // set by Auth
	binds    map[string]*bind
}

// bind is one address that an agent serves.
type bind struct {
	id   string
	host string // lower case, with the port if the URL has one
}

// serveSession runs an agent's session until its connection ends.
func serveSession(e *Edge, conn net.Conn) {
	s := &session{
		edge:  e,
		mux:   muxado.NewTypedStreamSession(muxado.Server(conn, nil)),
		binds: make(map[string]*bind),
	}
	defer func() {
		e.mu.Lock()
		delete(e.sessions, s)
		e.mu.Unlock()
		_ = s.mux.Close()
	}()
	for {
		stream, err := s.mux.AcceptTypedStream()
		if err != nil {
			return
		}
		e.running.Go(func() {
			defer stream.Close()
			_ = s.answer(stream) // without an answer, the agent reports what is missing
		})
	}
}

func (s *session) answer(stream muxado.TypedStream) error {
	switch stream.StreamType() {
	case typeHeartbeat:
		return s.echo(stream)
	case typeAuth:
		var request authRequest
		if err := readJSON(stream, &request); err != nil {
			return err
		}
		return writeJSON(stream, s.auth(request))
	case typeBind:
		var request bindRequest
		if err := readJSON(stream, &request); err != nil {
			return err
		}
		return writeJSON(stream, s.bind(request))
	case typeUnbind:
		var request unbindRequest
		if err := readJSON(stream, &request); err != nil {
			return err
		}
		return writeJSON(stream, s.unbind(request))
	case typeSrvInfo:
		return writeJSON(stream, srvInfoResponse{Region: "local"})
	case typePatch:
		return writeJSON(stream, plainResponse{})
	}
	return fmt.Errorf("unknown stream type %d", stream.StreamType())
}

func (s *session) echo(stream muxado.Stream) error {
	var beat [4]byte
	for {
		if _, err := io.ReadFull(stream, beat[:]); err != nil {
			return nil // the session ended
		}
		if _, err := stream.Write(beat[:]); err != nil {
			return nil
		}
		s.edge.mu.Lock()
		s.edge.counts.Heartbeats++
		s.edge.mu.Unlock()
	}
}

func (s *session) auth(request authRequest) authResponse {
	e := s.edge
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.Auths++
	token := request.Extra.Authtoken
	if code := e.rejection[atAuth]; code != "" {
		return authResponse{Error: refusal("The authtoken you specified is refused.\r\nYour authtoken: "+token, code)}
	}
	if token == "" {
		return authResponse{Error: refusal("Usage of ngrok requires a verified account and authtoken.", "ERR_NGROK_4018")}
	}
	if e.opts.Authtoken != "" && token != e.opts.Authtoken {
		// ngrok repeats the token in its answer, which is why clients must not show or log the text unchanged.
		return authResponse{Error: refusal("The authtoken you specified is properly formed, but it is invalid.\r\n"+
			"Your authtoken: "+token, "ERR_NGROK_107")}
	}
	s.clientID = cmp.Or(request.ClientID, rand.Text())
	e.sessions[s] = true
	return authResponse{
		Version: "3", ClientID: s.clientID,
		Extra: authExtra{
			Version: "edge", Region: "local", Cookie: "cookie-" + s.clientID,
			AccountName: "Local", PlanName: "Free", AgentSessionID: "ts_" + s.clientID,
		},
	}
}

func (s *session) bind(request bindRequest) bindResponse {
	e := s.edge
	e.mu.Lock()
	defer e.mu.Unlock()
	e.counts.Binds++
	if !e.sessions[s] {
		return bindResponse{Error: "bind before auth"}
	}
	address := e.addressLocked(request)
	parsed, err := url.Parse(address)
	if err != nil || parsed.Scheme != "https" || parsed.Host == "" {
		return bindResponse{Error: refusal("The address is not an HTTPS address.", "ERR_NGROK_9037")}
	}
	host := strings.ToLower(parsed.Host)
	if code := e.rejection[atBind]; code != "" {
		return bindResponse{Error: refusal("Failed to create an endpoint with the domain "+host+".", code)}
	}
	if e.takenLocked(s, host) {
		return bindResponse{Error: refusal("The endpoint "+address+" is already online.", "ERR_NGROK_334")}
	}
	id, token := cmp.Or(request.ID, rand.Text()), cmp.Or(request.Extra.Token, rand.Text())
	e.tokens[token] = address
	s.binds[id] = &bind{id: id, host: host}
	return bindResponse{
		ID: id, URL: address, Proto: "https", Opts: bindOptions{URL: address},
		Extra: bindExtra{Token: token, TunnelID: "tn_" + id},
	}
}

// addressLocked is the URL that a Bind requests: by its options, by the token of an earlier bind, or the account's own.
func (e *Edge) addressLocked(request bindRequest) string {
	if request.Opts.URL != "" {
		return request.Opts.URL
	}
	if request.Opts.Domain != "" {
		return "https://" + request.Opts.Domain
	}
	if known, ok := e.tokens[request.Extra.Token]; ok && request.Extra.Token != "" {
		return known
	}
	return "https://" + e.opts.Assigned
}

// takenLocked reports whether another agent has host, or a test holds it. A reconnecting agent may take over its own address
// from its earlier session.
func (e *Edge) takenLocked(s *session, host string) bool {
	if n, held := e.held[host]; held && n != 0 {
		e.held[host] = max(n-1, -1)
		return true
	}
	for other := range e.sessions {
		for id, b := range other.binds {
			if b.host != host {
				continue
			}
			if other != s && other.clientID != s.clientID {
				return true
			}
			delete(other.binds, id)
		}
	}
	return false
}

func (s *session) unbind(request unbindRequest) plainResponse {
	s.edge.mu.Lock()
	defer s.edge.mu.Unlock()
	s.edge.counts.Unbinds++
	delete(s.binds, request.ID)
	return plainResponse{}
}

// tell sends a message that needs no answer. It ignores write errors: an agent that ends the session because of the message
// may be gone before muxado confirms the write.
func (s *session) tell(kind muxado.StreamType, message any) error {
	stream, err := s.mux.OpenTypedStream(kind)
	if err != nil {
		return fmt.Errorf("edge: open a stream to the agent: %w", err)
	}
	defer stream.Close()
	err = writeJSON(stream, message)
	if code, _ := muxado.GetError(err); code == muxado.SessionClosed {
		return nil
	}
	return err
}

// open opens a Proxy stream on which the agent answers HTTP/1.1.
func (s *session) open(b *bind, client string) (net.Conn, error) {
	stream, err := s.mux.OpenTypedStream(typeProxy)
	if err != nil {
		return nil, err
	}
	header := proxyHeader{ID: b.id, ClientAddr: client, Proto: "https", EdgeType: "3"}
	if err := writeProxyHeader(stream, header); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}
