package agent

import (
	"context"
	"errors"
	"maps"
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

// bounded is an HTTP client that meets nobody at addresses whose path holds refuse, and gives up soon on those whose path
// holds hang, for they are never answered. All others it waits for: on a busy computer an answer may take long.
type bounded struct {
	patient, hasty *http.Transport

	mu           sync.Mutex
	refuse, hang string
	underway     map[*http.Request]bool // requests without an answer
	answered     *sync.Cond
}

func newBounded(t *testing.T) *bounded {
	t.Helper()
	b := &bounded{
		patient: &http.Transport{}, hasty: &http.Transport{ResponseHeaderTimeout: 400 * time.Millisecond, MaxIdleConnsPerHost: 8},
		underway: map[*http.Request]bool{},
	}
	b.answered = sync.NewCond(&b.mu)
	t.Cleanup(b.patient.CloseIdleConnections)
	t.Cleanup(b.hasty.CloseIdleConnections)
	return b
}

func (b *bounded) client() *http.Client { return &http.Client{Transport: b} }

// RoundTrip fails like a port nobody listens at.
func (b *bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	refused, hasty := concerns(r, b.refuse), concerns(r, b.hang)
	b.underway[r] = true
	b.mu.Unlock()
	defer b.answer(r)
	switch {
	case refused:
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case hasty:
		return b.hasty.RoundTrip(r)
	default:
		return b.patient.RoundTrip(r)
	}
}

func (b *bounded) answer(r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.underway, r)
	b.answered.Broadcast()
}

func concerns(r *http.Request, part string) bool {
	return part != "" && strings.Contains(r.URL.Path, part)
}

func (b *bounded) meetNobodyAt(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuse = part
}

func (b *bounded) giveUpAt(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hang = part
}

// settle waits for the answers to what is under way to such addresses now.
func (b *bounded) settle(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range maps.Clone(b.underway) {
		for concerns(r, part) && b.underway[r] {
			b.answered.Wait()
		}
	}
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

// stormy is an office that tries again at once, and its client.
func stormy(t *testing.T, service sandbox.Options, settings ...func(*office.Settings)) (*testOffice, *bounded) {
	t.Helper()
	b := newBounded(t)
	return newOfficeWith(t, func(p *Params) { quick(p); p.HTTP = b.client() }, service, settings...), b
}

// endsSoon stops the office and fails when that takes five seconds.
func (o *testOffice) endsSoon() {
	o.t.Helper()
	o.takes(5*time.Second, "the end", o.stop)
}

// takes fails when something takes as long as limit. Only the hundredths of a second count in which this process got its
// turn: on a busy computer others have the rest, and nobody is at fault.
func (o *testOffice) takes(limit time.Duration, what string, do func()) {
	o.t.Helper()
	const turn = 10 * time.Millisecond
	done, counted := make(chan struct{}), make(chan time.Duration)
	go func() {
		turns := time.Duration(0)
		defer func() { counted <- turns * turn }()
		for ; ; turns++ {
			select {
			case <-done:
				return
			case <-time.After(turn):
			}
		}
	}()
	do()
	close(done)
	if took := <-counted; took >= limit {
		o.t.Errorf("%s took %v", what, took)
	}
}

// says reports whether a health issue of that id holds text.
func (o *testOffice) says(id, text string) bool {
	i := o.issue(id)
	return i != nil && strings.Contains(i.Text(), text)
}

// status asks about a package as the loops do.
func (o *testOffice) status(ctx context.Context, packageID string) error {
	client, online := o.account.Online()
	if !online {
		return errors.New("nobody is signed in")
	}
	_, err := client.Status(ctx, packageID)
	return err
}
