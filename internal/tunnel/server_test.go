package tunnel

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of this process's own, so that a server on it can live in a synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// dial returns the far end of a connection to the server.
func (p pipes) dial() net.Conn {
	near, far := net.Pipe()
	p <- near
	return far
}

// onPipes serves h, hands the server to play, and returns how long it then takes to shut down, by the bubble's clock.
func onPipes(t *testing.T, h http.HandlerFunc, play func(p pipes)) time.Duration {
	t.Helper()
	p, served := make(pipes), make(chan error)
	srv := newServer(h, localWriteTimeout, slog.New(slog.DiscardHandler))
	go func() { served <- srv.serve(p, nil) }()
	play(p)
	synctest.Wait()
	began := time.Now()
	srv.shutdown()
	took := time.Since(began)
	if err := <-served; err != nil {
		t.Errorf("serve ended with %v", err)
	}
	return took
}

func TestSilentConnectionsDoNotDelayTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var silent, answered net.Conn
		took := onPipes(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, func(p pipes) {
			silent, answered = p.dial(), p.dial()
			_, _ = io.WriteString(answered, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(answered), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
		})
		if took > 10*time.Millisecond { // net/http looks again after a millisecond, then after twice as long each time
			t.Errorf("took %v", took)
		}
		for name, conn := range map[string]net.Conn{"silent": silent, "answered": answered} {
			if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("the %s connection: %v", name, err)
			}
		}
	})
}

// Run promises to return within 5 seconds. What can hold it is each bounded; together the bounds keep the promise.
func TestAnAnswerUnderWayGetsItsTimeAndNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		finish := make(chan struct{})
		took := onPipes(t, func(http.ResponseWriter, *http.Request) { <-finish }, func(p pipes) {
			_, _ = io.WriteString(p.dial(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		})
		if took != shutdownTime {
			t.Errorf("took %v, want %v", took, shutdownTime)
		}
		close(finish)
	})
	if all := shutdownTime + unbindTime + endTime; all >= 5*time.Second {
		t.Errorf("all the waits at the end make %v", all)
	}
}
