package esign

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
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
	connectTimeout = 30 * time.Second // for the TLS handshake
	idleTimeout    = 60 * time.Second // without a byte in either direction
	maxRedirects   = 5
)

var errOtherHost = errors.New("the service redirected to another address, which was not followed")

// redirectRule is an http.Client.CheckRedirect. There are three, from the strictest to the most permissive.
type redirectRule func(req *http.Request, via []*http.Request) error

// NewHTTPClient returns an HTTP client for this package. It allows 30 s for the TLS handshake, and 60 s without a byte
// in either direction, or two minutes while a slow call waits for its answer. There is no overall limit, so that a long
// download may take its time. dial knows the network's proxies, and the message of its error is what people are told if a
// proxy does not let us through.
//
// It speaks only HTTP/1.1. Over HTTP/2, net/http sends a request again on a new connection for as long as a server or a
// proxy resets its stream with PROTOCOL_ERROR or REFUSED_STREAM: hundreds of times a second, even when it redeems a refresh
// token or uploads a file. Over HTTP/1.1 it repeats only requests without a body, once for each idle connection.
func NewHTTPClient(dial func(ctx context.Context, network, addr string) (net.Conn, error)) *http.Client {
	var alone http.Protocols
	alone.SetHTTP1(true)
	return &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			if err != nil {
				var known *net.OpError
				if !errors.As(err, &known) || known.Op != "dial" { // a proxy refused: nothing has reached the service
					err = &net.OpError{Op: "dial", Net: network, Err: err}
				}
				return nil, err
			}
			return &watchedConn{Conn: conn}, nil
		},
		Protocols:             &alone,
		MaxIdleConns:          16,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       idleTimeout,
		TLSHandshakeTimeout:   connectTimeout,
		ResponseHeaderTimeout: callBound,
		ExpectContinueTimeout: time.Second,
	}}
}

// watchedConn fails once nothing was read or written for idleTimeout, or for callBound during a slow call. A write also
// extends the deadline of a pending read: during a long upload it is normal that nothing is read.
type watchedConn struct {
	net.Conn
	slow atomic.Bool
}

// begin prepares the connection that net/http has chosen for a call.
func begin(conn net.Conn, slow bool) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	if c, ok := conn.(*watchedConn); ok {
		c.slow.Store(slow)
	}
}

func (c *watchedConn) extend() {
	idle := idleTimeout
	if c.slow.Load() {
		idle = callBound
	}
	c.Conn.SetDeadline(time.Now().Add(idle))
}

func (c *watchedConn) Read(p []byte) (int, error) {
	c.extend()
	return c.Conn.Read(p)
}

func (c *watchedConn) Write(p []byte) (int, error) {
	c.extend()
	n, err := c.Conn.Write(p)
	c.extend()
	return n, err
}

// httpClient is the configured client with the given rule for redirects.
func (c Config) httpClient(rule redirectRule) *http.Client {
	restricted := *cmp.Or(c.HTTP, http.DefaultClient)
	restricted.CheckRedirect = rule
	return &restricted
}

// oauthClient is httpClient for the authorization server; go-oidc would read answers without a limit.
func (c Config) oauthClient() *http.Client {
	client := c.httpClient(redirectSameHost)
	client.Transport = boundedTransport{client.Transport}
	return client
}

// redirectNowhere returns the redirect itself as the answer: the work may already be done.
func redirectNowhere(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// redirectSameHost keeps a request and its contents on the same host.
func redirectSameHost(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || !sameOrigin(req.URL, first.URL) {
		return errOtherHost
	}
	if req.Method != first.Method {
		// 301, 302 and 303 would turn a POST into a GET. The redirect itself is more informative than the answer to that.
		return http.ErrUseLastResponse
	}
	return nil
}

// redirectToStorage is redirectSameHost for a request without a body, and also allows another host by https: where the
// service stores files. Nothing that belongs to the service is sent there or comes back; net/http alone would keep the token
// for another port and for subdomains.
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

// userAgent names this program in every request.
const userAgent = "Countersign"

// boundedTransport reads the authorization server's answers to their end and limits their size.
type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", userAgent)
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
	return res, nil
}

// readJSON reads an answer to its end. One that needs more memory than the largest office's answers is errTooLong.
func readJSON(body io.Reader) ([]byte, error) {
	read, err := io.ReadAll(io.LimitReader(body, maxJSON+1))
	if err == nil && (len(read) > maxJSON || bytes.Count(read, []byte("{")) > maxObjects || bytes.Count(read, []byte(",")) > maxValues) {
		err = errTooLong
	}
	return read, err
}

var errTooLong = errors.New("the answer is too long")

func trimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }

func mediaType(h http.Header) string {
	t, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return t
}

// apiPrefix precedes a path in the authorization guide of interface.md, but not in the webhook guides.
const apiPrefix = "/api/v1"

// pathForm says whether a path has the prefix. The zero value has it: service-facts.md, 1 says every path does.
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

// errNotServed marks a 404 or 405 that did not come from the API itself. Nothing was done, so even a POST may be sent to the
// other form of its path.
var errNotServed = errors.New("the service does not serve this path")

// NotServed reports whether the service has no such call: a 404 or 405 without the service's own error. Then nothing was
// done, unless an intermediary answered.
func NotServed(err error) bool { return errors.Is(err, errNotServed) }

