package esign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/office"
)

// tokens is a TokenSource that counts; invalidating the current token makes a new one.
type tokens struct {
	mu      sync.Mutex
	n       int
	stuck   bool // Invalidate has no effect
	invalid []string
}

func (s *tokens) Access(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("at-secret-%d", s.n), nil
}

func (s *tokens) Invalidate(access string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalid = append(s.invalid, access)
	if !s.stuck {
		s.n++
	}
}

// api runs a service on loopback and returns a client for it.
func api(t *testing.T, h http.Handler) (*Client, *tokens) {
	t.Helper()
	server := httptest.NewServer(h)
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	src := &tokens{}
	return NewClient(Config{AuthURL: server.URL, BaseURL: server.URL, ClientID: "c", HTTP: server.Client()}, src), src
}

// answering is a service that gives the same answer to everything under the prefix.
func answering(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		for i := 0; i < len(headers); i += 2 {
			w.Header().Add(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// recording is a service that gives the same JSON answer to everything; asked returns the requests: method, path and body, a
// line each.
func recording(t *testing.T, answer string) (client *Client, asked func() string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	client, _ = api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		expect(t, r.Header.Get("Content-Type"), "application/json", "sent as %q")
		mu.Lock()
		defer mu.Unlock()
		all = append(all, r.Method+" "+r.URL.Path+" "+string(body))
		io.WriteString(w, answer)
	}))
	return client, func() string {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(all, "\n")
	}
}

const (
	bareStatus = `{"packageId":"p-1","state":"executed","documents":[{"documentId":"d-1"},{"documentId":"d-2"}]}`
	fullStatus = `{"packageId":"p-1","organizationId":"o-1","memberId":"m-1","name":"Lease","timeSignBy":"2026-12-01T10:00:00.5Z",
		"type":"Sequential","state":"open","externalData":{"k":[1,2]},"isExecuted":false,"new":{"field":1},
		"documents":[
		 {"documentId":"d-2","fileId":"f-2","externalId":null,"name":"Two","fileName":"two.pdf","order":2,"isExecuted":false,"revisions":null},
		 {"documentId":"d-1","fileId":"f-1","externalId":17,"name":"One","fileName":"one.pdf","order":1,"isExecuted":true,
		  "revisions":[{"revisionId":"r-1","signerId":"s-1","isNext":false,"isSigned":true},{"revisionId":"r-2","signerId":"s-2","isNext":true}]}],
		"signers":[{"signerId":"s-2","firstName":"Jan","lastName":"Weber","email":"jan@example.com","index":2},
		 {"signerId":"s-1","firstName":"Ana","lastName":"Ruiz","email":"ana@example.com","index":1,"mobileNumber":null,"links":[]}]}`
)

func TestStatusReadsBothShapes(t *testing.T) {
	t.Run("as in interface.md", func(t *testing.T) {
		c, _ := api(t, answering(200, bareStatus))
		s, err := c.Status(context.Background(), "p-1")
		if err != nil || s.State != office.PackageExecuted || len(s.Documents) != 2 || s.Documents[1].ID != "d-2" || !s.Documents[0].Executed {
			t.Errorf("%+v %v", s, err)
		}
	})
	t.Run("as published", func(t *testing.T) {
		c, _ := api(t, answering(200, "\xef\xbb\xbf"+fullStatus))
		s := must(c.Status(context.Background(), "p-1"))
		if s.State != "open" || s.Name != "Lease" || s.Type != "Sequential" || string(s.ExternalData) != `{"k":[1,2]}` || s.TimeSignBy.Nanosecond() != 5e8 {
			t.Errorf("%+v", s)
		}
		if d := s.Documents[0]; d.ID != "d-1" || d.ExternalID != "17" || !d.Executed || len(d.Revisions) != 2 || !d.Revisions[1].IsNext {
			t.Errorf("documents %+v", s.Documents)
		}
		if s.Signers[0].FirstName != "Ana" || s.Signers[1].Email != "jan@example.com" {
			t.Errorf("signers %+v", s.Signers)
		}
	})
	for name, body := range map[string]string{
		"an older executed": `{"packageId":"P-1","state":"open","isExecuted":"true"}`,
		"odd types":         `{"packageId":"p-1","state":"executed","name":null,"documents":null,"signers":"none","timeSignBy":"soon"}`,
	} {
		c, _ := api(t, answering(200, body))
		if s, err := c.Status(context.Background(), "p-1"); err != nil || s.State != office.PackageExecuted || s.PackageID != "p-1" {
			t.Errorf("%s: %+v %v", name, s, err)
		}
	}
	for name, body := range map[string]string{
		"another package": `{"packageId":"p-2","state":"open"}`, "nothing": ``, "a page": `<html>`, "cut": bareStatus[:40], "no package": `{}`, "null": `null`,
	} {
		c, _ := api(t, answering(200, body))
		if s, err := c.Status(context.Background(), "p-1"); kindOf(err) != BadAnswer {
			t.Errorf("%s: %+v %v", name, s, err)
		}
	}
}

