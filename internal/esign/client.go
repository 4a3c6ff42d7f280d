package esign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"countersign/internal/message"
)

// TokenSource hands out access tokens; a Session is one.
type TokenSource interface {
	// Access returns a token to send. Its errors are those of this package.
	Access(ctx context.Context) (string, error)
	// Invalidate reports that the service rejected the token. Access then returns the same one only if it is accepted elsewhere.
	Invalidate(access string)
}

// Client makes the API calls (interface.md, "API"). It is safe for concurrent use. The only state it keeps is which form of
// each path the service serves.
type Client struct {
	cfg    Config
	tokens TokenSource
	root   string
	paths  paths
}

// NewClient returns a Client that acts as the owner of the tokens.
func NewClient(cfg Config, tokens TokenSource) *Client {
	return &Client{cfg: cfg, tokens: tokens, root: cfg.apiRoot()}
}

// Issuer identifies who issued the tokens that the calls use, see Config.Issuer.
func (c *Client) Issuer() string { return c.cfg.Issuer() }

// Home identifies the service, see Config.Home.
func (c *Client) Home() string { return c.cfg.Home() }

// call is one API call. It may be sent again: after a 401, and under the other form of its path.
type call struct {
	op     string // what is being done, and to which object
	route  string // the path without its ids, for which the form is remembered
	method string
	path   string // escaped; the part after the prefix, beginning with a slash
	query  url.Values
	accept string

	// open returns the body from its beginning; nil if there is none.
	open        func() (io.ReadCloser, error)
	length      int64
	contentType string

	// single marks a call whose work must not be done twice. It follows no redirect, tries no other form of its path, and
	// gives net/http no means to send its body again.
	single bool

	// slow marks a call whose answer may take long: the service converts and checks what it was sent.
	slow bool

	// redirect says where the call may be redirected to; nil means redirectSameHost.
	redirect redirectRule
}

func (k *call) redirects() redirectRule {
	switch {
	case k.single:
		return redirectNowhere
	case k.redirect != nil:
		return k.redirect
	}
	return redirectSameHost
}

// unreadable is the error for a 2xx answer that makes no sense.
func (k *call) unreadable() *Error {
	return &Error{Op: k.op, Kind: BadAnswer, Status: http.StatusOK, MayBeDone: true}
}

func (k *call) jsonBody(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return invalid(k.op, message.DataNotJSON())
	}
	body := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	k.open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	k.length, k.contentType = int64(len(body)), "application/json"
	return nil
}

// whole makes the call and returns its answer without surrounding space. The caller checks whether it is JSON.
func (c *Client) whole(ctx context.Context, k *call) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	body, err := c.answer(ctx, k)
	return bytes.Trim(body, " \t\r\n"), err
}

// answer makes the call and returns the whole body of a 2xx answer, without a byte order mark. A web page is an error.
func (c *Client) answer(ctx context.Context, k *call) ([]byte, error) {
	k.accept = "application/json"
	res, err := c.do(ctx, k)
	if err != nil {
		return nil, err
	}
	page := isPage(res)
	defer res.Body.Close()
	body, err := readJSON(res.Body)
	if err != nil {
		return nil, noAnswer(k.op, err).maybe(true)
	}
	if page {
		return nil, k.unreadable()
	}
	return trimBOM(body), nil
}

// do makes the call, again with a new token after a 401, and again under the other form of the path if the service does not
// serve the first. It returns a 2xx answer; everything else is an *Error.
func (c *Client) do(ctx context.Context, k *call) (*http.Response, error) {
	if err := c.cfg.Validate(); err != nil {
		return nil, err
	}
	first, sure := c.paths.form(k.route)
	served := sure
	if !sure && k.single {
		first, sure = c.formOfOthers(ctx), true
	}
	res, err := c.authorized(ctx, k, first)
	if e, ok := errors.AsType[*Error](err); ok && served {
		e.named = true
	}
	page := err == nil && isPage(res) // the service's web application answers 200 to any path outside the API
	if sure || !NotOffered(err) && !page && !sentAway(err) {
		c.paths.learn(k.route, first, res, err)
		return res, err
	}
	other, second := c.authorized(ctx, k, first.other())
	var e, before *Error
	if sentAway(err) && errors.As(second, &e) && errors.As(err, &before) && before.MayBeDone { // the redirect may have come after the work
		second = e.maybe(true)
	}
	said := err != nil && !NotServed(err)
	if NotServed(second) || NotOffered(second) && said || second == nil && isPage(other) { // keep the first answer: the second says no more
		if second == nil {
			other.Body.Close()
		}
		return res, err
	}
	if page {
		res.Body.Close()
	}
	c.paths.learn(k.route, first.other(), other, second)
	return other, second
}

