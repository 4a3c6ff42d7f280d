//go:build linux

package harness

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Spy stands where the service's public address leads, and notes every secret that passes. Safe for concurrent use.
type Spy struct {
	URL string

	mu    sync.Mutex
	known map[string]string // what it is, by the secret
}

// NewSpy passes everything on to the service that is going to listen at address.
func NewSpy(t testing.TB, address string) *Spy {
	t.Helper()
	x := &Spy{known: map[string]string{}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: address})
			r.Out.Host = r.In.Host
		},
		ModifyResponse: x.answer, ErrorLog: log.New(io.Discard, "", 0),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/connect/") && r.Method == http.MethodPost {
			x.request(r)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	x.URL = server.URL
	return x
}

// Note remembers a secret.
func (x *Spy) Note(what, secret string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if secret != "" {
		x.known[secret] = what
	}
}

// request reads a request to the token or the revocation endpoint.
func (x *Spy) request(r *http.Request) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return
	}
	for field, what := range map[string]string{"code": "code", "code_verifier": "verifier", "refresh_token": "refresh token", "token": "revoked token"} {
		x.Note(what, form.Get(field))
	}
	if basic, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Basic "); ok {
		x.Note("client's credentials", basic)
	}
}

// answer reads the answers that hold secrets.
func (x *Spy) answer(r *http.Response) error {
	if !strings.HasSuffix(r.Request.URL.Path, "/connect/token") && !strings.HasSuffix(r.Request.URL.Path, "/events/endpoints/set") {
		return nil
	}
	b, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(b))
	var held struct {
		Access   string `json:"access_token"`
		Refresh  string `json:"refresh_token"`
		ID       string `json:"id_token"`
		Endpoint Registration
	}
	if err == nil && json.Unmarshal(b, &held) == nil {
		x.Note("access token", held.Access)
		x.Note("refresh token", held.Refresh)
		x.Note("id_token", held.ID)
		x.Note("endpoint secret", held.Endpoint.Secret)
	}
	return err
}

// Secrets returns what passed, by the secret.
func (x *Spy) Secrets() map[string]string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.known)
}

// disguises are the ways a text may be written down: as it is, in an address, in JSON, in base64 wherever it begins, and
// in hexadecimal.
func disguises(text string) [][]byte {
	quoted, _ := json.Marshal(text) // a string can always be written
	forms := [][]byte{[]byte(text), []byte(url.QueryEscape(text)), quoted[1 : len(quoted)-1], []byte(hex.EncodeToString([]byte(text)))}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			// The characters at both ends depend on what stands beside the text.
			e := encoding.EncodeToString([]byte("xxx"[:shift] + text))
			forms = append(forms, []byte(e[(shift*8+5)/6:len(e)-2]))
		}
	}
	return forms
}

// Holds reports whether b has text in it, in whatever disguise.
func Holds(b []byte, text string) bool {
	for _, form := range disguises(text) {
		if bytes.Contains(b, form) {
			return true
		}
	}
	return false
}

// Registration is what an endpoint's events are verified with.
type Registration struct{ URL, Secret string }
