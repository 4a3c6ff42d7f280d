package sandbox

import (
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// oauthError is an error of RFC 6749 sections 4.1.2.1 and 5.2.
type oauthError struct {
	Status      int
	Code        string
	Description string
}

func (e *oauthError) Error() string { return e.Code + ": " + e.Description }

func refuse(code, format string, args ...any) *oauthError {
	return &oauthError{http.StatusBadRequest, code, fmt.Sprintf(format, args...)}
}

// errClient is the one answer to every failed client authentication.
var errClient = &oauthError{http.StatusUnauthorized, "invalid_client", "The client is unknown or its secret is wrong."}

func writeOAuthError(w http.ResponseWriter, e *oauthError) {
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="sandbox"`)
	}
	noStore(w)
	writeJSON(w, e.Status, map[string]string{"error": e.Code, "error_description": e.Description})
}

func noStore(w http.ResponseWriter) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache")
}

// readForm reads a request of the token or revocation endpoint: a form body only, no parameter twice (RFC 6749
// section 3.2). Parameters in the query do not count.
func readForm(w http.ResponseWriter, r *http.Request) *oauthError {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return refuse("invalid_request", "The body must be application/x-www-form-urlencoded.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, 64<<10)
	if err := r.ParseForm(); err != nil {
		return refuse("invalid_request", "The body is not a form.")
	}
	for name, values := range r.PostForm {
		if len(values) > 1 {
			return refuse("invalid_request", "The parameter %q is given more than once.", name)
		}
	}
	return nil
}

// authenticateClient finds the client of a form request by its Authorization header, or else by the body.
func (s *Server) authenticateClient(r *http.Request) (Client, *oauthError) {
	header := r.Header.Get("Authorization")
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if header == "" {
		return s.checkClient(id, secret)
	}
	if secret != "" {
		return Client{}, refuse("invalid_request", "The client authenticates in the header and in the body; only one is allowed.")
	}
	scheme, encoded, _ := strings.Cut(header, " ")
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	basicID, basicSecret, ok := strings.Cut(string(raw), ":")
	if !strings.EqualFold(scheme, "Basic") || err != nil || !ok {
		return Client{}, errClient
	}
	// interface.md encodes id and secret as they are, RFC 6749 section 2.3.1 form-encodes them first: both are right.
	c, failed := s.checkClient(basicID, basicSecret)
	if failed != nil {
		plainID, err1 := url.QueryUnescape(basicID)
		plainSecret, err2 := url.QueryUnescape(basicSecret)
		if err1 != nil || err2 != nil {
			return Client{}, errClient
		}
		c, failed = s.checkClient(plainID, plainSecret)
	}
	if failed == nil && id != "" && id != c.ID {
		return Client{}, refuse("invalid_request", "The client in the header is not the client in the body.")
	}
	return c, failed
}

func (s *Server) checkClient(id, secret string) (Client, *oauthError) {
	c, ok := s.client(id)
	if !ok || subtle.ConstantTimeCompare([]byte(hashed(secret)), []byte(hashed(c.Secret))) != 1 {
		return Client{}, errClient
	}
	return c, nil
}

// redirectProblem says what is wrong with a redirect address, "" for nothing: HTTPS, or plain HTTP to this very
// machine by its number (RFC 8252 section 7.3).
func redirectProblem(redirect string) string {
	u, err := url.Parse(redirect)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return "is not a complete web address"
	case u.Fragment != "" || strings.Contains(redirect, "#"):
		return "has a fragment"
	case u.Scheme == "https", isLoopbackRedirect(u):
		return ""
	}
	return "is not HTTPS"
}

func isLoopbackRedirect(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && ip != nil && ip.IsLoopback() && u.User == nil
}

// allowsRedirect compares exactly, except for the port of a loopback address.
func (c Client) allowsRedirect(redirect string) bool {
	if redirectProblem(redirect) != "" {
		return false
	}
	if slices.Contains(c.Redirects, redirect) {
		return true
	}
	got, err := url.Parse(redirect)
	if err != nil || !isLoopbackRedirect(got) {
		return false
	}
	return slices.ContainsFunc(c.Redirects, func(registered string) bool {
		want, err := url.Parse(registered)
		return err == nil && isLoopbackRedirect(want) && got.Hostname() == want.Hostname() &&
			got.EscapedPath() == want.EscapedPath() && got.RawQuery == want.RawQuery
	})
}
