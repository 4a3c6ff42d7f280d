//go:build linux

package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/e2e/harness"

	"github.com/google/uuid"
)

// tap stands between the program and the service, and reads what the service answers about the endpoint: forging well
// takes the secret.
type tap struct {
	url string

	mu   sync.Mutex
	last harness.Registration
}

func newTap(t testing.TB, s *harness.Service) *tap {
	t.Helper()
	to, err := url.Parse(s.URL)
	harness.Must(t, err)
	x := &tap{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, "/events/endpoints/set") {
				return nil
			}
			b, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(b))
			var answer struct{ Endpoint harness.Registration }
			if err == nil && json.Unmarshal(b, &answer) == nil {
				x.mu.Lock()
				x.last = answer.Endpoint
				x.mu.Unlock()
			}
			return err
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	x.url = server.URL
	return x
}

func (x *tap) registration() harness.Registration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last
}

// sign is interface.md, webhook authentication 3, as the tests read it.
func sign(address, secret string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(address))
	mac.Write(body)
	return mac.Sum(nil)
}

func signature(r harness.Registration, body []byte) string {
	return base64.StdEncoding.EncodeToString(sign(r.URL, r.Secret, body))
}

// event is an authentic looking event with an id of its own.
func event(change map[string]any) []byte {
	fields := map[string]any{
		"action": "package_executed", "packageId": uuid.NewString(), "externalData": nil, "eventId": uuid.NewString(),
		"eventOwnerOrganizationId": uuid.NewString(), "eventOwnerMemberId": uuid.NewString(),
		"eventTime": time.Now().UTC().Format("2006-01-02T15:04:05.0000000Z"),
	}
	maps.Copy(fields, change)
	b, err := json.Marshal(fields)
	if err != nil {
		panic(err) // only plain values are passed in
	}
	return b
}

// forgery is a request whose body and signature headers do not belong together.
type forgery struct {
	name   string
	body   []byte
	header http.Header
	status int // the answer wanted; 0 is 401
}

