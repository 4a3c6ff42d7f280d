package inbox

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"countersign/internal/esign"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	hookURL     = "https://Office.example.com/Hooks/a1"
	hookService = "https://sign.example.com"
	hookSecret  = "6f9c2d41e8b7a05364de"
	eventBody   = `{"action":"package_executed","packageId":"7b0c1f4e-0000-4000-8000-000000000001","externalData":null,` +
		`"eventId":"e-1","eventOwnerOrganizationId":"o-1","eventOwnerMemberId":"m-1","eventTime":"2026-11-20T09:14:00.1234567Z"}`
)

// sign is this file's own reading of interface.md, "Webhook authentication" 3.
func sign(url, secret, body string) string {
	return base64.StdEncoding.EncodeToString(digest(url, secret, body))
}

func digest(url, secret, body string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	io.WriteString(mac, url+body)
	return mac.Sum(nil)
}

// shelf is a Store that remembers.
type shelf struct {
	mu     sync.Mutex
	kept   []Received
	seen   map[string]bool
	broken error
}

func (s *shelf) store(_ context.Context, r Received) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return false, s.broken
	}
	if s.seen[r.ID] {
		return false, nil
	}
	if s.seen == nil {
		s.seen = map[string]bool{}
	}
	s.seen[r.ID] = true
	s.kept = append(s.kept, r)
	return true, nil
}

func (s *shelf) all() []Received {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Received(nil), s.kept...)
}

func oneKey() []Key { return []Key{{URL: hookURL, Secret: hookSecret, Service: hookService}} }

// serve runs an inbox on loopback and returns its address.
func serve(t testing.TB, opt Options) (*Inbox, string) {
	in := New(opt)
	server := httptest.NewServer(in)
	t.Cleanup(server.Close)
	return in, server.URL
}

func request(t testing.TB, address, body string, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header[http.CanonicalHeaderKey(headers[i])] = append(r.Header[http.CanonicalHeaderKey(headers[i])], headers[i+1])
	}
	return r
}

// send returns the answer with its body read.
func send(t testing.TB, r *http.Request) (*http.Response, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res, string(b)
}

func signed(body string) []string {
	return []string{esign.DefaultSignatureHeader, sign(hookURL, hookSecret, body)}
}
