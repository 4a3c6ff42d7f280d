package ngroktest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"time"
)

// stage is a point in a session at which the edge can refuse.
type stage string

const (
	atAuth stage = "auth"
	atBind stage = "bind"
)

// Counts counts what has happened since Start, and the current sessions.
type Counts struct {
	Connections int // accepted agent connections, before TLS
	Auths       int // Auth messages, accepted or not
	Binds       int // Bind messages, accepted or not
	Unbinds     int
	Heartbeats  int // echoed
	Sessions    int // currently authenticated and alive
	Bound       int // addresses currently bound
}

// Request is one request to the public side. Bodies and headers are not kept: they can hold secrets.
type Request struct {
	Host string
	Path string
}

func (e *Edge) Counts() Counts {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.counts
	c.Sessions = len(e.sessions)
	for s := range e.sessions {
		c.Bound += len(s.binds)
	}
	return c
}

// Requests returns the requests to the public side, oldest first.
func (e *Edge) Requests() []Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.requests)
}

// RejectAuth answers every Auth with the error code (ERR_NGROK_107 is a wrong token); "" accepts again.
func (e *Edge) RejectAuth(code string) { e.reject(atAuth, code) }

// RejectBind answers every Bind with the error code (ERR_NGROK_320 is somebody else's domain); "" accepts again.
func (e *Edge) RejectBind(code string) { e.reject(atBind, code) }

func (e *Edge) reject(at stage, code string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rejection[at] = code
}

// HoldDomain answers the next n Binds of host with ERR_NGROK_334, as if another agent had it; a negative n lasts until
// FreeDomain.
func (e *Edge) HoldDomain(host string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.held[strings.ToLower(host)] = n
}

// FreeDomain ends HoldDomain.
func (e *Edge) FreeDomain(host string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.held, strings.ToLower(host))
}

// KillSessions resets every agent connection.
func (e *Edge) KillSessions() {
	e.mu.Lock()
	conns := slices.Collect(maps.Keys(e.opened))
	e.mu.Unlock()
	for _, conn := range conns {
		conn.Close()
	}
}

// Silence stops all traffic on agent connections, present and new ones, without closing any; Speak continues it.
func (e *Edge) Silence() { e.gate.shut() }

// Speak ends Silence.
func (e *Edge) Speak() { e.gate.open() }

// Refuse closes the agent side's port, so that new connections are refused; sessions stay.
func (e *Edge) Refuse() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listener == nil {
		return nil
	}
	err := e.listener.Close()
	e.listener = nil
	return err
}

// Return listens again where Refuse stopped.
func (e *Edge) Return() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.listener != nil || e.closed {
		return nil
	}
	listener, err := net.Listen("tcp", e.agents)
	if err != nil {
		return fmt.Errorf("edge: listen for agents again: %w", err)
	}
	e.listener = listener
	e.running.Go(func() { e.acceptAgents(listener) })
	return nil
}

// ShowWrongCertificate makes new agent connections see a certificate of an unknown authority, as on a network that
// intercepts encrypted connections.
func (e *Edge) ShowWrongCertificate(wrong bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.wrongCert = wrong
}

// StopTunnel tells the agent that has bound host that this address is stopped; its session stays. While the edge is silent,
// it waits.
func (e *Edge) StopTunnel(host, message, code string) error {
	e.mu.Lock()
	session, bind := e.findLocked(host)
	if session != nil {
		delete(session.binds, bind.id)
	}
	e.mu.Unlock()
	if session == nil {
		return fmt.Errorf("edge: nobody has %q", host)
	}
	return session.tell(typeStopTunnel, stopTunnel{ID: bind.id, Message: message, ErrorCode: code})
}

var errNobody = errors.New("no agent serves this host")

// arrival is what a public request's proxy stream must know about it.
type arrival struct{ host, client string }

type arrivalKey struct{}

