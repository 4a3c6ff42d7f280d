package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/office"
	"countersign/internal/store"
)

// waits stores one of everything that waits, each for d: a package, a file and a draft.
func waits(t *testing.T, a *Agent, d time.Duration) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "Offer.pdf")
	noErr(t, os.WriteFile(path, []byte("%PDF-1.7"), 0o600))
	stored, stop := context.WithCancel(t.Context())
	stop() // it is kept; the test does not wait until it is sent
	if _, err := a.Send(stored, office.NewPackage{Files: []string{path}, Signers: []office.Signer{{Email: "ana@example.com"}}}, nil); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	next := a.Now().Add(d)
	noErr(t, a.Data.Update(func(tx *store.Tx) error {
		drafts, err := tx.Drafts(office.DraftQueued)
		for _, draft := range drafts {
			draft.NextTry = next
			err = errors.Join(err, tx.PutDraft(draft))
		}
		_, planErr := tx.PlanJob(office.Job{PackageID: "executed", DocumentID: "d", Kind: "executed", Folder: a.Settings().SaveTo,
			Target: "Lease.pdf", NextTry: next})
		return errors.Join(err, planErr, tx.PutPackage(office.Package{ID: "open", Created: a.Now(), Inquiry: office.Inquiry{NextCheck: next}}))
	}))
}

// tried fails unless everything that waits stores was tried.
func (c *canned) tried(t *testing.T, when string) {
	t.Helper()
	for _, end := range []string{"/packages/open/status", "/packages/executed/documents/d/pdf/executed/download", "/files/upload"} {
		if c.count(end) == 0 {
			t.Errorf("%s: %s was not asked for", when, end)
		}
	}
}

func TestTryAgainTriesEverythingThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c, stop := quietOffice(t)
		defer stop()
		time.Sleep(time.Minute)
		a.Breaker.Open(a.Now(), time.Hour)
		waits(t, a, 9*time.Minute)
		time.Sleep(time.Minute)
		noErr(t, a.Act(t.Context(), Issue{ID: "service", Action: ActRetry}))
		time.Sleep(time.Second)
		c.tried(t, "at once")
	})
}

// canned is a service without a network, so that hours pass in a moment. It knows nothing.
type canned struct{ paths sync.Map } // path -> how often it was asked for

// count is how often a path that ends so was asked for.
func (c *canned) count(end string) (n int64) {
	c.paths.Range(func(path, times any) bool {
		if strings.HasSuffix(path.(string), end) {
			n += times.(*atomic.Int64).Load()
		}
		return true
	})
	return n
}

func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	times, _ := c.paths.LoadOrStore(r.URL.Path, &atomic.Int64{})
	times.(*atomic.Int64).Add(1)
	if r.Body != nil {
		io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	status, body := http.StatusOK, `{"items":[],"total":0}`
	switch {
	case strings.HasSuffix(r.URL.Path, "/connect/token"):
		body = `{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":1800}`
	case strings.HasSuffix(r.URL.Path, "/status"):
		id := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1"), "/")[2]
		body = fmt.Sprintf(`{"packageId":%q,"state":"open","documents":[]}`, id)
	case strings.HasPrefix(r.URL.Path, "/.well-known"):
		status, body = http.StatusNotFound, "{}"
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, ContentLength: int64(len(body)),
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// quietOffice starts a signed-in agent without a network, inside a bubble.
func quietOffice(t *testing.T) (*Agent, *canned, func()) {
	t.Helper()
	c := &canned{}
	a := openSignedIn(t, Params{HTTP: &http.Client{Transport: c}, Jitter: func() float64 { return 0 }}, "https://sign.test", nil)
	return a, c, runUntil(t, a)
}