func TestTheBaseAddressMayOrMayNotHaveThePrefix(t *testing.T) {
	for _, tail := range []string{"", "/", "/api/v1", "/api/v1/"} {
		if got := (Config{BaseURL: "https://sign.example.com" + tail}).apiRoot(); got != "https://sign.example.com" {
			t.Errorf("%q: %q", tail, got)
		}
	}
	expect(t, (Config{BaseURL: "https://example.com/sign/api/v1/"}).apiRoot(), "https://example.com/sign", "below a path: %q")
}

func TestARejectedTokenIsRenewedOnce(t *testing.T) {
	var got []string
	client, src := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, r.Header.Get("Authorization")+" "+string(b))
		if len(got) == 1 {
			w.WriteHeader(401)
			return
		}
		io.WriteString(w, `{"items":[]}`)
	}))
	must(client.List(context.Background(), ListQuery{Take: 1}))
	want := `{"allMembers":true,"take":1}`
	if len(got) != 2 || got[0] != "Bearer at-secret-0 "+want || got[1] != "Bearer at-secret-1 "+want || src.invalid[0] != "at-secret-0" {
		t.Errorf("%q", got)
	}
	for name, stuck := range map[string]bool{"always": false, "and there is no other token": true} {
		n := 0
		client, src := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n++; w.WriteHeader(401) }))
		src.stuck = stuck
		_, err := client.Status(context.Background(), "p-1")
		if !errors.Is(err, ErrSignedOut) || stuck && n != 1 || !stuck && n != 2 {
			t.Errorf("%s: %v after %d", name, err, n)
		}
		harmless(t, err, "at-secret")
	}
}

func TestRefusalsBecomeKindsAndSentences(t *testing.T) {
	date := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	stamp := func(later time.Duration) string { return date.Add(later).Format(http.TimeFormat) }
	for _, c := range []struct {
		name, body string
		status     int
		header     []string
		kind       Kind
		temporary  bool
		after      time.Duration
		message    string
	}{
		{"400", `{"error":"package_add_no_signers","message":"Add\u0000 a\r\nsigner\u202e."}`, 400, nil, Refused, false, 0, "Add a signer."},
		{"403", `{"error":"package_not_authorized"}`, 403, nil, Forbidden, false, 0, ""},
		{"404", `{"error":"package_not_found"}`, 404, nil, NotFound, false, 0, ""},
		{"429 in seconds", `{"error":"too_many"}`, 429, []string{"Retry-After", "12"}, TooMany, true, 12 * time.Second, ""},
		{"429 with a date", ``, 429, []string{"Retry-After", stamp(90 * time.Second), "Date", stamp(0)}, TooMany, true, 90 * time.Second, ""},
		{"429 by a clock ahead of ours", ``, 429, []string{"Retry-After", stamp(3*time.Hour + time.Minute), "Date", stamp(3 * time.Hour)}, TooMany, true, time.Minute, ""},
		{"429 in the past", ``, 429, []string{"Retry-After", "-5"}, TooMany, true, 0, ""},
		{"429 for ever", ``, 429, []string{"Retry-After", "99999999999"}, TooMany, true, maxRetryAfter, ""},
		{"500", `{"error":"package_exception_x"}`, 500, nil, Server, true, 0, ""},
		{"503", `<html>maintenance`, 503, []string{"Retry-After", "1"}, Server, true, time.Second, ""},
		{"302", ``, 302, []string{"Location", "https://evil.example.com/"}, BadAnswer, true, 0, ""},
		{"an odd code", `{"error":"evil<x>"}`, 400, nil, Refused, false, 0, ""},
		{"an echo", `{"error":"x","message":"bad token at-secret-0 here"}`, 400, nil, Refused, false, 0, "bad token … here"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, _ := api(t, answering(c.status, c.body, c.header...))
			client.cfg.Now = func() time.Time { return date }
			_, err := client.Status(context.Background(), "p-1")
			var e *Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if e.Kind != c.kind || e.Temporary() != c.temporary || e.RetryAfter != c.after || e.Said != c.message {
				t.Errorf("%s temporary=%v after=%v %q", e.Kind, e.Temporary(), e.RetryAfter, e.Said)
			}
			if s := Message(err).String(); s == "" || strings.ContainsAny(s, "\r\n\x00") || strings.Contains(s, "http") {
				t.Errorf("sentence %q", s)
			}
			harmless(t, err, "at-secret", "evil")
		})
	}
}

