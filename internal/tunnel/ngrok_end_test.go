package tunnel_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"countersign/internal/tunnel"
	"countersign/internal/tunnel/ngroktest"
)

// run's cleanup checks that Run returns nil within 5 s; these tests bring a tunnel into a state and leave it there.
func TestCancelEndsItInTimeWhateverItIsDoing(t *testing.T) {
	connections := func(n int) func(ngroktest.Counts) bool {
		return func(c ngroktest.Counts) bool { return c.Connections >= n }
	}
	tests := map[string]func(t *testing.T, e *ngroktest.Edge, start func() *running){
		"before anything": func(_ *testing.T, _ *ngroktest.Edge, start func() *running) { start() },
		"waiting for a server": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			_ = e.Refuse()
			start().wrong(tunnel.Network)
		},
		"silent server": func(t *testing.T, e *ngroktest.Edge, start func() *running) {
			e.Silence()
			start()
			await(t, e, connections(1))
		},
		"refused": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			e.RejectAuth("ERR_NGROK_103")
			start().wrong(tunnel.Refused)
		},
		"domain in use": func(t *testing.T, e *ngroktest.Edge, start func() *running) {
			e.HoldDomain(domain, -1)
			start().wrong(tunnel.DomainInUse)
			await(t, e, func(c ngroktest.Counts) bool { return c.Binds >= 3 })
		},
		"wrong certificate": func(t *testing.T, e *ngroktest.Edge, start func() *running) {
			e.ShowWrongCertificate(true)
			start().wrong(tunnel.Certificate)
			await(t, e, connections(3))
		},
		"up": func(_ *testing.T, _ *ngroktest.Edge, start func() *running) { start().up() },
		"up and silent": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			start().up()
			e.Silence()
		},
		"lost": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			r := start()
			r.up()
			_ = e.Refuse()
			e.KillSessions()
			r.wrong(tunnel.Network)
		},
		"lost and refused": func(t *testing.T, e *ngroktest.Edge, start func() *running) {
			r := start()
			r.up()
			e.RejectAuth("ERR_NGROK_103")
			e.KillSessions()
			r.wrong(tunnel.Refused)
			await(t, e, connections(3))
		},
		"stopped": func(_ *testing.T, e *ngroktest.Edge, start func() *running) {
			r := start()
			r.up()
			_ = e.StopTunnel(domain, "Stopped.", "")
			r.wrong(tunnel.Stopped)
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := startEdge(t, ngroktest.Options{})
			prepare(t, e, func() *running { return run(t, tunnel.Ngrok(through(e)), hello) })
		})
	}
}

func await(t *testing.T, e *ngroktest.Edge, enough func(ngroktest.Counts) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	must(t, e.Wait(ctx, enough))
}

func TestAnAnswerUnderWayIsFinished(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	arrived, finish := make(chan struct{}), make(chan struct{})
	r := run(t, tunnel.Ngrok(through(e)), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-finish
		_, _ = io.WriteString(w, "done")
	}))
	r.up()
	answer := make(chan string, 1)
	go func() {
		response, err := e.Client().Get(public + "/")
		if err != nil {
			answer <- err.Error()
			return
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		answer <- string(body)
	}()
	<-arrived
	r.cancel()
	close(finish)
	r.stop()
	if got := <-answer; got != "done" {
		t.Errorf("the client got %q", got)
	}
}

func TestAHandlerThatNeverEndsDoesNotHoldRun(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	arrived, finish := make(chan struct{}), make(chan struct{})
	r := run(t, tunnel.Ngrok(through(e)), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-finish
	}))
	defer close(finish)
	r.up()
	go func() {
		if response, err := e.Client().Get(public + "/"); err == nil {
			response.Body.Close()
		}
	}()
	<-arrived
	r.stop()
}

func TestAClientThatLeavesALargeAnswerHarmsNobody(t *testing.T) {
	e := startEdge(t, ngroktest.Options{})
	large := strings.Repeat("x", 4<<20)
	begun := make(chan struct{}, 8)
	mux := http.NewServeMux()
	mux.Handle("/hello", hello)
	mux.HandleFunc("/large", func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		_, _ = io.WriteString(w, large)
	})
	r := run(t, tunnel.Ngrok(through(e)), mux)
	r.up()
	for range 8 {
		conn, err := tls.Dial("tcp", e.PublicAddr(), &tls.Config{RootCAs: e.Authority().Pool(), ServerName: domain})
		must(t, err)
		_, _ = io.WriteString(conn, "GET /large HTTP/1.1\r\nHost: "+domain+"\r\n\r\n")
		<-begun
		_, _ = io.ReadFull(conn, make([]byte, 1000))
		conn.NetConn().(*net.TCPConn).SetLinger(0)
		conn.NetConn().Close()
	}
	if body := fetch(t, e.Client(), public+"/hello"); body != "hello" {
		t.Errorf("body %q", body)
	}
	go func() { <-begun }()
	if body := fetch(t, e.Client(), public+"/large"); body != large {
		t.Errorf("%d bytes of the large answer", len(body))
	}
	r.stop()
}