// NotOffered is NotServed that also accepts a 404 or 405 whose error code names nothing in the request: a service with one
// error format for everything reports a missing path that way.
func NotOffered(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed) && !e.named
}

// sentAway reports whether err is a redirect that was not followed. A web application redirects requests for paths outside
// its API to its sign-in page.
func sentAway(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status/100 == 3 || errors.Is(e.err, errOtherHost))
}

// named reports whether an error code refers to something in the call's path: package_not_found does for
// /packages/.../status and signer_not_found for /packages/.../link/sign/..., but not_found and resource_not_found do not
// (service-facts.md, 10).
func (k *call) named(code string) bool {
	thing, _, ok := strings.Cut(strings.ToLower(code), "_")
	return ok && slices.ContainsFunc(strings.Split(k.path, "/"), func(part string) bool {
		return len(thing) > 3 && strings.HasPrefix(part, thing) || len(part) > 3 && strings.HasPrefix(thing, part)
	})
}

// paths remembers, per route, the form that is known to be served. The zero value is ready to use.
type paths struct {
	mu    sync.Mutex
	known map[string]pathForm
	last  pathForm // the last one that was seen to be served
}

// form returns the form to try first, and whether it is known to be served. Without knowledge of the route it is the one that
// was last seen to be served for any.
func (p *paths) form(route string) (form pathForm, sure bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if form, sure = p.known[route]; !sure {
		form = p.last
	}
	return form, sure
}

// formOfOthers is the form for a call that cannot try both: the one that earlier calls found. If all of those found the form
// without the prefix, the service may still serve packages/add with it, as interface.md shows it; whether it does is
// checked once with organizations/info, which interface.md also shows with the prefix.
func (c *Client) formOfOthers(ctx context.Context) pathForm {
	some := false
	for _, route := range []string{probeRoute, setRoute, uploadRoute, listRoute} {
		form, sure := c.paths.form(route)
		if sure && (form == prefixed || route == probeRoute) {
			return form
		}
		some = some || sure
	}
	if !some {
		return prefixed
	}
	// With the token: a service may reject any path without one.
	res, err := c.authorized(ctx, probe(), prefixed)
	page := err == nil && isPage(res)
	if err == nil {
		res.Body.Close()
	}
	var e *Error
	switch errors.As(err, &e); {
	case err == nil && !page, err != nil && (e.Kind == Forbidden || e.Kind == Refused || e.named):
		c.paths.remember(probeRoute, prefixed)
		return prefixed
	case page, e.Kind == NotFound, e.Kind == BadAnswer:
		c.paths.remember(probeRoute, bare)
	}
	return bare
}

// probe is a call that only reads.
func probe() *call {
	return &call{op: "looking for the API", route: probeRoute, method: http.MethodGet, path: probeRoute, accept: "application/json", redirect: redirectNowhere}
}

// learn takes a success, or a refusal that names something in the path, as proof that the form is served. A web page proves
// nothing; neither does an answer that a gateway or the service gives for any path, such as 401 or 429.
func (p *paths) learn(route string, form pathForm, res *http.Response, err error) {
	if e, ok := errors.AsType[*Error](err); ok && e.named || err == nil && !isPage(res) {
		p.remember(route, form)
	}
}

func (p *paths) remember(route string, form pathForm) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		p.known = map[string]pathForm{}
	}
	p.known[route], p.last = form, form
}

// isPage reports whether an answer is a web page. It ignores Content-Type: some servers put it on everything, and an
// intermediary may send none.
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

// sending observes one request as it is sent. net/http reports from its own goroutines.
type sending struct{ connected, wrote atomic.Bool }

func (s *sending) watch(ctx context.Context, slow bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(got httptrace.GotConnInfo) {
			s.connected.Store(true)
			begin(got.Conn, slow)
		},
		WroteHeaders: func() { s.wrote.Store(true) },
	})
}

// mayHaveArrived reports whether a request that ended without an answer may have reached the service. If its context ended,
// it may still be on its way to the connection (HTTP/2), so being connected is enough.
func (s *sending) mayHaveArrived(ctx context.Context) bool {
	return s.wrote.Load() || s.connected.Load() && ctx.Err() != nil
}

// clearRefusal reports whether an unsuccessful answer proves that nothing was done; see assumed.go. code is the service's
// error code, "" if the answer is not its JSON; page says that it is a web page.
func clearRefusal(res *http.Response, code string, page bool) bool {
	switch res.StatusCode {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		if isProblem(res) && code == "" {
			return !page
		}
	case http.StatusUnauthorized:
		return !page || res.Header.Get("WWW-Authenticate") != ""
	case http.StatusMethodNotAllowed:
		return !page || res.Header.Get("Allow") != ""
	case http.StatusTooManyRequests:
		return !page || res.Header.Get("Retry-After") != ""
	case http.StatusRequestTimeout:
		return false
	}
	return res.StatusCode/100 == 4 && isServiceCode(code)
}

// isProblem reports whether an answer gives its reason as RFC 9457 describes.
func isProblem(res *http.Response) bool {
	return mediaType(res.Header) == "application/problem+json"
}

// isServiceCode reports whether code is one of the service's own for a request that it did not carry out (service-facts.md,
// 10: words joined by "_"). A gateway's text is none, and an exception may have occurred halfway.
func isServiceCode(code string) bool {
	return strings.Contains(code, "_") && !strings.Contains(code, " ") && !strings.Contains(code, "_exception_")
}
