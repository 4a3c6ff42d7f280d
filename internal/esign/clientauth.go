package esign

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// authStyle is a way to present the client's credentials (interface.md, POST /connect/token).
type authStyle int

const (
	inBody       authStyle = iota // client_id and client_secret as body fields
	basicPlain                    // Basic base64(client_id:client_secret), to the letter of interface.md
	basicEncoded                  // the same with both parts form-encoded first, RFC 6749, 2.3.1
)

// clientAuth knows which ways of presenting the credentials one authorization server takes. It begins with the way
// that assumed.go prefers, or the only one that discovery offers, goes on to the next when the server does not
// recognise the client, and stays with what worked. Safe for concurrent use.
type clientAuth struct {
	id, secret string

	mu     sync.Mutex
	styles []authStyle // those still worth trying, the one in use first
}

// newClientAuth takes the methods that discovery names (token_endpoint_auth_methods_supported); none means any.
func newClientAuth(cfg Config, methods []string) *clientAuth {
	c := &clientAuth{id: cfg.ClientID, secret: cfg.ClientSecret}
	if cfg.ClientSecret == "" {
		c.styles = []authStyle{inBody} // a public client has nothing to put into the header
		return c
	}
	basic := []authStyle{basicPlain}
	if url.QueryEscape(c.id)+url.QueryEscape(c.secret) != c.id+c.secret {
		basic = append(basic, basicEncoded)
	}
	c.styles = append([]authStyle{inBody}, basic...)
	body := len(methods) == 0 || slices.Contains(methods, "client_secret_post")
	if !clientAuthInBody || !body {
		c.styles = append(basic, inBody)
	}
	return c
}

func (c *clientAuth) inUse() []authStyle {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.styles)
}

// worked puts style to the front.
func (c *clientAuth) worked(style authStyle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.styles = append([]authStyle{style}, slices.DeleteFunc(c.styles, func(s authStyle) bool { return s == style })...)
}

// authTransport presents the credentials of requests that carry them in the body, in the way their server takes.
type authTransport struct {
	next http.RoundTripper
	auth *clientAuth
}

// RoundTrip repeats a request only when the server answered that it does not know the client: it has then not looked
// at the code or the refresh token.
func (t authTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	form, err := readForm(req)
	if err != nil || !form.Has("client_id") {
		return t.send(req, form, inBody, err)
	}
	styles := t.auth.inUse()
	for i, style := range styles {
		res, err := t.send(req, form, style, nil)
		if err != nil {
			return nil, err
		}
		if i == len(styles)-1 || !unknownClient(res) {
			if res.StatusCode < 300 {
				t.auth.worked(style)
			}
			return res, nil
		}
		res.Body.Close()
	}
	return nil, errOtherHost // not reached: there is always a style
}

// readForm reads the body of a form post and leaves the request without one.
func readForm(req *http.Request) (url.Values, error) {
	if req.Body == nil || req.Method != http.MethodPost {
		return nil, nil
	}
	defer req.Body.Close()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	return url.ParseQuery(string(body))
}

func (t authTransport) send(req *http.Request, form url.Values, style authStyle, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	if form != nil {
		if style != inBody {
			form = url.Values(http.Header(form).Clone())
			form.Del("client_id")
			form.Del("client_secret")
			req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(t.auth.pair(style))))
		}
		body := form.Encode()
		req.Body = io.NopCloser(strings.NewReader(body))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
		req.ContentLength = int64(len(body))
		req.Header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	return t.next.RoundTrip(req)
}

func (c *clientAuth) pair(style authStyle) string {
	if style == basicEncoded {
		return url.QueryEscape(c.id) + ":" + url.QueryEscape(c.secret)
	}
	return c.id + ":" + c.secret
}

// unknownClient reports whether a server says that it does not know the client (RFC 6749, 5.2). The answer, which
// boundedTransport has read, stays readable.
func unknownClient(res *http.Response) bool {
	if res.StatusCode != http.StatusUnauthorized && res.StatusCode != http.StatusBadRequest {
		return false
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return false
	}
	said, _ := readTokenAnswer(body)
	if said.Error == "" {
		return res.StatusCode == http.StatusUnauthorized // of whatever shape: 401 is about the client
	}
	return said.Error == "invalid_client"
}
