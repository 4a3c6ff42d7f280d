//go:build linux

package e2e

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/internal/e2e/harness"

	"aead.dev/minisign"
)

type releases struct {
	*httptest.Server
	public string // its key
	file   []byte // served beside the manifest

	mu    sync.Mutex
	text  []byte
	asked int
}

func newReleases(t *testing.T, a *harness.Authority) *releases {
	t.Helper()
	public, private, err := minisign.GenerateKey(nil)
	harness.Must(t, err)
	r := &releases{file: bytes.Repeat([]byte("x"), 1234)}
	words := strings.Fields(public.String())
	r.public = words[len(words)-1]
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		switch q.URL.Path {
		case "/countersign.json":
			r.asked++
			w.Write(r.text)
		case "/countersign.json.minisig":
			w.Write(minisign.Sign(private, r.text))
		default:
			w.Write(r.file)
		}
	}))
	leaf, err := a.Issue("127.0.0.1")
	harness.Must(t, err)
	r.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}}
	r.StartTLS()
	t.Cleanup(r.Close)
	r.announce(t, "1.2.0")
	return r
}

// announce makes a version the newest, as make release does.
func (r *releases) announce(t *testing.T, version string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"product": "countersign", "version": version,
		"signed": time.Now().UTC(), "expires": time.Now().UTC().AddDate(0, 3, 0), "page": "https://example.com/get",
		"files": []any{map[string]any{"system": "linux", "arch": "amd64", "kind": "tar", "name": "countersign-" + version + "-linux-amd64.tar.xz",
			"size": len(r.file), "sha256": fmt.Sprintf("%x", sha256.Sum256(r.file))}}})
	harness.Must(t, err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = text
}

func TestANewerVersionIsToldOnceAndOnlyToWhoWantsToKnow(t *testing.T) {
	t.Parallel()
	desk := harness.NewDesktop(t)
	o := harness.UsualOffice(t, desk)
	r := newReleases(t, o.Front.Authority)
	o.Build = harness.BuildWith(t, fmt.Sprintf("-X 'main.version=1.0.0 (0a1b2c3d4e5f)' -X main.updates=%s/countersign.json -X main.updateKeys=%s", r.URL, r.public))
	o.More = []string{"SSL_CERT_FILE=" + o.Front.Authority.File}
	o.Setup()
	o.Serve()
	if len(desk.Notes.List()) > 0 {
		t.Errorf("told %v", desk.Notes.List())
	}
	r.mu.Lock()
	if r.asked > 0 {
		t.Error("nobody wanted to know")
	}
	r.mu.Unlock()
	o.Must("setup", "--updates")
	harness.Eventually(t, "people are told of the version", func() bool { return len(desk.Notes.List()) > 0 })
	if n := desk.Notes.List()[0]; !strings.Contains(n.Title+n.Body, "Countersign 1.2.0 is available.") {
		t.Errorf("told %+v", n)
	}
	r.announce(t, "1.3.0")
	var known struct {
		Version, Newest string
		Newer           bool
		Checked         time.Time
		File            struct {
			Name, Address string
			Size          int64
		}
	}
	harness.Must(t, json.Unmarshal([]byte(o.Must("version", "--json", "--check")), &known))
	if known.Version != "1.0.0" || known.Newest != "1.3.0" || !known.Newer || known.Checked.IsZero() || known.File.Name != "countersign-1.3.0-linux-amd64.tar.xz" || known.File.Size != 1234 {
		t.Errorf("%+v", known)
	}
	o.Stop()
	said := o.Must("version", "--check") // without a running program
	if !strings.HasPrefix(said, "countersign 1.0.0 (0a1b2c3d4e5f)\n") || !strings.Contains(said, "Countersign 1.3.0 is available. Download it in the settings or with countersign version --download; the file is checked before you get it.") {
		t.Errorf("it says %s", said)
	}
	_, path, _ := strings.Cut(o.Must("version", "--download"), "Unpack ")
	path, _, _ = strings.Cut(path, " and run its install.sh.")
	if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, r.file) {
		t.Errorf("%s is not what was released: %d bytes, %v", path, len(b), err)
	}
	if n := len(desk.Notes.List()); n != 1 {
		t.Errorf("told %d times", n)
	}
}
