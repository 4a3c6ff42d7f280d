package proxy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/proxy"
)

const (
	silentFor = 3 * time.Second  // until the next way is tried beside one that says nothing
	dialTime  = 30 * time.Second // to a server or a proxy
	proxyTime = 30 * time.Second // until the proxy has connected, with its sign-in
	maxRounds = 4                // of a sign-in to a proxy
	maxAnswer = 64 << 10         // of what a proxy says instead of connecting
)

// errBroken is a proxy that hung up, or speaks something else than HTTP. What it said is not repeated.
var errBroken = errors.New("no usable answer")

// DialContext connects to address, the way that Find gives: the first of several that leads there. One that is silent has the
// next begin beside it, so that whoever waits less than a connection may take gets through all the same. A proxy that does not
// let us through is an *Error.
func (f *Finder) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	answer, err := f.Find(ctx, address)
	if err != nil {
		return nil, err
	}
	trying, stop := context.WithCancel(ctx)
	defer stop() // ends those that are too late
	type result struct {
		way  *url.URL
		conn net.Conn
		err  error
	}
	results := make(chan result, len(answer.Ways))
	begun, underWay := 0, 0
	begin := func() {
		if begun < len(answer.Ways) && ctx.Err() == nil {
			way := answer.Ways[begun]
			begun, underWay = begun+1, underWay+1
			go func() {
				conn, err := f.through(trying, way, network, address)
				results <- result{way, conn, err}
			}()
		}
	}
	silent := time.NewTicker(cmp.Or(f.patience, silentFor))
	defer silent.Stop()
	var failed error
	for begin(); underWay > 0; {
		select {
		case <-silent.C:
			begin()
		case r := <-results:
			underWay--
			if r.err == nil {
				go func() {
					for range underWay {
						if late := <-results; late.err == nil {
							late.conn.Close()
						}
					}
				}()
				f.prefer(address, r.way)
				return r.conn, nil
			}
			if failed == nil {
				failed = r.err
			}
			begin()
		}
	}
	if ctx.Err() == nil {
		f.forget(address)
	}
	return nil, cmp.Or(failed, ctx.Err(), errNoWay) // nothing was tried where ctx had ended before
}

var errNoWay = errors.New("there is no way out")

// through goes one way.
func (f *Finder) through(ctx context.Context, way *url.URL, network, address string) (net.Conn, error) {
	switch {
	case way == nil:
		return dialer.DialContext(ctx, network, address)
	case way.Scheme == "socks5":
		return throughSOCKS(ctx, way, network, address)
	}
	return f.connect(ctx, way, address)
}

var dialer = &net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}

// throughSOCKS has a SOCKS 5 proxy connect (RFC 1928), which looks the name up.
func throughSOCKS(ctx context.Context, way *url.URL, network, address string) (net.Conn, error) {
	at := hostPort(way)
	var auth *proxy.Auth
	if way.User != nil {
		password, _ := way.User.Password()
		auth = &proxy.Auth{User: way.User.Username(), Password: password}
	}
	socks, err := proxy.SOCKS5("tcp", at, auth, dialer)
	if err != nil {
		return nil, &Error{Proxy: at, To: address, err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, proxyTime)
	defer cancel()
	conn, err := socks.(proxy.ContextDialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, &Error{Proxy: at, To: address, err: err}
	}
	return conn, nil
}

// connect has an HTTP proxy connect (RFC 9110 section 9.3.6), and signs in where it asks for that.
func (f *Finder) connect(ctx context.Context, way *url.URL, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, proxyTime)
	defer cancel()
	c := &asking{ctx: ctx, way: way, at: hostPort(way), address: address}
	conn, err := c.connect(f.SignIn)
	if err != nil {
		c.hangUp()
		if ctx.Err() == nil {
			return nil, err
		}
		return nil, &Error{Proxy: c.at, To: address, err: ctx.Err()}
	}
	return conn, nil
}

// asking is one attempt to be connected by a proxy.
type asking struct {
	ctx         context.Context
	way         *url.URL
	at, address string

	conn   net.Conn
	reader *bufio.Reader
	stop   func() bool
}

