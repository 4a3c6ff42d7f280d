package inbox

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/internal/esign"
)

func TestASlowBodyIsGivenUpAfterFifteenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		in := New(Options{Keys: oneKey, Store: s.store})
		dial, end := overPipes(in)
		defer end()

		c := dial()
		defer c.Close()
		start := time.Now()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\nX-Service-Signature: %s\r\n\r\n{", sign(hookURL, hookSecret, eventBody))
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != http.StatusRequestTimeout || time.Since(start) != bodyTimeout {
			t.Errorf("status %d after %v", res.StatusCode, time.Since(start))
		}
	})
}

func TestASlowStoreIsNotTakenForASlowSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		in := New(Options{Keys: oneKey, Store: func(ctx context.Context, r Received) (bool, error) {
			select {
			case <-ctx.Done():
				return false, ctx.Err()
			case <-time.After(2 * bodyTimeout):
			}
			return s.store(ctx, r)
		}})
		dial, end := overPipes(in)
		defer end()
		c := dial()
		defer c.Close()
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\nX-Service-Signature: %s\r\n\r\n%s",
			len(eventBody), sign(hookURL, hookSecret, eventBody), eventBody)
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Errorf("%v %v", res, err)
		}
	})
}

func TestLargeBodiesDoNotCrowdOutSmallOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s shelf
		in := New(Options{Keys: oneKey, Store: s.store})
		var codes []int
		var mu sync.Mutex
		var pipes []*io.PipeWriter
		for range largeBodies + 1 {
			r, w := io.Pipe()
			pipes = append(pipes, w)
			go func() {
				rec := httptest.NewRecorder()
				req := httptest.NewRequest(http.MethodPost, "/", r)
				req.Header.Set(esign.DefaultSignatureHeader, sign(hookURL, hookSecret, eventBody))
				in.ServeHTTP(rec, req)
				r.Close()
				mu.Lock()
				codes = append(codes, rec.Code)
				mu.Unlock()
			}()
			go w.Write(make([]byte, smallBody+10))
			synctest.Wait()
		}
		rec := httptest.NewRecorder()
		in.ServeHTTP(rec, request(t, "/", eventBody, signed(eventBody)...))
		if rec.Code != http.StatusOK {
			t.Errorf("a small one: %d", rec.Code)
		}
		for _, w := range pipes {
			w.Close()
		}
		synctest.Wait()
		slices.Sort(codes)
		if want := []int{401, 401, 401, 401, 503}; !slices.Equal(codes, want) {
			t.Errorf("large ones: %v, want %v", codes, want)
		}
	})
}

func TestAFloodOfRefusalsIsASample(t *testing.T) {
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	var told []Refusal
	in := New(Options{Keys: oneKey, Store: new(shelf).store, Now: func() time.Time { return now },
		Refused: func(r Refusal) { told = append(told, r) }})
	flood := func(n int) {
		for range n {
			in.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", strings.NewReader("x")))
		}
	}
	flood(100)
	if len(told) != 3 {
		t.Fatalf("told %d times", len(told))
	}
	now = now.Add(time.Minute)
	flood(1)
	if last := told[len(told)-1]; len(told) != 4 || last.Suppressed != 97 || last.Reason != Unsigned || last.At != now {
		t.Errorf("%+v", last)
	}
	if n := in.Counts().Rejected[Unsigned]; n != 101 {
		t.Errorf("counted %d", n)
	}
}

// overPipes answers what comes on the connections that dial makes, until the end.
func overPipes(in *Inbox) (dial func() net.Conn, end func() error) {
	l := newPipes()
	server := &http.Server{Handler: in}
	go server.Serve(l)
	return l.dial, server.Close
}

// pipes is a listener of in-memory connections, so that time can be a fake.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.done) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}
