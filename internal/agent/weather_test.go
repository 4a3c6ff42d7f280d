package agent

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"countersign/internal/office"
	"countersign/internal/sandbox"
)

// bounded is an HTTP client that gives up soon, once it is hasty; refuse makes it meet nobody at addresses whose path
// holds that.
type bounded struct {
	patient, hasty *http.Transport

	mu     sync.Mutex
	haste  bool
	refuse string
	calm   sync.WaitGroup // patient requests that wait for their answer
}

const answerWithin = 400 * time.Millisecond

func newBounded(t *testing.T) *bounded {
	t.Helper()
	b := &bounded{patient: &http.Transport{}, hasty: &http.Transport{ResponseHeaderTimeout: answerWithin, MaxIdleConnsPerHost: 8}}
	t.Cleanup(b.patient.CloseIdleConnections)
	t.Cleanup(b.hasty.CloseIdleConnections)
	return b
}

func (b *bounded) client() *http.Client { return &http.Client{Transport: b} }

// RoundTrip fails like a port nobody listens at.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	refuse, transport := b.refuse, b.patient
	if b.haste {
		transport = b.hasty
	} else {
		b.calm.Add(1)
		defer b.calm.Done()
	}
	b.mu.Unlock()
	if refuse != "" && strings.Contains(r.URL.Path, refuse) {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return transport.RoundTrip(r)
}

func (b *bounded) meetNobodyAt(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = path
}

// stranger is another host, which must never get a token.
type stranger struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // what carried a credential
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	s := &stranger{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen = append(s.seen, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+r.PostForm.Encode())
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *stranger) visits() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.seen...)
}

// stormy is an office with a short temper and a client that gives up soon.
func stormy(t *testing.T, service sandbox.Options, settings ...func(*office.Settings)) (*testOffice, *bounded) {
	t.Helper()
	b := newBounded(t)
	o := newOfficeWith(t, func(p *Params) { quick(p); p.HTTP = b.client() }, service, settings...)
	b.mu.Lock()
	b.haste = true
	b.mu.Unlock()
	b.calm.Wait() // one that went out before would wait for as long as the weather lasts
	return o, b
}

// endsSoon stops the office and fails when that takes five seconds.
func (o *testOffice) endsSoon() {
	o.t.Helper()
	began := time.Now()
	o.stop()
	if took := time.Since(began); took >= 5*time.Second {
		o.t.Errorf("the end took %v", took)
	}
}

// says reports whether a health issue of that id holds text.
func (o *testOffice) says(id, text string) bool {
	i := o.issue(id)
	return i != nil && strings.Contains(i.Text(), text)
}

// status asks about a package as the loops do.
func (o *testOffice) status(ctx context.Context, packageID string) error {
	client, online := o.online()
	if !online {
		return errors.New("nobody is signed in")
	}
	_, err := client.Status(ctx, packageID)
	return err
}