// forgeries are the requests that must not get in, each wrong in one way.
func forgeries(r harness.Registration) []forgery {
	body := event(nil)
	one := func(value string) http.Header { return http.Header{"X-Service-Signature": {value}} }
	base64Of := func(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
	good := signature(r, body)
	mangled := []byte(good)
	mangled[3] ^= 1
	upper, err := url.Parse(r.URL)
	if err != nil {
		panic(err) // the service accepted it
	}
	upper.Path = strings.ToUpper(upper.Path)
	var indented bytes.Buffer
	if err := json.Indent(&indented, body, "", " "); err != nil {
		panic(err) // made a few lines above
	}
	huge := append(bytes.Repeat([]byte(" "), 32<<20), body...)
	return []forgery{
		{"no signature", body, http.Header{}, 0},
		{"an empty signature", body, one(""), 0},
		{"a mangled signature", body, one(string(mangled)), 0},
		{"half a signature", body, one(good[:len(good)/2]), 0},
		{"hexadecimal in place of base64", body, one(hex.EncodeToString(sign(r.URL, r.Secret, body))), 0},
		{"a signature over the body alone", body, one(base64Of(sign("", r.Secret, body))), 0},
		{"another case in the address", body, one(base64Of(sign(upper.String(), r.Secret, body))), 0},
		{"a slash behind the address", body, one(base64Of(sign(r.URL+"/", r.Secret, body))), 0},
		{"the same JSON written otherwise", indented.Bytes(), one(good), 0},
		{"another secret", body, one(base64Of(sign(r.URL, "not "+r.Secret, body))), 0},
		{"an empty body", nil, one(base64Of(sign(r.URL, r.Secret, nil))), 0},
		{"a body of 32 MB", huge, one(base64Of(sign(r.URL, r.Secret, huge))), http.StatusRequestEntityTooLarge},
		{"the signature of another event", event(nil), one(good), 0},
		{"a right and a wrong signature", body, http.Header{"X-Service-Signature": {good, "AAAA"}}, 0},
	}
}

// post sends a webhook request to the program's listener as the proxy in front of it would.
func post(o *harness.Office, body []byte, header http.Header) int {
	o.T.Helper()
	u, err := url.Parse(o.Front.URL)
	harness.Must(o.T, err)
	req, err := http.NewRequestWithContext(o.T.Context(), http.MethodPost, "http://"+o.Front.Inside+"/webhook", bytes.NewReader(body))
	harness.Must(o.T, err)
	req.Host, req.Header = u.Host, header
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil && len(body) > 1<<20 {
		return http.StatusRequestEntityTooLarge // the connection was closed before all was sent, and with it the answer lost
	}
	if err != nil {
		o.T.Fatalf("post a webhook request: %v", err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestNobodyGetsInAndOddEventsAreKept(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	f, wire := o.Front, newTap(t, o.Service)
	o.Setup("--base-url", wire.url)
	o.Serve()
	o.MustLogin()
	o.Registered()
	key := wire.registration()
	if key.URL != f.URL+"/webhook" || key.Secret == "" {
		t.Fatalf("registered: %q", key.URL)
	}

	forged := forgeries(key)
	for _, x := range forged {
		want := x.status
		if want == 0 {
			want = http.StatusUnauthorized
		}
		if got := post(o, x.body, x.header); got != want {
			t.Errorf("%s was answered %d, want %d", x.name, got, want)
		}
	}
	if s := o.Status(); s.Events.Received != 0 || s.Events.Rejected != len(forged) || s.Packages.Total != 0 {
		t.Errorf("after %d forgeries: %+v, %+v", len(forged), s.Events, s.Packages)
	}
	for _, path := range []string{"/webhook/", "/", "/WEBHOOK"} {
		resp, err := harness.NewVisitor(f.Authority).Client.Post(f.URL+path, "application/json", bytes.NewReader(event(nil)))
		harness.Must(t, err)
		resp.Body.Close()
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("a post to %s was answered %d", path, resp.StatusCode)
		}
	}
	oddEvents(o, key)
	o.Stop()
	if notes := desk.Notes.List(); len(notes) != 0 {
		t.Errorf("told of things that did not happen: %q", notes)
	}
}

// oddEvents posts authentic events that are strange, which are all to be accepted, kept and visible.
func oddEvents(o *harness.Office, key harness.Registration) {
	o.T.Helper()
	first := event(map[string]any{"action": "package_teleported"})
	odd := map[string][]byte{
		"an unknown action":     first,
		"an unknown package":    event(nil),
		"a new field":           event(map[string]any{"action": "document_executed", "shoeSize": 44}),
		"no JSON":               []byte("this is no JSON {"),
		"a time without digits": event(map[string]any{"eventTime": "2019-03-04T05:06:07Z"}),
		"a time in 100 ns":      event(map[string]any{"eventTime": "2019-03-04T05:06:07.1234567Z"}),
		"a time with an offset": event(map[string]any{"eventTime": "2019-03-04T05:06:07.1+02:00"}),
		"no time at all":        event(map[string]any{"eventTime": nil}),
		"no package":            event(map[string]any{"packageId": nil}),
	}
	for name, body := range odd {
		if got := post(o, body, http.Header{"X-Service-Signature": {signature(key, body)}}); got/100 != 2 {
			o.T.Errorf("an event with %s was answered %d", name, got)
		}
	}
	if got := post(o, first, http.Header{"X-Service-Signature": {signature(key, first)}}); got/100 != 2 {
		o.T.Errorf("a duplicate was answered %d", got)
	}
	s := o.Until("the odd events are dealt with", func(s harness.Status) bool { return s.Events.Received == len(odd) && s.Events.Pending == 0 })
	if s.Events.Duplicates != 1 || s.Events.Problems < 3 {
		o.T.Errorf("after odd events: %+v; want the unknown action, the missing package and the garbage under problems", s.Events)
	}
}
