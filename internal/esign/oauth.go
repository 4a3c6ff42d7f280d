package esign

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"
)

// authority describes the authorization server: what discovery said, with interface.md's paths for what it left out.
type authority struct {
	oidc.ProviderConfig
	RevokeURL string
	// Issuers are accepted in an id_token. Discovery names exactly one; without discovery it is auth_url, with and without
	// the trailing slash.
	Issuers []string
	basic   bool // the server accepts the client's credentials only in the header
}

const discoveryPath = "/.well-known/openid-configuration"

// discover asks the authorization server for its endpoints (OpenID Connect Discovery 4). A server without discovery gets the
// endpoints of interface.md; an unreachable server is an error. A web page instead of the document comes from a network that
// demands a sign-in in the browser, or from some other web server: that is a BadAnswer, unless the server publishes its keys
// where interface.md says.
func discover(ctx context.Context, cfg Config) (authority, error) {
	const op = "asking the authorization server for its endpoints"
	if err := cfg.Validate(); err != nil {
		return authority{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()

	root := cfg.authRoot()
	res, err := get(ctx, cfg.oauthClient(), root+discoveryPath)
	if err != nil {
		return authority{}, noAnswer(op, err)
	}
	kind := statusKind(res.StatusCode)
	if kind == Server && res.StatusCode != http.StatusNotImplemented || kind == TooMany {
		return authority{}, &Error{Op: op, Kind: kind, Status: res.StatusCode, RetryAfter: retryAfter(res.Header, cfg.now())}
	}
	a := authority{
		ProviderConfig: oidc.ProviderConfig{
			AuthURL:     root + "/connect/authorize",
			TokenURL:    root + "/connect/token",
			UserInfoURL: root + "/connect/userinfo",
			JWKSURL:     root + "/.well-known/jwks",
		},
		RevokeURL: root + "/connect/revoke",
		Issuers:   []string{root, root + "/"},
	}
	body := content(res)
	ok := res.StatusCode == http.StatusOK
	switch {
	case ok && isObject(body):
		a.adopt(body)
	case ok, res.StatusCode == http.StatusForbidden && looksLikePage(body):
		if _, err := publishedKeys(ctx, cfg, a.JWKSURL); err != nil {
			return authority{}, &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode}
		}
	}
	return a, nil
}

// content is the body of an answer to an oauthClient, which has read it to its end.
func content(res *http.Response) []byte {
	body, _ := io.ReadAll(res.Body)
	return body
}

// get asks for JSON without credentials.
func get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	return client.Do(req)
}

// publishedKeys fetches the keys at an address. It skips keys that cannot be read (RFC 7517, 5); the libraries would then
// reject the whole set.
func publishedKeys(ctx context.Context, cfg Config, address string) (keys []crypto.PublicKey, err error) {
	res, err := get(ctx, cfg.oauthClient(), address)
	if err != nil {
		return nil, err
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if res.StatusCode == http.StatusOK {
		err = json.Unmarshal(trimBOM(content(res)), &set)
	}
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) != nil {
			continue
		}
		switch key.Key.(type) {
		case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
			keys = append(keys, key.Key)
		}
	}
	if err == nil && len(set.Keys) == 0 {
		err = errNoKeys
	}
	return keys, err
}

func isObject(body []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(trimBOM(body), &object) == nil && object != nil
}

// adopt takes over the usable parts of a discovery document.
func (a *authority) adopt(document []byte) {
	var said struct {
		oidc.ProviderConfig
		RevokeURL string   `json:"revocation_endpoint"`
		Methods   []string `json:"token_endpoint_auth_methods_supported"`
	}
	if json.Unmarshal(trimBOM(document), &said) != nil {
		return
	}
	for _, e := range []struct {
		to   *string
		from string
	}{
		{&a.AuthURL, said.AuthURL},
		{&a.TokenURL, said.TokenURL},
		{&a.UserInfoURL, said.UserInfoURL},
		{&a.JWKSURL, said.JWKSURL},
		{&a.RevokeURL, said.RevokeURL},
	} {
		// A server behind a proxy may believe that it is reached by plain http. Credentials are never sent that way.
		if u, err := url.Parse(e.from); err == nil && u.Host != "" && secureURL(u) {
			*e.to = e.from
		}
	}
	a.basic = len(said.Methods) > 0 && !slices.Contains(said.Methods, "client_secret_post")
	if said.IssuerURL != "" {
		a.Issuers = []string{said.IssuerURL}
	}
}

