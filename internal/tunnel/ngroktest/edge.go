// Package ngroktest is a stand-in for ngrok's servers on this computer: the real ngrok SDK connects to it, binds an
// address and serves requests through it, without an account and without the internet. The tests of package tunnel
// and the end-to-end tests use it.
//
// It promises to speak the agent protocol closely enough that the SDK cannot tell (Auth, Bind, Unbind, heartbeats,
// Proxy, Stop, StopTunnel over muxado and TLS) and to misbehave on demand: refuse a token, hold a domain, kill a
// session, fall silent, disappear, show a wrong certificate. It keeps request bytes and the Host header as they came.
//
// It must not know package tunnel nor anything else of Countersign, and it is not part of the shipped program.
package ngroktest

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
)

// Options say whom an Edge accepts. The zero value accepts every non-empty token.
type Options struct {
	Authtoken string   // the only token accepted; "" accepts any
	Hosts     []string // names the public certificate carries besides 127.0.0.1, localhost and whatever gets bound
	Assigned  string   // the domain an agent gets when it asks for none; "" is assigned.ngrok.test
}

// Edge is one running stand-in. Its methods may be called from any goroutine; a control takes effect before its
// method returns.
type Edge struct {
	authority *authority
	opts      Options
	agents    string // host:port of the agent side, kept while it refuses connections
	public    net.Listener
	server    *http.Server
	gate      gate
	running   sync.WaitGroup

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced whenever counts or sessions change
	listener  net.Listener  // nil while refusing connections
	closed    bool
	wrongCert bool
	rejection map[stage]string // ERR_NGROK code to answer with, per stage
	held      map[string]int   // domain -> binds still to be refused, negative for ever
	sessions  map[*session]bool
	opened    map[*gatedConn]bool
	tokens    map[string]string // bind token -> URL, so that a reconnecting agent gets its address back
	counts    Counts
	requests  []Request
}

// Start listens on both sides, on free ports of 127.0.0.1: where agents connect, and where browsers and webhooks arrive.
// Close it.
func Start(opts Options) (*Edge, error) {
	opts.Assigned = cmp.Or(opts.Assigned, "assigned.ngrok.test")
	auth, err := newAuthority(append([]string{"localhost", "127.0.0.1", "::1", opts.Assigned}, opts.Hosts...))
	if err != nil {
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
		authority: auth, opts: opts, public: public,
		agents: agents.Addr().String(), listener: agents,
		changed:   make(chan struct{}),
		rejection: make(map[stage]string), held: make(map[string]int),
		sessions: make(map[*session]bool), opened: make(map[*gatedConn]bool),
		tokens: make(map[string]string),
	}
	e.gate.open()
	e.server = newPublicServer(e)
	e.running.Go(func() { e.acceptAgents(agents) })
	e.running.Go(func() {
		config := &tls.Config{GetCertificate: auth.forHello, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
		_ = e.server.Serve(tls.NewListener(public, config))
	})
	return e, nil
}

// Close ends every session and both listeners and waits until nothing of the edge runs any more. It may be called
// more than once.
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

// ConnectAddr is the host:port an agent connects to (tunnel.NgrokConfig.ConnectURL). It stays the same while the
// edge refuses connections.
func (e *Edge) ConnectAddr() string { return e.agents }

// PublicAddr is the host:port on which the public side accepts HTTPS for every bound host.
func (e *Edge) PublicAddr() string { return e.public.Addr().String() }

// Authority is who signed the certificates of both sides.
func (e *Edge) Authority() *Authority { return e.authority.Authority }

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
		certificate := e.authority.agentSide
		if e.wrongCert {
			certificate = e.authority.wrong
		}
		e.counts.Connections++
		e.opened[gated] = true
		e.bump()
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

// bump wakes everyone in Wait. The caller holds e.mu.
func (e *Edge) bump() {
	close(e.changed)
	e.changed = make(chan struct{})
}
