package tunnel

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"golang.ngrok.com/muxado/v2"

	"countersign/internal/trytest"
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
	trytest.Expect(t, <-served, nil, "serve ended with %v")
	return took
}

func TestSilentConnectionsDoNotDelayTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var silent, answered net.Conn
		took := onPipes(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }, func(p pipes) {
			silent, answered = p.dial(), p.dial()
			_, _ = io.WriteString(answered, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			response := trytest.Must(http.ReadResponse(bufio.NewReader(answered), nil))
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

// streams returns both ends of a stream of a muxado session, opened by the other end as ngrok does.
func streams(t *testing.T) (ours, theirs net.Conn) {
	t.Helper()
	a, b := net.Pipe()
	here, there := muxado.Client(a, nil), muxado.Server(b, nil)
	t.Cleanup(func() {
		here.Close()
		there.Close()
	})
	opened := trytest.Must(there.Open())
	if _, err := opened.Write([]byte("?")); err != nil { // a stream exists from its first byte on
		t.Fatal(err)
	}
	accepted := trytest.Must(here.Accept())
	return accepted, opened
}

func TestAWriteToAClientThatDoesNotReadIsGivenUp(t *testing.T) {
	raw, _ := streams(t)
	conn := newStreamConn(raw, 50*time.Millisecond)
	var err error
	for err == nil {
		_, err = conn.Write(make([]byte, 64<<10))
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("given up with %v", err)
	}
	// Neither another write nor Close waits behind the stuck one.
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("another write succeeded")
	}
	trytest.Expect(t, conn.Close(), nil, "Close: %v")
}

func TestCloseEndsAWriteUnderWay(t *testing.T) {
	raw, _ := streams(t)
	conn := newStreamConn(raw, time.Hour)
	full := make(chan struct{})
	result := make(chan error)
	go func() {
		_, err := conn.Write(make([]byte, streamWindow))
		close(full)
		for err == nil {
			_, err = conn.Write(make([]byte, 64<<10))
		}
		result <- err
	}()
	<-full
	conn.Close()
	closed, _ := net.Pipe()
	closed.Close()
	if _, err := newStreamConn(closed, time.Hour).Write([]byte("x")); err == nil {
		t.Error("another write, to a connection that is closed, succeeded")
	}
	if err := <-result; !errors.Is(err, net.ErrClosed) {
		t.Errorf("the write ended with %v", err)
	}
}

func TestALargeAnswerToAReadingClientArrivesWhole(t *testing.T) {
	raw, theirs := streams(t)
	conn := newStreamConn(raw, stallTime)
	_ = conn.SetDeadline(time.Now()) // which is for reading alone
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("after its time was over, a read ended with %v", err)
	}
	const size = 3 << 20
	go func() {
		for sent := 0; sent < size; sent += 32 << 10 {
			if _, err := conn.Write(make([]byte, 32<<10)); err != nil {
				t.Errorf("write: %v", err)
			}
		}
		conn.Close()
	}()
	n, err := io.Copy(io.Discard, theirs)
	if err != nil || n != size {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestNothingConnectsAfterTheEnd(t *testing.T) {
	near, far := net.Pipe()
	l := &lifeline{connect: func(context.Context, string, string) (net.Conn, error) { return near, nil }}
	trytest.Must(l.dial(t.Context(), "tcp", "ngrok.test:443"))
	l.cut()
	if _, err := far.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("it is still connected: %v", err)
	}
	near, far = net.Pipe()
	if _, err := l.dial(t.Context(), "tcp", "ngrok.test:443"); err == nil {
		t.Error("it connects")
	}
	if _, err := far.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("what came late stays: %v", err)
	}
}

func TestPausesGrowToWhatTheErrorAllowsAndAreShortAgainAfterAGoodWhile(t *testing.T) {
	for kind, longest := range map[Kind]time.Duration{Network: 30 * time.Second, DomainInUse: 8 * time.Second, Quota: 5 * time.Minute, Refused: 5 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			n, last := 0, time.Now()
			st := &states{report: func(State) {}}
			err := st.keepOpen(t.Context(), func() *Error {
				n++
				waited := time.Since(last)
				switch n {
				case 2, 41:
					if waited > time.Second {
						t.Errorf("%s: pause %d took %v", kind, n-1, waited)
					}
				case 40:
					if waited > longest || waited < longest/2 {
						t.Errorf("%s: in the end, a pause took %v", kind, waited)
					}
					time.Sleep(2 * time.Minute) // it was up
				case 42:
					return nil
				}
				last = time.Now()
				return &Error{Kind: kind}
			})
			trytest.NoErr(t, err)
		})
	}
}

func TestTheNewcomerTakesThePlaceOfTheSlowest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnLimiter(3)
		far := make([]net.Conn, 4)
		near := make([]net.Conn, 4)
		join := func(i int) {
			a, b := net.Pipe()
			far[i], near[i] = b, c.join(a)
			c.moved(near[i], http.StateNew)
			time.Sleep(time.Second) // the fake clock's, so that joins have an order
		}
		for i := range 3 {
			join(i)
		}
		c.moved(tls.Server(near[0], nil), http.StateActive) // the oldest does something
		join(3)
		began := time.Now()
		c.moved(near[0], http.StateIdle)
		time.Sleep(time.Millisecond)
		c.moved(near[2], http.StateActive)
		c.moved(near[3], http.StateActive)
		_, other := net.Pipe()
		if c.join(other); time.Since(began) < fairTime || time.Since(began) > 2*fairTime { // nobody gives way before
			t.Errorf("the newcomer waited for %v", time.Since(began))
		}
		for i, gone := range []bool{true, true, false, false} {
			_ = far[i].SetReadDeadline(time.Now())
			_, err := far[i].Read(make([]byte, 1))
			if closed := errors.Is(err, io.EOF); closed != gone {
				t.Errorf("connection %d closed: %v", i, closed)
			}
			far[i].Close()
			near[i].Close()
		}
	})
}
