package sandbox

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"github.com/pdfcpu/pdfcpu/pkg/api"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/model"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a clock that is moved by hand.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 11, 21, 9, 0, 0, 123456700, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is a service and an application that uses it.
type rig struct {
	t      *testing.T
	s      *Server
	clock  *clock
	client Client
	http   *http.Client // like a browser: keeps cookies, follows no redirects
	token  string
}

const redirect = "http://127.0.0.1:45678/oauth/callback"

func start(t *testing.T, o Options) *rig {
	t.Helper()
	c := newClock()
	if o.Now == nil {
		o.Now = c.Now
	}
	s, err := Start(o)
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	r := &rig{t: t, s: s, clock: c, client: s.opt.Clients[0]}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	r.http = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return r
}

// signedIn is start, with the administrator signed in.
func signedIn(t *testing.T, o Options) *rig {
	t.Helper()
	r := start(t, o)
	r.signIn(adminMail, allScopes)
	return r
}

// answer is a response read to its end.
type answer struct {
	*http.Response
	body []byte
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal(a.body, &v); err != nil {
		t.Fatalf("answer %d is not JSON: %q", a.StatusCode, a.body)
	}
	return v
}

func (r *rig) do(method, address, contentType string, body io.Reader, header ...string) answer {
	r.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = r.s.URL() + address
	}
	req, err := http.NewRequest(method, address, body)
	must(r.t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := r.http.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, address, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: reading: %v", method, address, err)
	}
	return answer{resp, raw}
}

func (r *rig) get(path string, header ...string) answer {
	r.t.Helper()
	return r.do("GET", path, "", nil, append([]string{"Authorization", "Bearer " + r.token}, header...)...)
}

func (r *rig) post(path string, body any) answer {
	r.t.Helper()
	raw, err := json.Marshal(body)
	must(r.t, err)
	return r.do("POST", path, "application/json", bytes.NewReader(raw), "Authorization", "Bearer "+r.token)
}

func (r *rig) form(path string, values url.Values, header ...string) answer {
	r.t.Helper()
	return r.do("POST", path, "application/x-www-form-urlencoded", strings.NewReader(values.Encode()), header...)
}

func wantStatus(t *testing.T, a answer, status int) {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("%s %s: got %d %q, want %d", a.Request.Method, a.Request.URL.Path, a.StatusCode, a.body, status)
	}
}

func wantError(t *testing.T, a answer, status int, code string) {
	t.Helper()
	wantStatus(t, a, status)
	if got := a.json(t)["error"]; got != code {
		t.Fatalf("got error %v, want %s", got, code)
	}
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const verifier = "a-verifier-of-the-tests-that-is-long-enough-to-be-one"

func authorizeQuery(r *rig, scope string) url.Values {
	return url.Values{
		"response_type": {"code"}, "client_id": {r.client.ID}, "redirect_uri": {redirect}, "scope": {scope},
		"state": {"s t&a=te"}, "nonce": {"n-1"}, "code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"},
	}
}

// authorize uses the page as a person does and returns the query of the final redirect.
func (r *rig) authorize(q url.Values, email, decision string) url.Values {
	r.t.Helper()
	at := "/connect/authorize?" + q.Encode()
	wantStatus(r.t, r.do("GET", at, "", nil), 200)
	form := url.Values{"email": {email}}
	if decision == "deny" {
		form = url.Values{"decision": {decision}}
	}
	a := r.form(at, form)
	to := a.Header.Get("Location")
	if a.StatusCode != 303 || !strings.HasPrefix(to, q.Get("redirect_uri")+"?") {
		r.t.Fatalf("got %d %s, sent to %q", a.StatusCode, a.body, to)
	}
	u, err := url.Parse(to)
	must(r.t, err)
	return u.Query()
}

func (r *rig) exchange(code string) answer {
	return r.form("/connect/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "redirect_uri": {redirect}, "code_verifier": {verifier},
	}, "Authorization", r.basic())
}

func (r *rig) basic() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(r.client.ID+":"+r.client.Secret))
}

// signIn obtains tokens for email and uses the access token from then on.
func (r *rig) signIn(email, scope string) map[string]any {
	r.t.Helper()
	back := r.authorize(authorizeQuery(r, scope), email, "allow")
	a := r.exchange(back.Get("code"))
	wantStatus(r.t, a, 200)
	v := a.json(r.t)
	r.token = v["access_token"].(string)
	return v
}

const (
	adminMail  = "olivia.office@example.com"
	memberMail = "max.member@example.com"
	allScopes  = "profile openid offline_access organization"
)