// authorized sends the call under one form of its path, and again with a new token if the first was rejected.
func (c *Client) authorized(ctx context.Context, k *call, form pathForm) (*http.Response, error) {
	access, err := c.tokens.Access(ctx)
	if err != nil {
		return nil, err
	}
	res, err := c.once(ctx, k, form, access)
	var e *Error
	if !errors.As(err, &e) || e.Kind != SignedOut {
		return res, err
	}
	c.tokens.Invalidate(access)
	if k.single && e.MayBeDone {
		return nil, err
	}
	renewed, rerr := c.tokens.Access(ctx)
	if rerr != nil {
		return nil, rerr
	}
	if renewed != access {
		res, err = c.once(ctx, k, form, renewed)
	}
	if errors.As(err, &e) && e.Kind == SignedOut { // the sign-in was renewed or accepted a moment ago, so it has not expired
		e.told = message.NotAllowed()
	}
	return res, err
}

func (c *Client) once(ctx context.Context, k *call, form pathForm, access string) (*http.Response, error) {
	address := c.root + form.prefix() + k.path
	if len(k.query) > 0 {
		address += "?" + k.query.Encode()
	}
	var sent sending
	req, err := http.NewRequestWithContext(sent.watch(ctx, k.slow), k.method, address, nil)
	if err != nil {
		return nil, noAnswer(k.op, err)
	}
	if k.open != nil {
		body, err := k.open()
		if err != nil {
			return nil, err
		}
		req.Body, req.ContentLength = body, k.length
		if !k.single {
			req.GetBody = k.open
		}
		req.Header.Set("Content-Type", k.contentType)
	}
	req.Header.Set("Accept", k.accept)
	req.Header.Set("Authorization", "Bearer "+access)
	req.Header.Set("User-Agent", userAgent)

	start := c.cfg.now()
	res, err := c.cfg.httpClient(k.redirects()).Do(req)
	if err != nil {
		if file, ok := errors.AsType[*FileError](err); ok {
			return nil, file
		}
		e := noAnswer(k.op, err).maybe(sent.mayHaveArrived(ctx))
		c.cfg.log().Debug("API call failed", "route", k.route, "kind", e.Kind)
		return nil, e
	}
	c.cfg.log().Debug("API call", "route", k.route, "status", res.StatusCode, "took", c.cfg.now().Sub(start).Round(time.Millisecond))
	if date, err := http.ParseTime(res.Header.Get("Date")); err == nil && c.cfg.Served != nil && sameOrigin(res.Request.URL, req.URL) {
		c.cfg.Served(date)
	}
	if res.StatusCode/100 == 2 {
		return res, nil
	}
	defer res.Body.Close()
	if !sameOrigin(res.Request.URL, req.URL) {
		// A host other than the service's knows nothing of packages or sign-ins: the service itself may answer differently
		// next time.
		return nil, &Error{Op: k.op, Kind: Server, Status: res.StatusCode, RetryAfter: retryAfter(res.Header, c.cfg.now())}
	}
	return nil, c.refusal(k, res, access)
}

// refusal interprets an answer that is not 2xx. Its body is the service's {"error", "message"} or something unknown
// (service-facts.md, 10).
func (c *Client) refusal(k *call, res *http.Response, access string) *Error {
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxError))
	e := &Error{
		Op:         k.op,
		Kind:       statusKind(res.StatusCode),
		Status:     res.StatusCode,
		RetryAfter: retryAfter(res.Header, c.cfg.now()),
	}
	code, message, ok := serviceError(body)
	if ok {
		e.Code = cleanCode(code, access, c.cfg.ClientSecret)
		e.named = k.named(code)
	}
	if ok || isProblem(res) {
		e.Said = cleanMessage(message, access, c.cfg.ClientSecret)
	}
	e.MayBeDone = !clearRefusal(res, code, looksLikePage(body))
	unserved := res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusMethodNotAllowed
	switch {
	case unserved && !ok:
		e.err = errNotServed
	case e.Kind == Forbidden && looksLikePage(body): // the service's own errors look different; this is a network that blocks it
		e.Kind = BadAnswer
	}
	return e
}

// serviceError reads {"error": "<code>", "message": "<text>"}. ok is false if the body is anything else; message may then be that of
// a problem (RFC 9457).
func serviceError(body []byte) (code, message string, ok bool) {
	var said struct {
		Error       text `json:"error"`
		Message     text `json:"message"`
		Description text `json:"error_description"` // RFC 6750 servers put the message here
		Detail      text `json:"detail"`
		Title       text `json:"title"`
	}
	if json.Unmarshal(trimBOM(body), &said) != nil {
		return "", "", false
	}
	return string(said.Error), string(cmp.Or(said.Message, said.Description, said.Detail, said.Title)), said.Error != ""
}

// UsableID reports whether an identifier can be part of a path. About any other the service cannot be asked.
func UsableID(s string) bool {
	return s != "" && len(s) <= maxID && !strings.Contains(s, "..") && s != "." &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`/\%?#`, r) })
}

// id checks an identifier that is to become part of a path, and escapes it.
func id(op string, unusable message.Message, s string) (string, error) {
	if !UsableID(s) {
		return "", invalid(op, unusable)
	}
	return url.PathEscape(s), nil
}
