package tunnel_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"countersign/internal/trytest"
	"countersign/internal/tunnel"
	"countersign/internal/tunnel/ngroktest"

	"go.uber.org/goleak"
)

const (
	token  = "2abcSECRETtokenXYZ"
	domain = "office.ngrok.test"
	public = "https://" + domain
)

// patience is how long a test waits for something that ought to happen.
const patience = time.Minute

func startEdge(t *testing.T, opts ngroktest.Options) *ngroktest.Edge {
	t.Helper()
	e := must(ngroktest.Start(opts))
	t.Cleanup(func() { noErr(t, e.Close()) })
	return e
}

func through(e *ngroktest.Edge) tunnel.NgrokConfig {
	return tunnel.NgrokConfig{Authtoken: token, Domain: domain, ConnectURL: e.ConnectAddr(), CAs: e.Authority().Pool()}
}

// running is a tunnel under test.
type running struct {
	t       *testing.T
	states  chan tunnel.State
	ended   chan error
	cancel  context.CancelFunc
	stopped bool
	last    tunnel.State
}

// run starts a tunnel and stops it at the end of the test, checking that it stops.
func run(t *testing.T, tun tunnel.Tunnel, h http.Handler) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, states: make(chan tunnel.State, 1000), ended: make(chan error, 1), cancel: cancel}
	go func() { r.ended <- tun.Run(ctx, h, func(s tunnel.State) { r.states <- s }) }()
	t.Cleanup(r.stop)
	return r
}

// until returns the first reported state that satisfies want.
func (r *running) until(what string, want func(tunnel.State) bool) tunnel.State {
	r.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case r.last = <-r.states:
			if want(r.last) {
				return r.last
			}
		case err := <-r.ended:
			r.stopped = true
			r.t.Fatalf("waiting for %s: Run returned %v", what, err)
		case <-timeout:
			r.t.Fatalf("waiting for %s: still %+v", what, r.last)
		}
	}
}

func (r *running) up() tunnel.State {
	r.t.Helper()
	return r.until("up", func(s tunnel.State) bool { return s.Phase == tunnel.Up })
}

// wrong waits until the tunnel reports an error of the kind and checks what people are told.
func (r *running) wrong(kind tunnel.Kind) *tunnel.Error {
	r.t.Helper()
	e, _ := errors.AsType[*tunnel.Error](r.until(string(kind), func(s tunnel.State) bool { return kindOf(s.Err) == kind }).Err)
	sentenceIsFit(r.t, e)
	return e
}

// end waits until Run returns by itself.
func (r *running) end() error {
	r.t.Helper()
	select {
	case err := <-r.ended:
		r.stopped = true
		return err
	case <-time.After(patience):
		r.t.Fatal("Run did not return")
		return nil
	}
}

// stop ends the tunnel and checks that Run returns nil. That it does so within the promised 5 seconds is checked by a
// clock of the test's own, in server_test.go.
func (r *running) stop() {
	r.cancel()
	if r.stopped {
		return
	}
	r.stopped = true
	noErr(r.t, r.end())
}

func kindOf(err error) tunnel.Kind {
	if e, ok := errors.AsType[*tunnel.Error](err); ok {
		return e.Kind
	}
	return ""
}

func sentenceIsFit(t *testing.T, e *tunnel.Error) {
	t.Helper()
	sentence := e.Message().String()
	if strings.Contains(sentence+e.Error(), token) {
		t.Errorf("%q or %q discloses the authtoken", sentence, e.Error())
	}
	for _, bad := range []string{"!", "please", "%!", "nil", "  ", "tunnel"} {
		if strings.Contains(sentence, bad) {
			t.Errorf("%q contains %q", sentence, bad)
		}
	}
	if len(sentence) < 20 || strings.TrimSpace(sentence) != sentence {
		t.Errorf("%q is no sentence", sentence)
	}
}

var hello = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") })

// fetch gets url through the edge's public side and fails the test unless it answers 200.
func fetch(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	response := must(client.Get(url))
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %d %q %v", url, response.StatusCode, body, err)
	}
	return string(body)
}

var noErr, expect = trytest.NoErr, trytest.Expect

func must[T any](value T, err error) T { return trytest.Must(value, err) }

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The SDK's heartbeat looks at its session only when the next beat is due (10 s by default).
		goleak.IgnoreAnyFunction("golang.ngrok.com/muxado/v2.(*Heartbeat).requester"),
		// The SDK forgets to close the heartbeat of a session that the network ended; it notices by itself when the next
		// beat is overdue (25 s by default).
		goleak.IgnoreAnyFunction("golang.ngrok.com/muxado/v2.(*Heartbeat).check"),
		// The SDK sleeps between two tries without looking up; see maxMisses for how long at most.
		goleak.IgnoreAnyFunction("golang.ngrok.com/ngrok/v2/internal/tunnel/client.(*reconnectingSession).connect"),
	)
}
