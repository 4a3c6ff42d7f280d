//go:build linux

package harness

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"countersign/internal/tunnel/ngroktest"
)

// Authority issues the certificates of one test's public addresses.
type Authority struct {
	*ngroktest.Authority
	File string // PEM
}

// trusting writes the certificate of a where programs can read it.
func trusting(t testing.TB, a *ngroktest.Authority) *Authority {
	t.Helper()
	file := filepath.Join(ShortDir(t), "ca.pem")
	Must(t, os.WriteFile(file, a.PEM(), 0o600))
	return &Authority{a, file}
}

// Answered is a webhook request as the office's proxy saw it pass.
type Answered struct {
	EventID string
	Status  int // what the program answered
}

// fingerprint is the hash of a certificate's public key, as Chromium takes it for one it may trust.
func fingerprint(t testing.TB, c tls.Certificate) string {
	t.Helper()
	x, err := x509.ParseCertificate(c.Certificate[0])
	Must(t, err)
	sum := sha256.Sum256(x.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// Front is the office's own reverse proxy: HTTPS outside, plain HTTP to the program inside, the path kept. It is the
// witness of what the program has answered.
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
		Transport: &http.Transport{DisableKeepAlives: true}, // the program is killed and started again
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

// Passed returns the webhook requests that came through, oldest first.
func (f *Front) Passed() []Answered {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.events)
}

// Accepted returns the ids of the events that were answered 2xx, each once.
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

// meter notes the status of an answer.
type meter struct {
	http.ResponseWriter
	status int
}

func (m *meter) WriteHeader(status int) {
	m.status = status
	m.ResponseWriter.WriteHeader(status)
}

// lastLoopback numbers the loopback addresses given out, so that no two programs of a test run meet on one.
var lastLoopback struct {
	sync.Mutex
	n byte
}

// FreeAddress is a host:port nobody else uses: an address of this computer of its own, and a port the kernel chose.
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
