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
	"time"

	"golang.org/x/net/proxy"
)

const (
	silentFor = 3 * time.Second  // until the next way is tried beside one that says nothing
	dialTime  = 30 * time.Second // to a server or a proxy
	proxyTime = 30 * time.Second // until the proxy has connected
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
				conn, err := through(trying, way, network, address)
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
func through(ctx context.Context, way *url.URL, network, address string) (net.Conn, error) {
	switch {
	case way == nil:
		return dialer.DialContext(ctx, network, address)
	case way.Scheme == "socks5":
		return throughSOCKS(ctx, way, network, address)
	}
	return connect(ctx, way, address)
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

// connect has an HTTP proxy connect (RFC 9110 section 9.3.6). The only sign-in it gets is one that stands in its address: the
// network may have named it, and whoever is signed in to this computer was not asked.
func connect(ctx context.Context, way *url.URL, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, proxyTime)
	defer cancel()
	at := hostPort(way)
	no := func(err error) error { return &Error{Proxy: at, To: address, err: cmp.Or(ctx.Err(), err)} }
	conn, err := dialer.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, no(err)
	}
	if way.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: way.Hostname(), MinVersion: tls.VersionTLS12})
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	response, reader, err := ask(conn, way.User, address)
	if err == nil && response.StatusCode != http.StatusOK {
		err = &Error{Proxy: at, To: address, Status: response.StatusCode, Page: page(response)}
	} else if err != nil {
		err = no(harmless(err))
	}
	if !stop() && err == nil {
		err = no(ctx.Err())
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	if reader.Buffered() > 0 {
		return &ahead{conn, reader}, nil
	}
	return conn, nil
}

// ask sends a CONNECT and reads the head of its answer. reader has what came behind that already.
func ask(conn net.Conn, user *url.Userinfo, address string) (*http.Response, *bufio.Reader, error) {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{"User-Agent": {"Countersign"}}}
	if user != nil {
		password, _ := user.Password()
		request.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if err := request.Write(conn); err != nil {
		return nil, nil, err
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, request)
	return response, reader, err
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
