package esign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/message"
	"countersign/internal/office"
)

// tokens is a TokenSource that counts; invalidating the current token makes a new one.
type tokens struct {
	mu      sync.Mutex
	n       int
	stuck   bool // Invalidate has no effect
	few     int  // from this token on there is none; 0 for no limit
	invalid []string
}

func (s *tokens) Access(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.few > 0 && s.n+1 >= s.few {
		return "", &Error{Op: "renewing the sign-in", Kind: NotKept}
	}
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
		if got := r.Header.Get("Content-Type"); (got == "application/json") != (len(body) > 0) || r.Header.Get("Accept") != "application/json" {
			t.Errorf("%d bytes are sent with %v", len(body), r.Header)
		}
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
	for name, c := range map[string]struct {
		body string
		want Status
	}{
		"as in interface.md": {bareStatus, Status{PackageID: "p-1", State: "executed", Documents: []Document{{ID: "d-1", Executed: true}, {ID: "d-2", Executed: true}}}},
		"as published": {"\xef\xbb\xbf" + fullStatus, Status{PackageID: "p-1", OrganizationID: "o-1", MemberID: "m-1", Name: "Lease", State: "open", Type: "Sequential",
			ExternalData: []byte(`{"k":[1,2]}`), TimeSignBy: time.Date(2026, 12, 1, 10, 0, 0, 5e8, time.UTC), Documents: []Document{
				{ID: "d-1", ExternalID: "17", Name: "One", FileName: "one.pdf", Executed: true, Revisions: []Revision{{"s-1", false, true}, {"s-2", true, false}}},
				{ID: "d-2", Name: "Two", FileName: "two.pdf"}},
			Signers: []Signer{{ID: "s-1", FirstName: "Ana", LastName: "Ruiz", Email: "ana@example.com", Place: 1}, {ID: "s-2", FirstName: "Jan", LastName: "Weber", Email: "jan@example.com", Place: 2}}}},
		"an older executed": {`{"packageId":"P-1","state":"open","isExecuted":"true"}`, Status{PackageID: "p-1", State: "executed"}},
		"odd types":         {`{"packageId":"p-1","state":"executed","name":null,"documents":null,"signers":"none","timeSignBy":"soon"}`, Status{PackageID: "p-1", State: "executed"}},
		"another package":   {`{"packageId":"p-2","state":"open"}`, Status{}},
		"nothing":           {``, Status{}},
		"a page":            {`<html>`, Status{}},
		"cut":               {bareStatus[:40], Status{}},
		"no package":        {`{}`, Status{}},
		"null":              {`null`, Status{}},
	} {
		client, _ := api(t, answering(200, c.body))
		got, err := client.Status(t.Context(), "p-1")
		if none := c.want.PackageID == ""; !reflect.DeepEqual(got, c.want) || none != (kindOf(err) == BadAnswer) || !none && err != nil {
			t.Errorf("%s: %+v %v", name, got, err)
		}
	}
}

