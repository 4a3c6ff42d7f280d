package esign

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// authority is the authorization server: what discovery said, and interface.md's paths for what it left out.
type authority struct {
	oidc.ProviderConfig
	RevokeURL string
	// Issuers are accepted in an id_token. Discovery names exactly one; without it auth_url counts, with and without
	// the trailing slash.
	Issuers []string
	auth    *clientAuth
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
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, root+discoveryPath, nil)
	if err != nil {
		return authority{}, noAnswer(op, err)
	}
	req.Header.Set("Accept", "application/json")
	res, err := cfg.oauthClient().Do(req)
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
		auth:      newClientAuth(cfg, nil),
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return authority{}, noAnswer(op, err)
	}
	ok := res.StatusCode == http.StatusOK
	switch {
	case ok && isObject(body):
		a.adopt(cfg, body)
	case ok, res.StatusCode == http.StatusForbidden && looksLikePage(body):
		if !hasKeys(ctx, cfg, a.JWKSURL) {
			return authority{}, &Error{Op: op, Kind: BadAnswer, Status: res.StatusCode}
		}
	}
	return a, nil
}

// hasKeys reports whether a key set lies at an address.
func hasKeys(ctx context.Context, cfg Config, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	req.Header.Set("Accept", "application/json")
	res, err := cfg.oauthClient().Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	body, err := io.ReadAll(res.Body)
	return err == nil && res.StatusCode == http.StatusOK && json.Unmarshal(trimBOM(body), &set) == nil && len(set.Keys) > 0
}

func isObject(body []byte) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(trimBOM(body), &object) == nil && object != nil
}

// adopt takes over what a discovery document says, where it is usable.
func (a *authority) adopt(cfg Config, document []byte) {
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
	a.auth = newClientAuth(cfg, said.Methods)
	if said.IssuerURL != "" {
		a.Issuers = []string{said.IssuerURL}
	}
}

// client is the HTTP client for requests that carry the client's credentials in their body.
func (a authority) client(cfg Config) *http.Client {
	client := cfg.oauthClient()
	client.Transport = authTransport{client.Transport, a.auth}
	return client
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
