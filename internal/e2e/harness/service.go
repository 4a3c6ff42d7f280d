//go:build linux

package harness

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"countersign/internal/e2e/portaltest"
	"countersign/internal/tunnel/ngroktest"
)

// The users of the sandbox.
const (
	Olivia = "olivia.office@example.com" // an Organization Administrator
	Maxim  = "max.member@example.com"    // an ordinary member
)

// selfReturn is a return address for the tests themselves, to get tokens of their own.
const selfReturn = "http://127.0.0.1/e2e"

// Service is `countersign sandbox` in its own process.
type Service struct {
	T              testing.TB
	URL, admin     string
	client, Secret string
	Prefix         string // of the API's paths
	P              *Process
}

// ServiceOptions say how a service differs from the usual one.
type ServiceOptions struct {
	Secret    string
	Redirects []string
	Flags     []string
	Prefix    string // "" means /api/v1, "none" means no prefix
}

func StartService(t testing.TB, env []string, o ServiceOptions) *Service {
	t.Helper()
	s := &Service{T: t, client: "office-client", Secret: o.Secret, Prefix: "/api/v1"}
	if s.Secret == "" {
		s.Secret = "the-client-secret-4711"
	}
	if o.Prefix == "none" {
		s.Prefix = ""
	}
	args := []string{"sandbox", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--dir", ShortDir(t),
		"--oauth-client", s.client, "--retry-first", "100ms", "--redirect", selfReturn}
	for _, r := range o.Redirects {
		args = append(args, "--redirect", r)
	}
	s.P = Start(t, append(env, "COUNTERSIGN_CLIENT_SECRET="+s.Secret), Program, append(args, o.Flags...)...)
	s.URL = s.P.Line("Signing service: ")
	s.admin = s.P.Line("Admin port: ")
	return s
}

// Tell calls the admin port.
func (s *Service) Tell(method, path string, in, out any) {
	s.T.Helper()
	Must(s.T, s.Try(method, path, in, out))
}