func (c *asking) dial() error {
	conn, err := dialer.DialContext(c.ctx, "tcp", c.at)
	if err != nil {
		return &Error{Proxy: c.at, To: c.address, err: err}
	}
	if c.way.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: c.way.Hostname(), MinVersion: tls.VersionTLS12})
	}
	c.conn, c.reader = conn, bufio.NewReader(conn)
	c.stop = context.AfterFunc(c.ctx, func() { conn.Close() })
	return nil
}

func (c *asking) hangUp() {
	if c.conn != nil {
		c.stop()
		c.conn.Close()
		c.conn = nil
	}
}

// connect asks until the proxy connects or says no. signIn may be nil.
func (c *asking) connect(signIn func(scheme, host string) (Exchange, error)) (net.Conn, error) {
	authorization := ""
	if user := c.way.User; user != nil {
		password, _ := user.Password()
		authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password))
		signIn = nil // the password that somebody gave is the one to use
	}
	var login *login
	defer func() { login.end() }()
	for range maxRounds {
		if c.conn == nil {
			if err := c.dial(); err != nil {
				return nil, err
			}
		}
		response, err := c.ask(authorization)
		if err != nil {
			return nil, err
		}
		if response.StatusCode == http.StatusOK {
			return c.connected()
		}
		no := &Error{Proxy: c.at, To: c.address, Status: response.StatusCode, Page: page(response)}
		if response.StatusCode != http.StatusProxyAuthRequired || signIn == nil {
			return nil, no
		}
		if login == nil {
			login = begin(signIn, response.Header, c.way.Hostname())
		}
		if authorization = login.next(response.Header); authorization == "" {
			return nil, no
		}
		if response.Close || response.Header.Get("Proxy-Connection") == "close" {
			c.hangUp()
		}
	}
	return nil, &Error{Proxy: c.at, To: c.address, Status: http.StatusProxyAuthRequired}
}

// ask sends one CONNECT and reads its answer whole, unless that connects.
func (c *asking) ask(authorization string) (*http.Response, error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: c.address}, Host: c.address,
		Header: http.Header{"User-Agent": {"Countersign"}, "Proxy-Connection": {"Keep-Alive"}}}
	if authorization != "" {
		request.Header.Set("Proxy-Authorization", authorization)
	}
	if err := request.Write(c.conn); err != nil {
		return nil, &Error{Proxy: c.at, To: c.address, err: harmless(err)}
	}
	response, err := http.ReadResponse(c.reader, request)
	if err != nil {
		return nil, &Error{Proxy: c.at, To: c.address, err: harmless(err)}
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	n, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer+1))
	response.Body.Close()
	if err != nil || n > maxAnswer || response.ContentLength < 0 && len(response.TransferEncoding) == 0 {
		response.Close = true // nothing more can be read from this connection
	}
	return response, nil
}

// connected hands the connection over, with what was read from it too early.
func (c *asking) connected() (net.Conn, error) {
	if !c.stop() {
		return nil, &Error{Proxy: c.at, To: c.address, err: c.ctx.Err()}
	}
	if c.reader.Buffered() > 0 {
		return &ahead{c.conn, c.reader}, nil
	}
	return c.conn, nil
}

// ahead is a connection of which some bytes are read already.
type ahead struct {
	net.Conn
	reader io.Reader
}

func (a *ahead) Read(p []byte) (int, error) { return a.reader.Read(p) }

// harmless is err, if it is one of the network: the text of others repeats what the proxy said.
func harmless(err error) error {
	var network net.Error
	var unverified *tls.CertificateVerificationError
	switch {
	case errors.As(err, &network), errors.As(err, &unverified):
		return err
	}
	return errBroken
}

// page is where an answer sends browsers to.
func page(response *http.Response) string {
	if response.StatusCode/100 != 3 {
		return ""
	}
	u, err := url.Parse(response.Header.Get("Location"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.String()
}

// challenge is what a proxy offers or asks in one scheme; ok is false when it does not name it (RFC 9110 section 11.7.1).
func challenge(h http.Header, scheme string) (data string, ok bool) {
	for _, line := range h.Values("Proxy-Authenticate") {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.EqualFold(strings.TrimSuffix(name, ","), scheme) {
			return strings.TrimSpace(rest), true
		}
		// Some write all of them into one line. A token comes alone in its line, so here is only whether it is named.
		for item := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(item), scheme) {
				return "", true
			}
		}
	}
	return "", false
}
