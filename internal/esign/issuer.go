package esign

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

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
