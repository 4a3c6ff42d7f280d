package agent

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/store"
)

// executedService answers, without a network, that every package is executed, and gives its document dPACKAGE.
type executedService struct {
	asked atomic.Int64 // status calls
}

func (s *executedService) RoundTrip(r *http.Request) (*http.Response, error) {
	status := http.StatusOK
	answer := func(kind, body string) (*http.Response, error) {
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
			Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	}
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/api/v1"), "/")
	switch {
	case strings.HasSuffix(r.URL.Path, "/connect/token"):
		return answer("application/json", `{"access_token":"a","refresh_token":"r","token_type":"Bearer","expires_in":1800}`)
	case strings.HasSuffix(r.URL.Path, "/status"):
		s.asked.Add(1)
		id := path[2]
		return answer("application/json", fmt.Sprintf(
			`{"packageId":%q,"state":"executed","isExecuted":true,"documents":[{"documentId":"d%s","name":"Contract %s","isExecuted":true}]}`, id, id, id))
	case strings.HasSuffix(r.URL.Path, "/download"):
		return answer("application/pdf", "%PDF-1.7\n%%EOF\n")
	case strings.HasSuffix(r.URL.Path, "/list"):
		return answer("application/json", `{"items":[],"total":0}`)
	}
	status = http.StatusNotFound
	return answer("application/json", "{}")
}

// openExecuted opens an agent of s that is signed in.
func openExecuted(t *testing.T, s *executedService, adjust func(*Params)) *Agent {
	t.Helper()
	p := Params{HTTP: &http.Client{Transport: s}}
	if adjust != nil {
		adjust(&p)
	}
	a := openSignedIn(t, p, "https://sign.test", nil)
	t.Cleanup(func() { noErr(t, a.Close()) })
	return a
}

// runParts runs the parts until the end of the test.
func runParts(t *testing.T, a *Agent, parts ...Component) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx, parts...) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// executed stores a package that is known and, when planned, the job of its file.
func executed(t *testing.T, a *Agent, id string, planned bool) {
	t.Helper()
	noErr(t, a.Data.Update(func(tx *store.Tx) error {
		p := office.Package{ID: id, Name: "Package " + id, Origin: office.MadeHere, State: "open", Created: time.Now(), NextCheck: time.Now().Add(time.Hour)}
		if planned {
			p.State, p.Documents = office.PackageExecuted, []office.Document{{ID: "d" + id, Name: "Contract " + id}}
			if _, err := a.saves.Plan(tx, &p, a.Settings(), a.Settings().SaveTo); err != nil {
				return err
			}
			p.Planned = true
		}
		return tx.PutPackage(p)
	}))
	a.saves.Wake()
}