func TestARejectedTokenIsRenewedOnce(t *testing.T) {
	list := func(c *Client) error { _, err := c.List(t.Context(), ListQuery{Take: 1}); return err }
	upload := func(c *Client) error {
		_, err := c.Upload(t.Context(), fileOf("a.pdf", "%PDF-", ""))
		return err
	}
	add := func(c *Client) error { _, err := c.AddPackage(t.Context(), offer()); return err }
	for name, c := range map[string]struct {
		call   func(*Client) error
		status int
		often  int
		source *tokens
		sent   int
		kind   Kind
	}{
		"a list":                     {list, 401, 1, &tokens{}, 2, ""},
		"always":                     {list, 401, 9, &tokens{}, 2, SignedOut},
		"it is accepted elsewhere":   {list, 401, 9, &tokens{stuck: true}, 1, SignedOut},
		"the next cannot be kept":    {list, 401, 9, &tokens{few: 2}, 1, NotKept},
		"none can be kept":           {list, 401, 9, &tokens{few: 1}, 0, NotKept},
		"a file":                     {upload, 401, 1, &tokens{}, 2, ""},
		"a package":                  {add, 401, 1, &tokens{}, 2, ""},
		"a package, perhaps at work": {add, 403, 1, &tokens{}, 1, Unknown},
	} {
		var got, bodies []string
		client, _ := api(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			got, bodies = append(got, r.Header.Get("Authorization")), append(bodies, string(b))
			if len(got) <= c.often {
				w.WriteHeader(c.status)
				return
			}
			io.WriteString(w, `{"items":[],"fileId":"f-1","packageId":"p-1"}`)
		}))
		client.tokens = c.source
		err := c.call(client)
		if kindOf(err) != c.kind || errors.Is(err, ErrSignedOut) != (c.kind == SignedOut) || !slices.Equal(got, []string{"Bearer at-secret-0", "Bearer at-secret-1"}[:c.sent]) {
			t.Errorf("%s: %v after %q", name, err, got)
		}
		if c.kind == SignedOut && Message(err) != message.NotAllowed() {
			t.Errorf("%s: says %v", name, Message(err))
		}
		if c.sent > 1 && (bodies[0] == "" || bodies[1] != bodies[0] || c.source.invalid[0] != "at-secret-0") {
			t.Errorf("%s: with %q", name, bodies)
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
		{"403 with a word", `{"error":"package_not_authorized","message":"Ask Eva."}`, 403, nil, Forbidden, false, 0, "Ask Eva."},
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
			var served time.Time
			client.cfg.Served = func(at time.Time) { served = at }
			_, err := client.Status(context.Background(), "p-1")
			var e *Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			if i := slices.Index(c.header, "Date"); i >= 0 && served.Format(http.TimeFormat) != c.header[i+1] {
				t.Errorf("the service's time is %v", served)
			}
			if e.Kind != c.kind || e.Temporary() != c.temporary || e.RetryAfter != c.after || e.Said != c.message {
				t.Errorf("%s temporary=%v after=%v %q", e.Kind, e.Temporary(), e.RetryAfter, e.Said)
			}
			if s := Message(err).String(); s == "" || (c.kind == Refused || c.kind == Forbidden) && !strings.Contains(s, cmp.Or(c.message, e.Code)) || strings.ContainsAny(s, "\r\n\x00") || strings.Contains(s, "http") {
				t.Errorf("sentence %q", s)
			}
			harmless(t, err, "at-secret", "evil")
		})
	}
}

func TestImplausibleIDsAreRefusedBeforeAnythingIsSent(t *testing.T) {
	client, _ := api(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }))
	for _, bad := range []string{"", ".", "..", "a/b", `a\b`, "a/../b", "..%2f", "a?b", "a#b", "a b", "a\nb", strings.Repeat("x", 129)} {
		_, err := client.Status(context.Background(), bad)
		_, err2 := client.Download(context.Background(), office.FileSigned, "p", bad)
		_, err3 := client.EditLink(context.Background(), bad)
		_, err4 := client.SignLink(context.Background(), "p", bad)
		err5 := client.Rescind(context.Background(), bad, "", false)
		for _, err := range []error{err, err2, err3, err4, err5} {
			expect(t, kindOf(err), Invalid, "%[2]q is %[1]s", bad)
		}
	}
}

func TestNetworkTroubleNeverShowsTheAddressOrTheToken(t *testing.T) {
	client, _ := api(t, hijack("garbage at-secret-0 and worse\r\n\r\n"))
	_, err := client.Upload(t.Context(), fileOf("a.pdf", "%PDF-", "ext-secret"))
	expect(t, kindOf(err), Network, "%s")
	harmless(t, err, "at-secret", "ext-secret", "garbage", client.cfg.BaseURL)
}

// hijack is a service that reads a request, sends these bytes and hangs up.
func hijack(after string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		c, _, _ := http.NewResponseController(w).Hijack()
		io.WriteString(c, after)
		c.Close()
	}
}

func TestNobodyIsCalledAtAnAddressThatIsNoneOrUnprotected(t *testing.T) {
	good := Config{AuthURL: "https://auth.example.com/", BaseURL: "http://127.0.0.1:8080/api/v1", ClientID: "c"}
	noErr(t, good.Validate())
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

func TestAnIssuerIsTheSameHoweverItIsWritten(t *testing.T) {
	config := func(auth, base, client string) Config {
		return Config{AuthURL: auth, BaseURL: base, ClientID: client}
	}
	one := config("https://auth.example.com", "https://api.example.com", "office")
	for _, same := range []Config{
		config("https://AUTH.example.com/", "https://api.example.com/api/v1", "office"),
		config("HTTPS://auth.example.com:443", "https://api.example.com:443/api/v1/", "office"),
	} {
		if same.Issuer() != one.Issuer() {
			t.Errorf("%v is another issuer than %v", same, one)
		}
	}
	for _, other := range []Config{
		config("https://auth.example.com/x", one.BaseURL, one.ClientID), config(one.AuthURL, "https://api.example.com:8443", one.ClientID),
		config(one.AuthURL, one.BaseURL, "Office"), config("http://auth.example.com", one.BaseURL, one.ClientID),
		config(one.BaseURL, one.AuthURL, one.ClientID),
	} {
		if other.Issuer() == one.Issuer() {
			t.Errorf("%v is the same issuer as %v", other, one)
		}
	}
}
