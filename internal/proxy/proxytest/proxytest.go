// Package proxytest runs a proxy like those in offices, on this computer, for tests: one that demands a password, one that
// intercepts TLS, one that refuses. It is an HTTP proxy that only supports CONNECT, or a SOCKS proxy, and it decides where names
// lead. It must not know who uses it, and is not part of the shipped program.
package proxytest

import (
	"bufio"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// Options determine how a Proxy behaves. The zero value connects everybody to everywhere.
type Options struct {
	User, Password string // required credentials (Basic); none if User is empty

	Hosts map[string]string // overrides the address of a host:port; others are connected to as named

	// Certificate makes the proxy intercept TLS and present this certificate. Upstream is then the proxy's own
	// configuration.
	Certificate func(host string) (tls.Certificate, error)
	Upstream    *tls.Config

	SOCKS bool // SOCKS 5 (RFC 1928) instead of HTTP, without a password and for names alone

	Status   int    // if set, the answer instead of connecting
	Location string // header sent with Status
}

// Proxy is a running proxy. All methods are safe for concurrent use.
type Proxy struct {
	options  Options
	listener net.Listener
	running  sync.WaitGroup

	mu        sync.Mutex
	connected []string          // host:port of each connection
	open      map[net.Conn]bool // both ends
}

// Start listens on a free port. The caller closes the proxy.
func Start(o Options) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{options: o, listener: listener, open: map[net.Conn]bool{}}
	p.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(conn) })
		}
	})
	return p, nil
}

// Close closes all connections and waits for all goroutines.
func (p *Proxy) Close() {
	p.listener.Close()
	p.mu.Lock()
	for conn := range p.open {
		conn.Close()
	}
	p.open = nil
	p.mu.Unlock()
	p.running.Wait()
}

// URL is the proxy's address, with the password it demands.
func (p *Proxy) URL() *url.URL {
	u := &url.URL{Scheme: "http", Host: p.listener.Addr().String()}
	if p.options.SOCKS {
		u.Scheme = "socks5"
	}
	if p.options.User != "" {
		u.User = url.UserPassword(p.options.User, p.options.Password)
	}
	return u
}

// Connected lists the addresses it has connected to, oldest first.
func (p *Proxy) Connected() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.connected...)
}

// hold registers conn for Close to close; it returns false if the proxy is closed.
func (p *Proxy) hold(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		conn.Close()
		return false
	}
	p.open[conn] = true
	return true
}

func (p *Proxy) serve(conn net.Conn) {
	defer conn.Close()
	if !p.hold(conn) {
		return
	}
	if p.options.SOCKS {
		if host, err := socksHost(conn); err == nil {
			p.connect(conn, host, "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
		}
		return
	}
	reader := bufio.NewReader(conn)
	for {
		request, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		status, header := p.decide(request)
		if status == http.StatusOK {
			p.connect(conn, request.Host, "HTTP/1.1 200 Connection established\r\n\r\n")
			return
		}
		body := "<html><body>no</body></html>"
		answer := http.Response{StatusCode: status, ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: int64(len(body)),
			Body: io.NopCloser(strings.NewReader(body))}
		if answer.Write(conn) != nil {
			return
		}
	}
}

// decide determines the answer to one request.
func (p *Proxy) decide(r *http.Request) (status int, header http.Header) {
	o := p.options
	header = http.Header{}
	said := r.Header.Get("Proxy-Authorization")
	switch {
	case r.Method != http.MethodConnect:
		return http.StatusMethodNotAllowed, header
	case o.Status != 0:
		if o.Location != "" {
			header.Set("Location", o.Location)
		}
		return o.Status, header
	case o.User != "" && said != "Basic "+base64.StdEncoding.EncodeToString([]byte(o.User+":"+o.Password)):
		header.Set("Proxy-Authenticate", `Basic realm="office"`)
		return http.StatusProxyAuthRequired, header
	}
	return http.StatusOK, header
}

// socksHost answers a SOCKS client's greeting, and returns the host:port it then asks for.
func socksHost(conn net.Conn) (host string, err error) {
	read := func(n byte) []byte {
		b := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(conn, b)
		}
		return b
	}
	read(read(2)[1]) // version, and the ways to sign in
	io.WriteString(conn, "\x05\x00")
	name := read(read(5)[4]) // version, connect, 0, a name, its length
	port := read(2)
	return net.JoinHostPort(string(name), strconv.Itoa(int(port[0])<<8+int(port[1]))), err
}

func (p *Proxy) connect(here net.Conn, host, established string) {
	at := host
	if real, known := p.options.Hosts[host]; known {
		at = real
	}
	there, err := net.Dial("tcp", at)
	if err != nil {
		io.WriteString(here, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer there.Close()
	if !p.hold(there) {
		return
	}
	p.mu.Lock()
	p.connected = append(p.connected, host)
	p.mu.Unlock()
	if _, err := io.WriteString(here, established); err != nil {
		return
	}
	if p.options.Certificate != nil {
		name, _, _ := net.SplitHostPort(host)
		certificate, err := p.options.Certificate(name)
		if err != nil {
			return
		}
		opened := tls.Server(here, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
		if opened.Handshake() != nil {
			return
		}
		upstream := p.options.Upstream.Clone()
		upstream.ServerName = name
		here, there = opened, tls.Client(there, upstream)
	}
	splice(here, there)
}

// splice copies in both directions until either side ends.
func splice(a, b net.Conn) {
	done := make(chan error, 1)
	go func() {
		_, err := io.Copy(a, b)
		a.Close()
		done <- err
	}()
	_, err := io.Copy(b, a)
	b.Close()
	_ = errors.Join(err, <-done) // one of them was closed
}