func (s *Service) Try(method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, s.admin+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("admin %s %s: %s: %s", method, path, resp.Status, answer)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// Pack is a package as the service reports it.
type Pack struct {
	ID        string   `json:"package_id"`
	Name      string   `json:"name"`
	State     string   `json:"state"`
	Notified  []string `json:"notified"` // for each notification of its people, the state at the time
	Documents []struct {
		ID   string `json:"document_id"`
		Name string `json:"name"`
	} `json:"documents"`
	Signers []struct {
		Name string `json:"name"`
		Turn bool   `json:"turn"`
		Page string `json:"page"`
	} `json:"signers"`
	Recipients []struct {
		Email string `json:"email"`
		Type  string `json:"type"`
	} `json:"recipients"`
}

func (s *Service) Packages() (list []Pack) {
	s.T.Helper()
	s.Tell("GET", "/packages", nil, &list)
	return list
}

// Named returns the only package with this name.
func (s *Service) Named(name string) Pack {
	s.T.Helper()
	var found []Pack
	for _, p := range s.Packages() {
		if p.Name == name {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		s.T.Fatalf("the service has %d packages %q, want one", len(found), name)
	}
	return found[0]
}

// SignAll signs for everybody, in turn.
func (s *Service) SignAll(packageID string) {
	s.T.Helper()
	s.Tell("POST", "/sign", map[string]string{"package_id": packageID}, nil)
}

// SentEvent is an event and the state of its delivery.
type SentEvent struct {
	ID        string     `json:"event_id"`
	Delivered *time.Time `json:"delivered"`
}

func (s *Service) Events() (list []SentEvent) {
	s.T.Helper()
	s.Tell("GET", "/events", nil, &list)
	return list
}

func (s *Service) AllDelivered() bool {
	s.T.Helper()
	for _, e := range s.Events() {
		if e.Delivered == nil {
			return false
		}
	}
	return true
}

// Asked is a request that the service has served.
type Asked struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
}

// Requests returns the requests to a path, without the API's prefix.
func (s *Service) Requests(path string) (list []Asked) {
	s.T.Helper()
	var log []Asked
	s.Tell("GET", "/requests", nil, &log)
	for _, r := range log {
		if strings.TrimPrefix(r.Path, "/api/v1") == path {
			list = append(list, r)
		}
	}
	return list
}

// Endpoints returns the addresses to which events are reported.
func (s *Service) Endpoints() (urls []string) {
	s.T.Helper()
	s.Tell("GET", "/endpoints", nil, &urls)
	return urls
}

// Token signs in as the administrator, like another program with the same client ID, and returns an access token. It is the
// tests' own interpretation of interface.md.
func (s *Service) Token() string {
	s.T.Helper()
	const verifier = "a-verifier-of-at-least-forty-three-characters-it-is"
	sum := sha256.Sum256([]byte(verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {s.client}, "redirect_uri": {selfReturn}, "scope": {"profile organization"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}
	_, end, err := NewVisitor(nil, selfReturn).SignIn(s.T.Context(), s.URL+"/connect/authorize?"+q.Encode(), Olivia, true)
	Must(s.T, err)
	form := url.Values{"grant_type": {"authorization_code"}, "code": {end.Query().Get("code")}, "redirect_uri": {selfReturn}, "code_verifier": {verifier}}
	req, err := http.NewRequestWithContext(s.T.Context(), http.MethodPost, s.URL+"/connect/token", strings.NewReader(form.Encode()))
	Must(s.T, err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth(url.QueryEscape(s.client), url.QueryEscape(s.Secret))
	resp, err := http.DefaultClient.Do(req)
	Must(s.T, err)
	defer resp.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || answer.AccessToken == "" {
		s.T.Fatalf("the service gives out no token: %s, %v", resp.Status, err)
	}
	return answer.AccessToken
}

// Download fetches a file through the API.
func (s *Service) Download(token, path string) []byte {
	s.T.Helper()
	req, err := http.NewRequestWithContext(s.T.Context(), http.MethodGet, s.URL+s.Prefix+path, nil)
	Must(s.T, err)
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	Must(s.T, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		s.T.Fatalf("download %s: %s, %v: %.200s", path, resp.Status, err, b)
	}
	return b
}

// Misbehave adds a fault, as the sandbox describes them.
func (s *Service) Misbehave(fault map[string]any) {
	s.T.Helper()
	s.Tell("POST", "/faults", fault, nil)
}

// Spy is a proxy at the service's public address that records every secret that passes. Safe for concurrent use.
type Spy struct {
	URL string

	mu    sync.Mutex
	known map[string]string // what it is, by secret
	last  Registration
}

// NewSpy forwards everything to the service that is going to listen at address.
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

func (x *Spy) Note(what, secret string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if secret != "" {
		x.known[secret] = what
	}
}

// request looks for secrets in a request to the token or the revocation endpoint.
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

// answer looks for secrets in answers.
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
		if x.Note("endpoint secret", held.Endpoint.Secret); held.Endpoint.Secret != "" {
			x.mu.Lock()
			x.last = held.Endpoint
			x.mu.Unlock()
		}
	}
	return err
}

// Registered returns the endpoint registered last: a good forgery needs its secret.
func (x *Spy) Registered() Registration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last
}

// Secrets returns the recorded secrets with what they are.
func (x *Spy) Secrets() map[string]string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Clone(x.known)
}

// disguises are the encodings in which a text may appear: plain, in an address, in JSON, in base64 at any alignment, and in
// hexadecimal.
func disguises(text string) [][]byte {
	quoted, _ := json.Marshal(text) // a string always encodes
	forms := [][]byte{[]byte(text), []byte(url.QueryEscape(text)), quoted[1 : len(quoted)-1], []byte(hex.EncodeToString([]byte(text)))}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for shift := range 3 {
			// The characters at both ends depend on the neighbouring text.
			e := encoding.EncodeToString([]byte("xxx"[:shift] + text))
			forms = append(forms, []byte(e[(shift*8+5)/6:len(e)-2]))
		}
	}
	return forms
}

// Holds reports whether b contains text in any of these encodings.
func Holds(b []byte, text string) bool {
	for _, form := range disguises(text) {
		if bytes.Contains(b, form) {
			return true
		}
	}
	return false
}

// Registration is what is needed to verify an endpoint's events.
type Registration struct{ URL, Secret string }

// Visitor uses the service's pages as a person with a browser does, but without a browser.
type Visitor struct {
	Client    *http.Client
	transport *http.Transport
}

// NewVisitor returns a Visitor that trusts certificates issued by a, if given, and stops when it is redirected to one of the
// addresses in nobody, where nothing listens.
func NewVisitor(a *Authority, nobody ...string) *Visitor {
	transport := &http.Transport{DisableKeepAlives: true}
	if a != nil {
		transport.TLSClientConfig = &tls.Config{RootCAs: a.Pool()}
	}
	client := &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > 10 {
			return errors.New("redirected without end")
		}
		for _, address := range nobody {
			if strings.HasPrefix(r.URL.String(), address+"?") {
				return http.ErrUseLastResponse
			}
		}
		return nil
	}}
	return &Visitor{client, transport}
}

