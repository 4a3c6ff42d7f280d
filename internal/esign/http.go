package esign

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	connectTimeout = 30 * time.Second // TLS handshake, wait for response headers: each
	idleTimeout    = 60 * time.Second // without a byte in either direction
	maxRedirects   = 5
)

var errOtherHost = errors.New("the service redirected to another address, which was not followed")

// redirectRule is a http.Client.CheckRedirect. There are three, from the narrowest to the widest.
type redirectRule func(req *http.Request, via []*http.Request) error

// NewHTTPClient returns a client for this package over a network: 30 s each to agree on TLS and to begin an answer, and 60 s without
// a byte in either direction. There is no limit on the whole, so that a long download may take its time. The network's dial knows of
// proxies; what people are told of one that does not let us through is its error's message.
//
// It speaks HTTP/1.1 alone. Over HTTP/2, net/http sends a request again on a new connection for as long as a server or a
// proxy resets its stream with PROTOCOL_ERROR or REFUSED_STREAM: hundreds of times a second, a redeemed refresh token and
// a whole upload among them. Over HTTP/1.1 only a request without a body is repeated, once for each idle connection.
func NewHTTPClient(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Client {
	var alone http.Protocols
	alone.SetHTTP1(true)
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				var known *net.OpError
				if !errors.As(err, &known) || known.Op != "dial" { // a proxy said no: nothing has reached the service
					err = &net.OpError{Op: "dial", Net: network, Err: err}
				}
				return nil, err
			}
			return &watchedConn{Conn: conn, idle: idleTimeout}, nil
		},
		Protocols:             &alone,
		MaxIdleConns:          16,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       idleTimeout,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: connectTimeout,
		ExpectContinueTimeout: time.Second,
	}}
}

// watchedConn fails once nothing was read or written for idle. A write postpones the deadline of a pending read too:
// during a long upload nothing is read, and that is in order.
type watchedConn struct {
	net.Conn
	idle time.Duration
}

func (c *watchedConn) Read(p []byte) (int, error) {
	c.Conn.SetDeadline(time.Now().Add(c.idle))
	return c.Conn.Read(p)
}

func (c *watchedConn) Write(p []byte) (int, error) {
	c.Conn.SetDeadline(time.Now().Add(c.idle))
	n, err := c.Conn.Write(p)
	c.Conn.SetDeadline(time.Now().Add(c.idle))
	return n, err
}

// httpClient is the configured client, following redirects by one rule.
func (c Config) httpClient(rule redirectRule) *http.Client {
	restricted := *cmp.Or(c.HTTP, http.DefaultClient)
	restricted.CheckRedirect = rule
	return &restricted
}

// oauthClient is httpClient for golang.org/x/oauth2 and go-oidc, which read whole answers and trust Content-Type.
func (c Config) oauthClient() *http.Client {
	client := c.httpClient(redirectSameHost)
	client.Transport = boundedTransport{client.Transport}
	return client
}

// redirectNowhere takes a redirect for the answer: what was asked may be done already.
func redirectNowhere(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// redirectSameHost keeps a request, and what it carries, with its host.
func redirectSameHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || !sameOrigin(req.URL, first.URL) {
		return errOtherHost
	}
	if req.Method != first.Method {
		// 301, 302 and 303 would turn a POST into a GET. The answer itself says more than what that would find.
		return http.ErrUseLastResponse
	}
	return nil
}

// redirectToStorage is redirectSameHost for a request without a body that may also be sent on to another host by
// https: a place that the service keeps files at. Nothing that belongs to the service goes there, nor comes back with
// it: net/http would keep the token for another port and for hosts below the first.
func redirectToStorage(req *http.Request, via []*http.Request) error {
	first := via[0].URL
	away := !sameOrigin(req.URL, first)
	for _, before := range via {
		away = away || !sameOrigin(before.URL, first)
	}
	switch {
	case !away:
		return redirectSameHost(req, via)
	case len(via) > maxRedirects, req.URL.Scheme != "https":
		return errOtherHost
	}
	req.Header.Del("Authorization")
	req.Header.Del("Referer")
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && hostPort(a) == hostPort(b)
}

func hostPort(u *url.URL) string {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// boundedTransport caps the answers of the authorization server, and calls JSON what is JSON, which go-oidc asks for.
type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	res, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	body, err := readJSON(res.Body)
	res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if looksLikeJSON(body) && mediaType(res.Header) != "application/jwt" {
		res.Header.Set("Content-Type", "application/json")
	}
	return res, nil
}

// readJSON reads an answer to its end. One that would take more memory than an office's largest is errTooLong.
func readJSON(body io.Reader) ([]byte, error) {
	read, err := io.ReadAll(io.LimitReader(body, maxJSON+1))
	if err == nil && (len(read) > maxJSON || bytes.Count(read, []byte("{")) > maxObjects || bytes.Count(read, []byte(",")) > maxValues) {
		err = errTooLong
	}
	return read, err
}

var errTooLong = errors.New("the answer is too long")