func TestCredentialsStayWithTheirHost(t *testing.T) {
	var leaked []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Method+" "+r.Header.Get("Authorization"))
		io.WriteString(w, bareStatus)
	}))
	defer other.Close()
	client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+r.URL.Path+"?token=at-secret-0", http.StatusTemporaryRedirect)
	}))
	_, err := client.Status(context.Background(), "p-1")
	if kindOf(err) != BadAnswer {
		t.Errorf("%v", err)
	}
	harmless(t, err, "at-secret")
	if len(leaked) != 0 {
		t.Errorf("the other host saw %q", leaked)
	}

	hops := 0
	client, _ = api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if hops++; hops == 1 {
			http.Redirect(w, r, "/api/v1/packages/p-1/status/", http.StatusPermanentRedirect)
			return
		}
		io.WriteString(w, bareStatus)
	}))
	if _, err := client.Status(context.Background(), "p-1"); err != nil || hops != 2 {
		t.Errorf("on the same host: %v", err)
	}
}

func TestImplausibleIDsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	client, _ := api(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }))
	for _, bad := range []string{"", ".", "..", "a/b", `a\b`, "a/../b", "..%2f", "a?b", "a#b", "a b", "a\nb", strings.Repeat("x", 129)} {
		_, err := client.Status(context.Background(), bad)
		_, err2 := client.Download(context.Background(), office.FileSigned, "p", bad)
		_, err3 := client.SignLink(context.Background(), bad, "s")
		_, err4 := client.SignLink(context.Background(), "p", bad)
		if kindOf(err) != Invalid || kindOf(err2) != Invalid || kindOf(err3) != Invalid || kindOf(err4) != Invalid {
			t.Errorf("%q: %v, %v, %v, %v", bad, err, err2, err3, err4)
		}
	}
}

func TestNetworkTroubleNeverShowsTheAddressOrTheToken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	noErr(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			io.WriteString(c, "garbage at-secret-0 and worse\r\n\r\n")
			c.Close()
		}
	}()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	base := "http://" + l.Addr().String()
	client := NewClient(Config{AuthURL: base, BaseURL: base, ClientID: "c", HTTP: &http.Client{Transport: transport}}, &tokens{})
	_, err = client.Upload(context.Background(), fileOf("a.pdf", "%PDF-", "ext-secret"))
	if kindOf(err) != Network {
		t.Errorf("%v", err)
	}
	harmless(t, err, "at-secret", "ext-secret", "garbage", base)
}

func TestNobodyIsCalledAtAnAddressThatIsNoneOrUnprotected(t *testing.T) {
	good := Config{AuthURL: "https://auth.example.com/", BaseURL: "http://127.0.0.1:8080/api/v1", ClientID: "c"}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "example.com", "ftp://example.com", "https://", "https://x?y", "http://127.0.0.1.example.com", "http://[::2]", "javascript:alert(1)", "http://auth.example.com", "https://user:pass@example.com"} {
		c := good
		c.AuthURL = bad
		if err := c.Validate(); kindOf(err) != Invalid || strings.Contains(Message(err).String(), "pass@") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	secret := Config{ClientSecret: "sEcReT"}
	if s := fmt.Sprintf("%v %+v %#v", secret, secret, secret); strings.Contains(s, "sEcReT") {
		t.Error(s)
	}
	if _, err := NewClient(Config{}, &tokens{}).Status(context.Background(), "p"); kindOf(err) != Invalid {
		t.Errorf("a call with it: %v", err)
	}
}
