// Package esign is the signing service's interface as Go: the sign-in, the API calls, the records, the events and
// the signature on them.
//
// It follows interface.md, and where that is silent the RFC; where there is none, the choice is in assumed.go with its
// source. Answers are decoded leniently (both published shapes, null or absent, unknown fields, unknown states), requests
// are encoded strictly.
//
// What it promises: a token, code, secret, signature or body never appears in an error's text or in the log; a credential
// never goes to a host other than the one it is for; a new refresh token is committed before the access token that came with
// it is used; a lost answer to [Client.AddPackage] is reported as [ErrOutcomeUnknown], and the call is never repeated here.
//
// What it must not know: where anything is stored, and who shows it. Of this program it uses only the messages for people
// (message) and the office's plain records.
package esign

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
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

// Config says which service to use, and as which client. It is a value: changing it after use has no effect.
type Config struct {
	AuthURL      string   // {auth_url}: https, or http on a loopback host
	BaseURL      string   // likewise; with or without /api/v1
	ClientID     string   // as registered
	ClientSecret string   // empty for a client that has none
	Scopes       []string // to ask for; empty leaves the choice to the service

	HTTP   *http.Client     // made by NewHTTPClient; nil means http.DefaultClient; redirects are always restricted
	Now    func() time.Time // nil means time.Now
	Served func(time.Time)  // called with each answer's time, by the service's clock; nil if nobody wants it
	Log    *slog.Logger     // nil logs nothing
}

// Validate rejects a service that must not be called: one with a malformed address, or one to which secrets would travel
// unprotected. Other checks belong to the settings. The error is Invalid and does not quote an address, which could contain
// a password.
func (c Config) Validate() error {
	const op = "calling the service"
	switch {
	case !isServer(c.AuthURL):
		return invalid(op, message.SignInAddressForm())
	case !isServer(c.BaseURL):
		return invalid(op, message.ServiceAddressForm())
	case c.ClientID == "":
		return invalid(op, message.ClientIDMissing())
	}
	return nil
}

func isServer(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && !u.ForceQuery && u.Fragment == "" && secureURL(u)
}

// Format leaves out the secret with every verb, in case a Config is printed or logged by mistake.
func (c Config) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "esign.Config{%s %s %s}", c.AuthURL, c.BaseURL, c.ClientID)
}

// secureURL reports whether a URL uses https, or http on this computer only.
func secureURL(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && office.IsLoopback(u.Hostname())
}

// apiRoot is BaseURL without a trailing slash and without /api/v1.
func (c Config) apiRoot() string {
	root := strings.TrimRight(c.BaseURL, "/")
	root = strings.TrimSuffix(root, apiPrefix)
	return strings.TrimRight(root, "/")
}

// authRoot is AuthURL without a trailing slash.
func (c Config) authRoot() string { return strings.TrimRight(c.AuthURL, "/") }

// now is wall-clock time without the monotonic reading, which stands still while the computer sleeps; a token's lifetime
// does not.
func (c Config) now() time.Time {
	if c.Now != nil {
		return c.Now().Round(0)
	}
	return time.Now().Round(0)
}

func (c Config) log() *slog.Logger {
	if c.Log != nil {
		return c.Log
	}
	return slog.New(slog.DiscardHandler)
}

// Home identifies the service that packages belong to: the normalized address of the API.
func (c Config) Home() string { return sameAddress(c.apiRoot()) }

// Issuer identifies who issues tokens, client secrets and endpoint secrets: the authorization server, the API and the
// client, normalized. What one issuer issued is meaningless to another, and must not be shown to it. It is a hash that can
// be part of a name.
func (c Config) Issuer() string {
	parts, err := json.Marshal([]string{sameAddress(c.authRoot()), c.Home(), c.ClientID})
	if err != nil {
		panic(err) // strings always encode
	}
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:16])
}

// sameAddress normalizes an address: it drops what does not distinguish servers (RFC 3986, 6.2.2 and 6.2.3).
func sameAddress(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return address
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u.String()
}