// oauth is the client's registration as an x/oauth2 config, which builds the authorization request.
func (a authority) oauth(cfg Config, redirectURI string) *oauth2.Config {
	return &oauth2.Config{
		ClientID:    cfg.ClientID,
		Endpoint:    oauth2.Endpoint{AuthURL: a.AuthURL},
		RedirectURL: redirectURI,
		Scopes:      cfg.Scopes,
	}
}

// issued reports whether iss names this server.
func (a authority) issued(iss string) bool {
	return slices.Contains(a.Issuers, iss)
}

// hasScope reports whether scopes contains this one, in any case.
func hasScope(scopes []string, scope string) bool {
	return slices.ContainsFunc(scopes, func(s string) bool { return strings.EqualFold(s, scope) })
}

var errNoTokens = errors.New("the answer holds no tokens")

// tokenAnswer is what the token endpoint said (interface.md, "Token response"; RFC 6749, 5.1 and 5.2), as far as it can be
// read. The answer that brings a new refresh token uses up the old one, so nothing else in it may prevent reading the new
// one: an odd member counts as absent.
type tokenAnswer struct {
	Access      text   `json:"access_token"`
	Refresh     text   `json:"refresh_token"`
	ID          text   `json:"id_token"`
	Lifetime    number `json:"expires_in"` // seconds
	Scopes      text   `json:"scope"`
	Error       code   `json:"error"`
	Description text   `json:"error_description"`

	sent time.Time // by the service's own clock; zero if unknown
}

// code is a string (RFC 6749, 5.2), or an object that contains it, as in many services' errors: a service may report a
// lapsed sign-in in either shape.
type code string

func (c *code) UnmarshalJSON(b []byte) error {
	var s text
	var o struct{ Code text }
	if err := json.Unmarshal(b, &s); err == nil && s == "" && json.Unmarshal(b, &o) == nil {
		s = o.Code
	}
	*c = code(s)
	return nil
}

// tokens are the answer's tokens. An access token that cannot be put into a header (RFC 6750, 2.1) counts as none.
func (a tokenAnswer) tokens(now time.Time) Tokens {
	t := Tokens{Access: strings.TrimSpace(string(a.Access)), Refresh: string(a.Refresh), Issued: now}
	if strings.ContainsFunc(t.Access, func(r rune) bool { return r <= ' ' || r > '~' }) {
		t.Access = ""
	}
	life := time.Duration(a.Lifetime) * time.Second
	if life <= 0 {
		life = assumedLifetime
	}
	t.Expiry = now.Add(min(life, longestLifetime))
	return t
}

// scopesOr is what was granted; RFC 6749, 5.1 lets the service omit it if it equals what was requested.
func (a tokenAnswer) scopesOr(asked []string) []string {
	if granted := strings.Fields(string(a.Scopes)); len(granted) > 0 {
		return granted
	}
	return append([]string(nil), asked...)
}

