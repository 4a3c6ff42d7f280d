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
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

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
