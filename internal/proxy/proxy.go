// Package proxy finds the way to an address, directly or through the network's proxy, and dials it.
//
// The proxy is determined by the first of these that has one:
//
//  1. the environment: HTTPS_PROXY or ALL_PROXY, unless NO_PROXY excludes the address (all also in lower case);
//  2. the system: on Windows what WinHTTP says (a fixed proxy with its exceptions, a script, a script found by WPAD), on
//     macOS the network settings, elsewhere the desktop's (the XDG portal, which runs scripts too);
//  3. nothing: the connection is direct.
//
// Addresses of this computer are never reached through a proxy. It promises that none of its texts and errors contains a
// password, and that the signed-in user's credentials are never sent to a proxy or to the server of its script: the network
// may have named both. It must not know who is called, nor why.
package proxy

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
	"golang.org/x/sync/singleflight"

	"countersign/internal/message"
)

// Source says what determined the way.
type Source string

const (
	Nothing     Source = ""            // nothing: the connection is direct
	Here        Source = "here"        // the address is on this computer
	Environment Source = "environment" // HTTPS_PROXY, ALL_PROXY, NO_PROXY
	System      Source = "system"      // a fixed proxy, with its exceptions
	Script      Source = "script"      // a script (PAC) whose address is set
	Detected    Source = "detected"    // a script that the network offered (WPAD)
	Unread      Source = "unread"      // a script that cannot be run here, or does not end: the connection is assumed to be direct
)

// Answer is how to reach an address.
type Answer struct {
	// Ways are to be tried in order; nil means a direct connection. There is always at least one. The schemes are http,
	// https and socks5. They may contain a user and a password: show people Name instead.
	Ways   []*url.URL
	Source Source
}

var straight = []*url.URL{nil}

// First is the proxy to try first; nil for none.
func (a Answer) First() *url.URL {
	if len(a.Ways) == 0 {
		return nil
	}
	return a.Ways[0]
}

// Name is the proxy to try first as host:port, without a password; empty for none.
func (a Answer) Name() string {
	if p := a.First(); p != nil {
		return hostPort(p)
	}
	return ""
}

const (
	// keepTime is how long a system answer is cached. It is dropped earlier after a sleep, or if its way failed.
	keepTime = 2 * time.Minute
	// askTime limits a question to the system: finding a script (WPAD) and fetching it take seconds.
	askTime = 15 * time.Second
	// maxWays limits how many ways of a script are tried.
	maxWays = 16
)

// Finder finds ways and dials them. The zero value uses only the environment. All methods are safe for concurrent use.
type Finder struct {
	// Ask asks the system for the way to a URL; nil if there is no system to ask. It may block for askTime.
	Ask func(ctx context.Context, to *url.URL) (Answer, error)

	asking   singleflight.Group
	patience time.Duration // silentFor if it is 0

	mu   sync.Mutex
	kept map[string]answerKept // by host:port
}

type answerKept struct {
	Answer
	at time.Time
}

// OfSystem returns a Finder that also asks the system.
func OfSystem() *Finder { return &Finder{Ask: askSystem} }

// Find says how to reach a TLS server at hostport. An error, always an *Error, means that a setting cannot be understood. If
// the system does not answer, the connection is direct.
func (f *Finder) Find(ctx context.Context, hostport string) (Answer, error) {
	to := &url.URL{Scheme: "https", Host: strings.TrimSuffix(hostport, ":443"), Path: "/"}
	if IsHere(to.Hostname()) {
		return Answer{straight, Here}, nil
	}
	answer, decided, err := fromEnvironment(to)
	if decided || err != nil || f.Ask == nil {
		return answer, err
	}
	f.mu.Lock()
	kept, known := f.kept[hostport]
	f.mu.Unlock()
	if known && time.Since(kept.at) < keepTime {
		return kept.Answer, nil
	}
	asked := f.asking.DoChan(hostport, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
		defer cancel()
		answer, err := f.Ask(ctx, to)
		if err != nil || len(answer.Ways) == 0 {
			answer = Answer{straight, answer.Source}
		}
		answer.Ways = answer.Ways[:min(len(answer.Ways), maxWays)]
		f.keep(hostport, answerKept{answer, time.Now()})
		return answer, nil
	})
	select {
	case r := <-asked:
		return r.Val.(Answer), nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

func (f *Finder) keep(hostport string, a answerKept) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil || len(f.kept) > 256 { // an office needs only a handful
		f.kept = map[string]answerKept{}
	}
	f.kept[hostport] = a
}

// Forget drops the system's answers: the network may have changed, or a way may have failed.
func (f *Finder) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kept = nil
}

// forget is Forget for one address.
func (f *Finder) forget(hostport string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.kept, hostport)
}

// prefer makes that way the first to be tried, because those before it failed. It may be called concurrently.
func (f *Finder) prefer(hostport string, way *url.URL) {
	f.mu.Lock()
	defer f.mu.Unlock()
	kept, known := f.kept[hostport]
	if i := slices.Index(kept.Ways, way); known && i > 0 {
		kept.Ways = slices.Concat(kept.Ways[i:], kept.Ways[:i])
		f.kept[hostport] = kept
	}
}