// reach redirects connections from one address to another.
func (v *Visitor) reach(address, instead string) {
	dialer := &net.Dialer{}
	v.transport.DialContext = func(ctx context.Context, network, to string) (net.Conn, error) {
		if to == address {
			to = instead
		}
		return dialer.DialContext(ctx, network, to)
	}
}

// SignIn presses a button on the sign-in page at an authorize address, and returns the text and the address of the page on
// which it ends.
func (v *Visitor) SignIn(ctx context.Context, address, email string, allow bool) (page string, end *url.URL, err error) {
	form := url.Values{"email": {email}}
	if !allow {
		form = url.Values{"decision": {"deny"}}
	}
	return v.Do(ctx, http.MethodPost, address, form)
}

func (v *Visitor) Do(ctx context.Context, method, address string, form url.Values) (page string, end *url.URL, err error) {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return "", nil, err
	}
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := v.Client.Do(req)
	if err != nil {
		return "", nil, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", nil, err
	}
	end = resp.Request.URL
	if l, err := resp.Location(); err == nil {
		end = l
	}
	return string(b), end, nil
}

// Chromium is a real browser without a window.
type Chromium struct {
	T   testing.TB
	Ctx context.Context
}

// StartChromium starts a browser that additionally trusts only the front's certificate.
func StartChromium(t testing.TB, d *Desktop, f *Front) *Chromium {
	t.Helper()
	allocator, stop := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath("chromium"), chromedp.UserDataDir(filepath.Join(d.Home, "chromium")),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("disable-extensions", true), chromedp.Flag("password-store", "basic"),
		chromedp.Flag("ignore-certificate-errors-spki-list", f.pin), chromedp.WindowSize(1000, 1400),
		chromedp.ModifyCmdFunc(func(cmd *exec.Cmd) { cmd.SysProcAttr = diesWithUs() }),
		chromedp.NoInheritEnv, chromedp.Env(d.Env()...),
	)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(func() {
		if err := chromedp.Cancel(ctx); err != nil {
			t.Errorf("end chromium: %v", err)
		}
		end()
		stop() // waits for the process
	})
	c := &Chromium{t, ctx}
	if err := chromedp.Do(ctx); err != nil { // starts the browser; a time limit here would limit the browser itself
		t.Fatalf("start chromium: %v", err)
	}
	return c
}

// Do carries out actions one after the other.
func (c *Chromium) Do(what string, actions ...chromedp.Action[chromedp.Void]) {
	c.T.Helper()
	limited, cancel := context.WithTimeout(c.Ctx, Patience)
	defer cancel()
	if err := chromedp.Do(limited, actions...); err != nil {
		c.T.Fatalf("in the browser, %s: %v; the page shows\n%s", what, err, c.text())
	}
}

// text is the text that the page shows; empty while a page is loading.
func (c *Chromium) text() string {
	limited, cancel := context.WithTimeout(c.Ctx, Patience)
	defer cancel()
	text, err := chromedp.Run(limited, chromedp.Evaluate[string](`document.body.innerText`))
	if err != nil {
		return ""
	}
	return text
}

// Shows waits for a text anywhere on the page.
func (c *Chromium) Shows(text string) {
	c.T.Helper()
	Eventually(c.T, "the browser shows "+text, func() bool { return strings.Contains(c.text(), text) })
}

// Portal is the desktop's file dialog, operated by the test.
type Portal struct {
	t       testing.TB
	dialogs <-chan *portaltest.Dialog
}

// StartPortal gives the session a desktop portal.
func (d *Desktop) StartPortal() *Portal {
	d.T.Helper()
	p, err := portaltest.Serve(d.Connect(), 4)
	Must(d.T, err)
	return &Portal{d.T, p.Dialogs}
}

// Dialog waits for the next dialog.
func (p *Portal) Dialog() *portaltest.Dialog {
	p.t.Helper()
	select {
	case d := <-p.dialogs:
		return d
	case <-time.After(Patience):
		p.t.Fatal("no dialog was asked for")
		return nil
	}
}

// None reports whether there is no further dialog.
func (p *Portal) None() bool { return len(p.dialogs) == 0 }