func looksLikeJSON(body []byte) bool {
	body = bytes.TrimLeft(trimBOM(body), " \t\r\n")
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }

func mediaType(h http.Header) string {
	t, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return t
}

// apiPrefix is what the authorization guide of interface.md writes before a path, and the webhook guides do not.
const apiPrefix = "/api/v1"

// pathForm is with or without the prefix. The zero value is with: service-facts.md, 1 says every path has it.
type pathForm bool

const (
	prefixed pathForm = false
	bare     pathForm = true
)

func (f pathForm) other() pathForm { return !f }

func (f pathForm) prefix() string {
	if f == bare {
		return ""
	}
	return apiPrefix
}

// errNotServed marks a 404 or 405 that did not come from the API itself. Nothing was done, so that even a POST may go
// to the other form of its path.
var errNotServed = errors.New("the service does not serve this path")

// NotServed reports whether an error says that the service has no such call: a 404 or 405 without the service's own error.
// Nothing was done then, unless somebody in between said so.
func NotServed(err error) bool { return errors.Is(err, errNotServed) }

// NotOffered is NotServed that also takes a 404 or 405 with an error code which names nothing of what was asked for: that is
// how a service with errors of one form for everything says that it has no such path.
func NotOffered(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) && !e.named
}

// named reports whether an error code is about something in the call's path: package_not_found in /packages/.../status and
// signer_not_found in /packages/.../link/sign/..., but neither not_found nor resource_not_found (service-facts.md, 10).
func (k *call) named(code string) bool {
	thing, _, ok := strings.Cut(strings.ToLower(code), "_")
	return ok && slices.ContainsFunc(strings.Split(k.path, "/"), func(part string) bool {
		return len(thing) > 3 && strings.HasPrefix(part, thing) || len(part) > 3 && strings.HasPrefix(thing, part)
	})
}

// paths remembers, per route, the form that was seen to be served. The zero value knows nothing.
type paths struct {
	mu    sync.Mutex
	known map[string]pathForm
}

// form is the one to try first, and whether it is known to be served.
func (p *paths) form(route string) (form pathForm, sure bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	form, sure = p.known[route]
	return form, sure
}

// formOfOthers is the form for a call that cannot try both: that of the calls that go before it.
func (p *paths) formOfOthers() pathForm {
	for _, route := range []string{uploadRoute, listRoute} {
		if form, sure := p.form(route); sure {
			return form
		}
	}
	return prefixed
}

// learn takes a success, or a refusal that names something in the path, as proof that the form is served. A web page is no
// such answer, and neither is what a gateway, or the service itself, says of every path: who one is, and how often one asks.
func (p *paths) learn(route string, form pathForm, res *http.Response, err error) {
	var e *Error
	switch {
	case err == nil && !isPage(res):
	case errors.As(err, &e) && e.named:
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]pathForm{}
	}
	p.known[route] = form
}

// isPage looks whether an answer is a web page. The label does not count: some servers put it on everything, and what stands
// in for a service may put none.
func isPage(res *http.Response) bool {
	const beginning = 256
	r := bufio.NewReaderSize(res.Body, beginning)
	res.Body = struct {
		io.Reader
		io.Closer
	}{r, res.Body}
	head, _ := r.Peek(beginning)
	return looksLikePage(head)
}

// looksLikePage is isPage for the beginning of a body.
func looksLikePage(head []byte) bool {
	head = bytes.TrimLeft(trimBOM(head), " \t\r\n")
	return len(head) > 0 && head[0] == '<'
}

// sending watches one request go out. net/http reports from goroutines of its own.
type sending struct{ connected, wrote atomic.Bool }

func (s *sending) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { s.connected.Store(true) },
		WroteHeaders: func() { s.wrote.Store(true) },
	})
}

// mayHaveArrived reports whether the service may have got a request that ended without an answer. A request whose
// context ended may still be on its way to the connection at that moment (HTTP/2), so that being connected is enough.
func (s *sending) mayHaveArrived(ctx context.Context) bool {
	return s.wrote.Load() || s.connected.Load() && ctx.Err() != nil
}

// clearRefusal reports whether an answer that is no success says beyond doubt that nothing was done; see assumed.go.
// code is the service's error code, "" for an answer that is not its JSON; page says that it is a web page.
func clearRefusal(res *http.Response, code string, page bool) bool {
	switch res.StatusCode {
	case http.StatusUnauthorized:
		return !page || res.Header.Get("WWW-Authenticate") != ""
	case http.StatusTooManyRequests:
		return !page || res.Header.Get("Retry-After") != ""
	case http.StatusRequestTimeout:
		return false
	}
	return res.StatusCode/100 == 4 && isServiceCode(code)
}

// isServiceCode reports whether code is one of the service's own for a request it did not carry out (service-facts.md,
// 10: words joined by "_"). What a gateway says is no such code, and an exception may have come up in the middle.
func isServiceCode(code string) bool {
	return strings.Contains(code, "_") && !strings.Contains(code, " ") && !strings.Contains(code, "_exception_")
}