// newPublicServer forwards every request to the agent that has bound its host. Host, path, query and body are unchanged;
// X-Forwarded-For is appended to and X-Forwarded-Proto and -Host are set, as ngrok does.
func newPublicServer(e *Edge) *http.Server {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = "http" // TLS ends here; the rest runs inside the agent's session
			r.Out.URL.Host = r.In.Host
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			r.Out.Host = r.In.Host
			r.Out.Header["X-Forwarded-For"] = r.In.Header["X-Forwarded-For"]
			r.SetXForwarded()
		},
		Transport: &http.Transport{
			// A stream per request: a pooled one could belong to a session that a test just killed.
			DisableKeepAlives: true,
			// By default the transport would request gzip on the client's behalf.
			DisableCompression: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				from := ctx.Value(arrivalKey{}).(arrival)
				return e.dialAgent(from)
			},
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if errors.Is(err, errNobody) {
				http.Error(w, "The endpoint is offline.\r\n\r\nERR_NGROK_3200", http.StatusNotFound)
				return
			}
			http.Error(w, "The agent did not answer.\r\n\r\nERR_NGROK_3004", http.StatusBadGateway)
		},
	}
	return &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			e.mu.Lock()
			e.requests = append(e.requests, Request{Host: r.Host, Path: r.URL.Path})
			e.mu.Unlock()
			from := arrival{host: r.Host, client: r.RemoteAddr}
			forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), arrivalKey{}, from)))
		}),
	}
}

func (e *Edge) dialAgent(from arrival) (net.Conn, error) {
	e.mu.Lock()
	session, bind := e.findLocked(from.host)
	e.mu.Unlock()
	if session == nil {
		return nil, errNobody
	}
	return session.open(bind, from.client)
}

// findLocked finds who serves host. The port matters only if the bound URL has one.
func (e *Edge) findLocked(host string) (*session, *bind) {
	host = strings.ToLower(host)
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	for s := range e.sessions {
		for _, b := range s.binds {
			if b.host == host || b.host == name {
				return s, b
			}
		}
	}
	return nil, nil
}

// Client returns an HTTP client that resolves every host to this edge's public side and trusts its certificates. It follows
// no redirects and keeps no connections; it is safe for concurrent use.
func (e *Edge) Client() *http.Client {
	return &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: e.Authority().Pool(), MinVersion: tls.VersionTLS12},
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				var dialer net.Dialer
				return dialer.DialContext(ctx, network, e.PublicAddr())
			},
		},
	}
}

// Authority is a certificate authority that lives as long as the process.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// NewAuthority makes an authority of that name.
func NewAuthority(name string) (*Authority, error) {
	a := &Authority{}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, key, err := a.sign(template)
	if err != nil {
		return nil, err
	}
	a.key = key
	a.certificate, err = x509.ParseCertificate(der)
	return a, err
}

// Issue makes a server's certificate for names, which are host names or IP addresses.
func (a *Authority) Issue(names ...string) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:  pkix.Name{CommonName: names[0]},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, key, err := a.sign(template)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: key}, nil
}

// sign creates a key and its certificate, self-signed if the authority has none yet.
func (a *Authority) sign(template *x509.Certificate) (der []byte, key *ecdsa.PrivateKey, err error) {
	if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(now.UnixNano()), now.Add(-time.Hour), now.Add(7*24*time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err = x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	return der, key, err
}

// PEM is the authority's own certificate.
func (a *Authority) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

// Pool contains only the authority's own certificate.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// identity is the certificate that an edge shows on both sides.
type identity struct {
	*Authority
	certificate tls.Certificate
}

// newIdentity creates an identity issued by a new authority of that name.
func newIdentity(name string) (identity, error) {
	a, err := NewAuthority(name)
	if err != nil {
		return identity{}, err
	}
	certificate, err := a.Issue("localhost", "127.0.0.1", "::1", "*.ngrok.test")
	return identity{a, certificate}, err
}