// post sends form, with the client's credentials, to one of the server's addresses.
func (a authority) post(ctx context.Context, cfg Config, op, address string, form url.Values) (*http.Response, error) {
	basic := a.basic && cfg.ClientSecret != ""
	if !basic {
		form.Set("client_id", cfg.ClientID)
		if cfg.ClientSecret != "" {
			form.Set("client_secret", cfg.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, noAnswer(op, err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if basic {
		req.SetBasicAuth(cfg.ClientID, cfg.ClientSecret)
	}
	res, err := cfg.oauthClient().Do(req)
	if err != nil {
		return nil, noAnswer(op, err)
	}
	return res, nil
}

// askForTokens posts form to the token endpoint. Its error never contains one of the secrets that the form carried, even if
// the answer repeats it. An answer with either token is a success, whatever else it holds.
func (a authority) askForTokens(ctx context.Context, cfg Config, op string, form url.Values, secrets ...string) (tokenAnswer, error) {
	res, err := a.post(ctx, cfg, op, a.TokenURL, form)
	if err != nil {
		return tokenAnswer{}, err
	}
	body := content(res)
	answer, readable := readTokenAnswer(body)
	if readable && res.StatusCode/100 == 2 && (answer.Access != "" || answer.Refresh != "") {
		answer.sent, _ = http.ParseTime(res.Header.Get("Date"))
		return answer, nil
	}
	return tokenAnswer{}, &Error{
		Op:         op,
		Kind:       refusalKind(res.StatusCode, string(answer.Error), readable, looksLikePage(body)),
		Status:     res.StatusCode,
		Code:       cleanCode(string(answer.Error), append(secrets, cfg.ClientSecret)...),
		Said:       cleanMessage(string(answer.Description), append(secrets, cfg.ClientSecret)...),
		RetryAfter: retryAfter(res.Header, cfg.now()),
	}
}

// refusalKind classifies a token answer without tokens. readable says whether it comes from the authorization server at all:
// an intermediary's page says nothing about the sign-in.
func refusalKind(status int, code string, readable, page bool) Kind {
	switch {
	case status >= 500:
		return Server
	case status == http.StatusTooManyRequests:
		return TooMany
	}
	switch code { // RFC 6749, 5.2. Some servers send these with status 200.
	case "invalid_grant":
		return SignedOut
	case "invalid_client", "unauthorized_client":
		return BadClient
	case "temporarily_unavailable", "server_error":
		return Server
	case "":
	default:
		return Refused
	}
	switch kind := statusKind(status); {
	case page:
		return BadAnswer
	case kind == SignedOut:
		return BadClient // RFC 6749, 5.2: 401 is about the client, not about the grant
	case kind != Server && !readable:
		return BadAnswer
	default:
		return kind
	}
}

// readTokenAnswer reads the JSON object of a token answer, ignoring what follows it. ok is false if there is none.
func readTokenAnswer(body []byte) (a tokenAnswer, ok bool) {
	body = bytes.TrimSpace(trimBOM(body))
	ok = bytes.HasPrefix(body, []byte("{")) && json.NewDecoder(bytes.NewReader(body)).Decode(&a) == nil
	return a, ok
}

// Tokens are what the token endpoint issues (interface.md, "Token response"). They are never printed.
type Tokens struct {
	Access  string    // "" if the service sent no usable one; Refresh is worth keeping anyway
	Refresh string    // "" without the offline_access scope
	Issued  time.Time // when the answer came
	Expiry  time.Time // of Access
}

// Format prints the expiry with every verb, and no token.
func (t Tokens) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "esign.Tokens{until %s}", t.Expiry.Format(time.RFC3339))
}

// Vault stores the refresh token. A Session calls it from one goroutine at a time. Its errors must not quote the token.
type Vault interface {
	// Refresh returns the stored token, "" if there is none. An error means that it is not known whether there is one.
	Refresh(ctx context.Context) (string, error)
	// SetRefresh replaces the stored token; "" removes it. When it returns nil, the change is on disk.
	SetRefresh(ctx context.Context, token string) error
}

// usable reports whether the access token may be handed out: until shortly before it expires if it can be renewed. A token
// issued in the future was recorded by a wrong clock, so nobody knows how long it remains valid.
func (t Tokens) usable(now time.Time) bool {
	skew := min(refreshSkew, t.Expiry.Sub(t.Issued)/10)
	return t.Access != "" && now.Before(t.Expiry.Add(-skew)) && !now.Before(t.Issued.Add(-refreshSkew))
}

// probeRoute is a call that only reads. Without a token it reveals nothing but its existence.
const probeRoute = "/organizations/info"

// Answers reports whether the API answers at the service address. It asks without a token, under both forms of the path, and
// takes a rejection as a yes. A page, a redirect or a "not found" is what any other web server would send; that is a
// BadAnswer. Other failures are an *Error, too.
func (c Config) Answers(ctx context.Context) error {
	err := c.answersAt(ctx, prefixed)
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == BadAnswer {
		return c.answersAt(ctx, bare)
	}
	return err
}

// answersAt is Answers under one form of the path.
func (c Config) answersAt(ctx context.Context, form pathForm) error {
	const op = "looking for the API"
	res, err := get(ctx, c.httpClient(redirectNowhere), c.apiRoot()+form.prefix()+probeRoute)
	if err != nil {
		return noAnswer(op, err)
	}
	page := isPage(res)
	res.Body.Close()
	switch {
	case res.StatusCode >= http.StatusInternalServerError:
		return &Error{Op: op, Kind: Server, Status: res.StatusCode}
	case res.StatusCode == http.StatusNotFound, res.StatusCode/100 == 3, (res.StatusCode/100 == 2 || res.StatusCode == http.StatusForbidden) && page:
		return &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode}
	}
	return nil
}