func IsHere(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

func hostPort(proxy *url.URL) string {
	port := proxy.Port()
	if port == "" {
		port = map[string]string{"https": "443", "socks5": "1080"}[proxy.Scheme]
	}
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(proxy.Hostname(), port)
}

// fromEnvironment is the environment's answer as the standard library determines it, plus ALL_PROXY, which the library
// ignores. decided is false if the environment says nothing. NO_PROXY also applies to the system's proxy.
func fromEnvironment(to *url.URL) (answer Answer, decided bool, err error) {
	config := httpproxy.FromEnvironment()
	for _, name := range []string{"ALL_PROXY", "all_proxy"} {
		if config.HTTPSProxy == "" {
			config.HTTPSProxy = os.Getenv(name)
		}
	}
	named := config.HTTPSProxy
	config.HTTPSProxy = "http://proxy.invalid" // only to evaluate NO_PROXY
	if way, err := config.ProxyFunc()(to); err == nil && way == nil {
		return Answer{straight, Environment}, true, nil
	}
	if named == "" {
		return Answer{straight, Nothing}, false, nil
	}
	way, err := parseWay(named)
	if err != nil {
		return Answer{}, true, &Error{unreadable: true}
	}
	return Answer{[]*url.URL{way}, Environment}, true, nil
}

// Error means that a proxy does not let us through. Its text contains no user, password or token.
type Error struct {
	Proxy  string // host:port
	To     string // destination as host:port
	Status int    // the proxy's answer, 0 if it gave none
	// Page is where the proxy redirects browsers instead of letting us through, if it does.
	Page string

	unreadable bool  // a setting cannot be understood
	err        error // why there was no answer
}

func (e *Error) Error() string {
	switch {
	case e.unreadable:
		return "the proxy in the environment cannot be understood"
	case e.err != nil:
		return fmt.Sprintf("proxy %s: %v", e.Proxy, e.err)
	}
	return fmt.Sprintf("proxy %s answered %d", e.Proxy, e.Status)
}

func (e *Error) Unwrap() error { return e.err }

// WantsBrowser reports whether the proxy demands a sign-in in the browser (RFC 6585 section 6, or a redirect).
func (e *Error) WantsBrowser() bool {
	return e.Status == http.StatusNetworkAuthenticationRequired || e.Status/100 == 3
}

func (e *Error) Message() message.Message {
	switch {
	case e.unreadable:
		return message.ProxyUnreadable()
	case e.WantsBrowser():
		return message.NetworkWantsBrowser()
	case e.Status == http.StatusProxyAuthRequired:
		return message.ProxyWantsSignIn(e.Proxy)
	case e.Status >= 500:
		return message.ProxyCannotReach(e.Proxy, e.To)
	case e.Status == 0 && !refusedBySOCKS(e.err):
		return message.ProxySilent(e.Proxy)
	}
	return message.ProxyBlocks(e.Proxy, e.To)
}

// refusedBySOCKS reports whether a SOCKS proxy answered and refused.
func refusedBySOCKS(err error) bool {
	var outer, inner *net.OpError
	return errors.As(err, &outer) && strings.HasPrefix(outer.Op, "socks") && !errors.As(outer.Err, &inner)
}

const (
	silentFor = 3 * time.Second  // before the next way is tried in parallel
	dialTime  = 30 * time.Second // to a server or a proxy
	proxyTime = 30 * time.Second // until the proxy has connected
)

// errBroken means that a proxy closed the connection or does not speak HTTP. Its answer is not quoted.
var errBroken = errors.New("no usable answer")

// DialContext connects to address through the first of Find's ways that works. While one is silent, the next one is started
// in parallel, so that a caller with a short timeout still gets through. A proxy that does not let us through is an *Error.
func (f *Finder) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	answer, err := f.Find(ctx, address)
	if err != nil {
		return nil, err
	}
	trying, stop := context.WithCancel(ctx)
	defer stop() // stops the slower ones
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
	return nil, cmp.Or(failed, ctx.Err(), errNoWay) // errNoWay only if ctx had ended before anything was tried
}

var errNoWay = errors.New("there is no way out")

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

// throughSOCKS connects through a SOCKS 5 proxy (RFC 1928), which resolves the name.
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

// connect connects through an HTTP proxy (RFC 9110 section 9.3.6). It sends only the credentials in the proxy's address: the
// network may have named the proxy, and the signed-in user was not asked.
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

// ask sends a CONNECT and reads the head of the answer. reader has buffered what followed it.
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

// ahead is a connection of which some bytes have already been read.
type ahead struct {
	net.Conn
	reader io.Reader
}

func (a *ahead) Read(p []byte) (int, error) { return a.reader.Read(p) }

// harmless returns err if it is a network error: the text of other errors quotes the proxy.
func harmless(err error) error {
	var network net.Error
	var unverified *tls.CertificateVerificationError
	switch {
	case errors.As(err, &network), errors.As(err, &unverified):
		return err
	}
	return errBroken
}

// page is where an answer redirects browsers.
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