const (
	Domain    = "office.ngrok.test"
	Authtoken = "the-authtoken-0815"
)

// Ngrok is the stand-in for ngrok's servers.
type Ngrok struct {
	*ngroktest.Edge
	CA *Authority
}

func StartNgrok(t testing.TB) *Ngrok {
	t.Helper()
	e, err := ngroktest.Start(ngroktest.Options{Authtoken: Authtoken})
	Must(t, err)
	t.Cleanup(func() { e.Close() })
	return &Ngrok{e, trusting(t, e.Authority())}
}

// Visitor returns a visitor who reaches the domain through the edge.
func (n *Ngrok) Visitor() *Visitor {
	v := NewVisitor(n.CA)
	v.reach(Domain+":443", n.PublicAddr())
	return v
}

// Authority issues the certificates of one test's public addresses.
type Authority struct {
	*ngroktest.Authority
	File string // PEM
}

// trusting writes a's certificate to a file that programs can read.
func trusting(t testing.TB, a *ngroktest.Authority) *Authority {
	t.Helper()
	file := filepath.Join(ShortDir(t), "ca.pem")
	Must(t, os.WriteFile(file, a.PEM(), 0o600))
	return &Authority{a, file}
}

// Answered is a webhook request that passed the office's proxy.
type Answered struct {
	EventID string
	Status  int // the program's answer
}

// fingerprint is the hash of a certificate's public key, in the format of Chromium's list of exceptions.
func fingerprint(t testing.TB, c tls.Certificate) string {
	t.Helper()
	x, err := x509.ParseCertificate(c.Certificate[0])
	Must(t, err)
	sum := sha256.Sum256(x.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Front is the office's own reverse proxy: HTTPS outside, plain HTTP to the program inside, with an unchanged path. It
// records the program's answers.
type Front struct {
	URL       string // without a trailing slash
	Authority *Authority
	Inside    string // where the program listens
	pin       string // fingerprint of its certificate

	mu     sync.Mutex
	events []Answered
}

func NewFront(t testing.TB) *Front {
	t.Helper()
	a, err := ngroktest.NewAuthority("the test's authority")
	Must(t, err)
	f := &Front{Authority: trusting(t, a), Inside: FreeAddress(t)}
	quiet := log.New(io.Discard, "", 0)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", f.Inside
			r.Out.Host = r.In.Host
			r.SetXForwarded()
		},
		Transport: &http.Transport{DisableKeepAlives: true}, // the program is killed and restarted
		ErrorLog:  quiet,
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		m := &meter{ResponseWriter: w}
		proxy.ServeHTTP(m, r)
		if r.Method == http.MethodPost {
			f.note(Answered{eventID(body), m.status})
		}
	}))
	server.Config.ErrorLog = quiet
	leaf, err := f.Authority.Issue("127.0.0.1")
	Must(t, err)
	server.TLS, f.pin = &tls.Config{Certificates: []tls.Certificate{leaf}}, fingerprint(t, leaf)
	server.StartTLS()
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

func (f *Front) note(a Answered) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, a)
}

// Passed returns the webhook requests that passed, oldest first.
func (f *Front) Passed() []Answered {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

// Accepted returns the ids of the events that were answered 2xx, without repetitions.
func (f *Front) Accepted() []string {
	var ids []string
	for _, a := range f.Passed() {
		if a.Status/100 == 2 && !slices.Contains(ids, a.EventID) {
			ids = append(ids, a.EventID)
		}
	}
	return ids
}

func eventID(body []byte) string {
	var e struct {
		EventID string `json:"eventId"`
	}
	json.Unmarshal(body, &e)
	return e.EventID
}

// meter records the status of an answer.
type meter struct {
	http.ResponseWriter
	status int
}

func (m *meter) WriteHeader(status int) {
	m.status = status
	m.ResponseWriter.WriteHeader(status)
}

// lastLoopback numbers the loopback addresses, so that no two programs of a test run share one.
var lastLoopback struct {
	sync.Mutex
	n byte
}

// FreeAddress is an unused host:port: a loopback address of its own, and a port chosen by the kernel.
func FreeAddress(t testing.TB) string {
	t.Helper()
	lastLoopback.Lock()
	lastLoopback.n++
	host := net.IPv4(127, 77, byte(os.Getpid()), lastLoopback.n).String()
	lastLoopback.Unlock()
	l, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	Must(t, err)
	defer l.Close()
	return l.Addr().String()
}
