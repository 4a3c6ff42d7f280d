// Package esign is the signing service's interface as Go: the sign-in, the API calls, the records, the events and
// the signature on them.
//
// It follows interface.md. Where that is silent it follows the RFC, and where there is none the choice stands in
// assumed.go with its source. Answers are decoded leniently (both published shapes, null or absent, unknown fields,
// unknown states), requests are encoded strictly.
//
// What it promises: a token, code, secret, signature or body never appears in an error's text or in the log; a
// credential never goes to another host than the one it is for; a new refresh token is committed before the access
// token that came with it is used; a lost answer to [Client.AddPackage] is reported as [ErrOutcomeUnknown] and never
// repeated here.
//
// What it must not know: where anything is stored, and who shows it. Of this program it knows what people are told (message) and
// the office's plain records.
package esign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"countersign/internal/message"
)

// Config says which service, and as whom. It is a value: changing it after use changes nothing.
type Config struct {
	AuthURL      string   // {auth_url}: https, or http on a loopback host
	BaseURL      string   // {base_url}: likewise; with and without /api/v1 mean the same
	ClientID     string   // as registered
	ClientSecret string   // empty for a client that has none
	Scopes       []string // asked for; empty leaves it to the service

	HTTP *http.Client     // made by NewHTTPClient; nil means http.DefaultClient; redirects are always restricted
	Now  func() time.Time // nil means time.Now
	Log  *slog.Logger     // nil means none
}

// Validate refuses a service that must not be called: at an address that is none, or to which secrets would go unprotected. Whether
// settings are right is judged where they are kept. The error, which is Invalid, does not repeat an address: a password could be in it.
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

// Format leaves the secret out with every verb, so that a Config may be printed or logged by mistake.
func (c Config) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "esign.Config{%s %s %s}", c.AuthURL, c.BaseURL, c.ClientID)
}

// secureURL is true for https, and for http where it does not leave this computer.
func secureURL(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// apiRoot is BaseURL without a trailing slash and without /api/v1.
func (c Config) apiRoot() string {
	root := strings.TrimRight(c.BaseURL, "/")
	root = strings.TrimSuffix(root, apiPrefix)
	return strings.TrimRight(root, "/")
}

// authRoot is AuthURL without a trailing slash.
func (c Config) authRoot() string { return strings.TrimRight(c.AuthURL, "/") }

// now is wall-clock time without the monotonic reading: that one stands still while the computer sleeps, and a token
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

// Home is the service that packages live at: the API's address, however it is written.
func (c Config) Home() string { return sameAddress(c.apiRoot()) }

// Issuer names whoever gives out tokens, client secrets and endpoint secrets: the authorization server, the API and the
// client, however they are written. What one issuer has given out means nothing to another one, and is none of its
// business. It is a hash, fit for a name.
func (c Config) Issuer() string {
	parts, err := json.Marshal([]string{sameAddress(c.authRoot()), c.Home(), c.ClientID})
	if err != nil {
		panic(err) // strings always can
	}
	sum := sha256.Sum256(parts)
	return hex.EncodeToString(sum[:16])
}

// sameAddress is address in one form: what does not tell servers apart is left out (RFC 3986, 6.2.2 and 6.2.3).
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
