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

// authority is the authorization server: what discovery said, and interface.md's paths for what it left out.
type authority struct {
	oidc.ProviderConfig
	RevokeURL string
	// Issuers are accepted in an id_token. Discovery names exactly one; without it auth_url counts, with and without
	// the trailing slash.
	Issuers []string
	basic   bool // it takes the client's credentials in the header alone
}

const discoveryPath = "/.well-known/openid-configuration"

// discover asks the authorization server for its endpoints (OpenID Connect Discovery 4). A server without discovery
// gets the endpoints of interface.md; a server that cannot be reached is an error. A page in the place of the document is what
// networks show that want a sign-in in the browser first, and what web servers show that are something else: that is a BadAnswer,
// unless the server has its keys where interface.md has them.
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
	defer res.Body.Close()

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
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return authority{}, noAnswer(op, err)
	}
	ok := res.StatusCode == http.StatusOK
	switch {
	case ok && isObject(body):
		a.adopt(body)
	case ok, res.StatusCode == http.StatusForbidden && looksLikePage(body):
		if _, err := publishedKeys(ctx, cfg.oauthClient(), a.JWKSURL); err != nil {
			return authority{}, &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode}
		}
	}
	return a, nil
}

// get asks for JSON, as nobody in particular.
func get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	return client.Do(req)
}

// publishedKeys are the keys that lie at an address. One that cannot be read is left out, and the others count (RFC 7517, 5): the
// libraries would take none of the set.
func publishedKeys(ctx context.Context, client *http.Client, address string) (keys []crypto.PublicKey, err error) {
	res, err := get(ctx, client, address)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	body, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode == http.StatusOK {
		err = json.Unmarshal(trimBOM(body), &set)
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

// adopt takes over what a discovery document says, where it is usable.
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
		// A server behind a proxy may believe that it is reached by plain http. Credentials are not sent that way.
		if u, err := url.Parse(e.from); err == nil && u.Host != "" && secureURL(u) {
			*e.to = e.from
		}
	}
	a.basic = len(said.Methods) > 0 && !slices.Contains(said.Methods, "client_secret_post")
	if said.IssuerURL != "" {
		a.Issuers = []string{said.IssuerURL}
	}
}

// oauth is the client's registration in the terms of x/oauth2, which knows how to ask for authorization.
func (a authority) oauth(cfg Config, redirectURI string) *oauth2.Config {
	return &oauth2.Config{
		ClientID:    cfg.ClientID,
		Endpoint:    oauth2.Endpoint{AuthURL: a.AuthURL},
		RedirectURL: redirectURI,
		Scopes:      cfg.Scopes,
	}
}

// issued is true when iss names this server.
func (a authority) issued(iss string) bool {
	return slices.Contains(a.Issuers, iss)
}

// hasScope is true when scopes has this one, in whatever letter case.
func hasScope(scopes []string, scope string) bool {
	return slices.ContainsFunc(scopes, func(s string) bool { return strings.EqualFold(s, scope) })
}

var errNoTokens = errors.New("the answer holds no tokens")

// tokenAnswer is what the token endpoint said (interface.md, "Token response"; RFC 6749, 5.1 and 5.2), as far as it
// can be made out. A refresh token is used up by the answer that brings the next one, so nothing else in that answer
// may keep the next one from being read: an odd member is one that was not sent.
type tokenAnswer struct {
	Access      text   `json:"access_token"`
	Refresh     text   `json:"refresh_token"`
	ID          text   `json:"id_token"`
	Lifetime    number `json:"expires_in"` // seconds
	Scopes      text   `json:"scope"`
	Error       code   `json:"error"`
	Description text   `json:"error_description"`

	sent time.Time // by the service's own clock; zero where it did not say
}

// code is a string (RFC 6749, 5.2), or an object that has it, as errors of many services are: that a sign-in has lapsed is told in
// either shape.
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

// tokens are those of the answer. An access token that fits no header (RFC 6750, 2.1) is none.
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

// scopesOr is what was granted; RFC 6749, 5.1 lets the service leave it out when that is what was asked for.
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

// askForTokens posts form to the token endpoint. Its error never holds one of the secrets, which are what the form
// carried, in case the answer repeats it. An answer with either token is a success, whatever else it holds.
func (a authority) askForTokens(ctx context.Context, cfg Config, op string, form url.Values, secrets ...string) (tokenAnswer, error) {
	res, err := a.post(ctx, cfg, op, a.TokenURL, form)
	if err != nil {
		return tokenAnswer{}, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body) // bounded, see oauthClient
	if err != nil {
		return tokenAnswer{}, noAnswer(op, err)
	}
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

// refusalKind is what a token answer without tokens means. readable says whether it is the authorization server's at
// all: a page of something in between is no word about the sign-in.
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

// readTokenAnswer reads the JSON object of a token answer, and does not mind what comes after it. It reports whether it is one.
func readTokenAnswer(body []byte) (a tokenAnswer, ok bool) {
	body = bytes.TrimSpace(trimBOM(body))
	ok = bytes.HasPrefix(body, []byte("{")) && json.NewDecoder(bytes.NewReader(body)).Decode(&a) == nil
	return a, ok
}

// Tokens are what the token endpoint hands out (interface.md, "Token response"). They print as nothing.
type Tokens struct {
	Access  string    // "" when the service sent none that can be used; Refresh is worth keeping all the same
	Refresh string    // "" without the offline_access scope
	Issued  time.Time // when the answer came
	Expiry  time.Time // of Access
}

// Format tells with every verb until when, and no token.
func (t Tokens) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "esign.Tokens{until %s}", t.Expiry.Format(time.RFC3339))
}

// Vault keeps the refresh token. A Session calls it from one goroutine at a time. Its errors must not quote the token.
type Vault interface {
	// Refresh returns the kept token, "" when there is none. An error means that it is not known whether there is.
	Refresh(ctx context.Context) (string, error)
	// SetRefresh keeps token in place of the one before; "" forgets. When it returns nil, the token is on disk.
	SetRefresh(ctx context.Context, token string) error
}

// usable is true while the access token may be handed out: until shortly before its end when it can be renewed. One that
// came in the future came by a clock that was wrong, and nobody knows how long it still lives.
func (t Tokens) usable(now time.Time) bool {
	skew := min(refreshSkew, t.Expiry.Sub(t.Issued)/10)
	return t.Access != "" && now.Before(t.Expiry.Add(-skew)) && !now.Before(t.Issued.Add(-refreshSkew))
}

// probeRoute is a call that only reads. Without a token nobody learns anything from it but that it is there.
const probeRoute = "/organizations/info"

// Answers reports whether the API answers at the service address: it asks without a token, under both forms of the path,
// and takes being turned away for a yes. A page, a redirect or a "not found" is what any other web server gives; that is a
// BadAnswer. What else is wrong is an *Error too.
func (c Config) Answers(ctx context.Context) error {
	const op = "looking for the API"
	var last error
	for _, form := range []pathForm{prefixed, bare} {
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
			last = &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode}
		default:
			return nil
		}
	}
	return last
}