// samplePDF is a PDF with that many pages.
func samplePDF(t testing.TB, pages int) []byte {
	t.Helper()
	p := fpdf.New("P", "mm", "A4", "")
	for i := range pages {
		p.AddPage()
		p.SetFont("Helvetica", "", 12)
		p.Cell(40, 10, fmt.Sprintf("Page %d", i+1))
	}
	var b bytes.Buffer
	must(t, p.Output(&b))
	return b.Bytes()
}

func (r *rig) uploadRaw(query, disposition, kind string, body io.Reader) answer {
	r.t.Helper()
	pr, pw := io.Pipe()
	mw := multipart.NewWriter(pw)
	go func() {
		part, err := mw.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {kind}})
		if err == nil {
			_, err = io.Copy(part, body)
		}
		if err == nil {
			err = mw.Close()
		}
		pw.CloseWithError(err)
	}()
	return r.do("POST", "/api/v1/files/upload"+query, mw.FormDataContentType(), pr, "Authorization", "Bearer "+r.token)
}

func (r *rig) upload(name string, body []byte) string {
	r.t.Helper()
	a := r.uploadRaw("", `form-data; filename="`+name+`"`, "application/pdf", bytes.NewReader(body))
	wantStatus(r.t, a, 200)
	f := a.json(r.t)["files"].([]any)[0].(map[string]any)
	id, ok := f["fileId"].(string)
	if !ok {
		r.t.Fatalf("no fileId: %v", f)
	}
	return id
}

func people(names ...string) []map[string]string {
	var out []map[string]string
	for i, n := range names {
		out = append(out, map[string]string{"firstName": n, "lastName": "Tester", "email": fmt.Sprintf("s%d@example.com", i)})
	}
	return out
}

// add adds an open package with one document of that many pages and returns it as the service reports it.
func (r *rig) add(kind string, pages int, names ...string) Package {
	r.t.Helper()
	id := r.upload("Lease.pdf", samplePDF(r.t, pages))
	a := r.post("/packages/add", map[string]any{
		"name": "Lease Sonnenweg 4", "type": kind, "state": "open", "signers": people(names...),
		"documents": []any{map[string]any{"fileId": id, "fileName": "Lease.pdf"}},
	})
	wantStatus(r.t, a, 200)
	return r.find(a.json(r.t)["packageId"].(string))
}

func (r *rig) find(packageID string) Package {
	r.t.Helper()
	for _, p := range r.s.Packages() {
		if p.PackageID == packageID {
			return p
		}
	}
	r.t.Fatalf("no package %s", packageID)
	return Package{}
}

// receiver is a webhook endpoint on loopback.
type receiver struct {
	*httptest.Server
	got    chan delivered
	status func(n int) int // answer to the n-th request, from 1
	mu     sync.Mutex
	n      int
}

type delivered struct {
	path, signature string
	header          http.Header
	raw             []byte
	event           map[string]any
}

func newReceiver(t *testing.T, status func(n int) int) *receiver {
	rc := &receiver{got: make(chan delivered, 100), status: status}
	rc.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		raw, _ := io.ReadAll(req.Body)
		var ev map[string]any
		_ = json.Unmarshal(raw, &ev)
		rc.mu.Lock()
		rc.n++
		n := rc.n
		rc.mu.Unlock()
		code := 200
		if rc.status != nil {
			code = rc.status(n)
		}
		w.WriteHeader(code)
		rc.got <- delivered{req.URL.Path, req.Header.Get("X-Service-Signature"), req.Header, raw, ev}
	}))
	t.Cleanup(rc.Server.Close)
	return rc
}

func (rc *receiver) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(rc.Certificate())
	return pool
}

// next waits for the next delivery. The time limit only prevents a failing test from hanging.
func (rc *receiver) next(t *testing.T) delivered {
	t.Helper()
	select {
	case d := <-rc.got:
		return d
	case <-time.After(time.Minute):
		t.Fatal("no event came")
		return delivered{}
	}
}

// register sets the endpoint and returns the record.
func (r *rig) register(url string) map[string]any {
	r.t.Helper()
	a := r.post("/api/v1/events/endpoints/set", map[string]any{"name": "mine", "url": url})
	wantStatus(r.t, a, 200)
	return a.json(r.t)["endpoint"].(map[string]any)
}

func quick(o Options, rc *receiver) Options {
	o.Delivery = DeliveryOptions{CAs: rc.pool(), RetryFirst: 5 * time.Millisecond, RetryMax: 20 * time.Millisecond}
	return o
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pdfConfig accepts what real programs write, and does not touch the user's configuration.
func pdfConfig() *model.Configuration {
	api.DisableConfigDir()
	c := model.NewDefaultConfiguration()
	c.ValidationMode = model.ValidationRelaxed
	return c
}
